//! Whether what clients saw can be, and is what the repository says in the end.
//!
//! - each commit that was acknowledged is in the history once, as the revision that it was acknowledged with; each other one at most once;
//! - revisions go up: what began after something had ended has a younger one;
//! - each file and each property has one order of all that was done to it ([`crate::linear`]), of which the last readers are a part;
//! - a plain folder that is exported is right for 1.14's `svnadmin verify`, and the log for `sapwood store verify`.
//!
//! Invariant: what is wrong is said with the operations that show it.

use std::collections::BTreeMap;
use std::path::Path;

use super::clients::{Op, Outcome, Record};
use super::net::SERVERS;
use super::servers::Servers;
use super::{ClusterState, Plan};
use crate::linear::{Event, check};
use crate::{Output, Programs};

/// How many faults are shown.
const SHOWN: usize = 10;

/// A file or a property: its value, and who has locked it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    value: Option<u64>,
    lock: Option<u64>,
}

/// What becomes of a file by an operation, if it can have had its answer.
#[must_use]
pub fn step(state: &State, op: &Op) -> Option<State> {
    let free = state.lock.is_none();
    match *op {
        Op::Put(value) => free.then_some(State { value: Some(value), lock: None }),
        Op::Get(value) => (value == state.value).then(|| state.clone()),
        // Files are locked that are there.
        Op::Lock(user) => {
            (free && state.value.is_some()).then(|| State { lock: Some(user), ..state.clone() })
        }
        Op::Unlock(user) => {
            (state.lock == Some(user)).then(|| State { lock: None, ..state.clone() })
        }
        Op::Refused => (!free).then(|| state.clone()),
        Op::Owner(owner) => (owner == state.lock).then(|| state.clone()),
    }
}

/// What the repository says in the end: which revision has brought which number.
pub type History = BTreeMap<u64, u64>;

/// Judges: lines for people.
pub(super) fn judge(
    plan: &Plan,
    shared: &ClusterState,
    servers: &Servers<'_>,
) -> Result<Vec<String>, String> {
    let mut records = shared.records.lock().map_err(|_| "no records")?.clone();
    let history = history(servers)?;
    last_reads(&mut records, shared, servers)?;
    let wrong = wrong_with(&records, &history);
    let kept = plan.folder.with_extension("history");
    if !wrong.is_empty() {
        let text: String = records.iter().map(|record| format!("{record:?}\n")).collect();
        std::fs::write(&kept, text).map_err(|e| e.to_string())?;
        let (count, first) = (wrong.len(), wrong.into_iter().take(SHOWN).collect::<Vec<_>>());
        let first = first.join("\n");
        return Err(format!("{count} faults:\n{first}\nall operations: {}", kept.display()));
    }
    exported(servers)?;
    let count =
        |wanted: fn(&Record) -> bool| records.iter().filter(|record| wanted(record)).count();
    let commits = count(|record| record.revision.is_some() && matches!(record.op, Op::Put(_)));
    let unknown = count(|record| record.outcome == Outcome::Unknown);
    Ok(vec![format!(
        "{commits} commits acknowledged, {} revisions, {} operations, {unknown} without an answer: all is right",
        history.len(),
        records.len()
    )])
}

/// All that is wrong.
#[must_use]
pub fn wrong_with(records: &[Record], history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut revisions: BTreeMap<u64, u64> = BTreeMap::new();
    for (revision, number) in history {
        if let Some(other) = revisions.insert(*number, *revision) {
            wrong.push(format!("operation {number} is there twice: r{other} and r{revision}"));
        }
    }
    for record in records.iter().filter(|record| record.what.starts_with('f')) {
        let Op::Put(number) = record.op else { continue };
        let there = revisions.get(&number).copied();
        if record.outcome == Outcome::Done && there != record.revision {
            wrong.push(format!("acknowledged, and in the history as {there:?}: {record:?}"));
        }
    }
    wrong.extend(backwards(records));
    let mut of: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.what != "youngest") {
        of.entry(&record.what).or_default().push(record);
    }
    wrong.extend(of.values().filter_map(|records| not_linear(records, &revisions)));
    wrong
}

/// Revisions that do not go up.
fn backwards(records: &[Record]) -> Option<String> {
    let mut with: Vec<(&Record, u64)> =
        records.iter().filter_map(|record| Some((record, record.revision?))).collect();
    with.sort_by_key(|(record, _)| record.begun);
    let mut ended = with.clone();
    ended.sort_by_key(|(record, _)| record.ended);
    let mut ended = ended.into_iter().peekable();
    let mut newest: Option<(&Record, u64)> = None;
    for (record, revision) in with {
        while let Some(before) = ended.next_if(|(before, _)| before.ended < record.begun) {
            if newest.is_none_or(|(_, newest)| newest < before.1) {
                newest = Some(before);
            }
        }
        let least = u64::from(matches!(record.op, Op::Put(_)));
        if let Some((before, newest)) = newest
            && revision < newest + least
        {
            return Some(format!("revisions go back: {before:?}, and later {record:?}"));
        }
    }
    None
}

/// What is wrong with the history of one file or property.
fn not_linear(records: &[&Record], revisions: &BTreeMap<u64, u64>) -> Option<String> {
    let is_file = records.first().is_some_and(|record| record.what.starts_with('f'));
    let was_read = |number: u64| records.iter().any(|record| record.op == Op::Get(Some(number)));
    let events: Vec<Event<&Op>> = records
        .iter()
        .filter_map(|record| {
            let sure = record.outcome == Outcome::Done;
            let ended = match record.op {
                _ if sure => Some(record.ended),
                // The history says whether a commit was made; what else was never seen need not have happened.
                Op::Put(number) if is_file => revisions.contains_key(&number).then_some(u64::MAX),
                Op::Put(number) => was_read(number).then_some(u64::MAX),
                _ => return Some(Event { op: &record.op, begun: record.begun, ended: None }),
            };
            ended.map(|ended| Event { op: &record.op, begun: record.begun, ended: Some(ended) })
        })
        .collect();
    let found = check(State::default(), &events, |state, op| step(state, op));
    found.err().map(|not| {
        let lines: String = records.iter().map(|record| format!("\n  {record:?}")).collect();
        format!(
            "no order of what was done, at most {} of {}:{lines}",
            not.longest.len(),
            events.len()
        )
    })
}

/// The numbers that revisions have brought, by their log messages.
fn history(servers: &Servers<'_>) -> Result<History, String> {
    let said = each_server(servers, &["log", "--xml"])?;
    if said.iter().any(|other| *other != said[0]) {
        return Err("servers do not say the same of the whole history".to_owned());
    }
    let mut found = History::new();
    let mut revision = 0;
    for line in said[0].lines() {
        if let Some(text) = line.trim().strip_prefix("revision=\"") {
            revision = text.split('"').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        }
        let message = line.strip_prefix("<msg>op ");
        let number = message.and_then(|rest| rest.split('<').next()?.parse().ok());
        if let Some(number) = number {
            found.insert(revision, number);
        }
    }
    Ok(found)
}

/// What `svn` says of the repository at each server.
fn each_server(servers: &Servers<'_>, args: &[&str]) -> Result<Vec<String>, String> {
    (0..SERVERS)
        .map(|server| {
            let svn = Programs::reference().path("svn");
            let mut command = servers.command(&servers.net.hub(), &svn);
            let output = Output::of(command.args(args).arg(servers.url(server, false)));
            match output.code {
                0 => Ok(output.stdout_text()),
                _ => Err(format!("server {server}: {}", output.stderr_text())),
            }
        })
        .collect()
}

/// Reads all properties and files once more, from a server each.
fn last_reads(
    records: &mut Vec<Record>,
    shared: &ClusterState,
    servers: &Servers<'_>,
) -> Result<(), String> {
    let folder = servers.folder.join("last");
    let begun = shared.now();
    let svn = Programs::reference().path("svn");
    let mut command = servers.command(&servers.net.hub(), &svn);
    command.args(["export", "-q", &servers.url(1, false)]).arg(&folder);
    Output::of(&mut command).expect_success("svn export");
    let properties = each_server(servers, &["proplist", "-v", "--revprop", "-r", "0"])?;
    if properties.iter().any(|other| *other != properties[0]) {
        return Err(format!("servers do not say the same of properties: {properties:?}"));
    }
    let ended = shared.now();
    let values = value_of(&properties[0]);
    let names: std::collections::BTreeSet<String> = records
        .iter()
        .map(|record| record.what.clone())
        .filter(|what| what != "youngest")
        .collect();
    for what in names {
        let value = match what.starts_with('f') {
            true => number_in(&folder.join(&what))?,
            false => values.get(&what).copied(),
        };
        let (op, outcome, said) = (Op::Get(value), Outcome::Done, "in the end".to_owned());
        records.push(Record { what, op, outcome, revision: None, begun, ended, said });
    }
    Ok(())
}

/// The number that a file has, if it is there.
fn number_in(path: &Path) -> Result<Option<u64>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.parse().map_err(|_| format!("{}: '{text}'", path.display()))?)),
        Err(_) => Ok(None),
    }
}

/// Properties, as `svn proplist -v` writes them.
fn value_of(said: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut name = "";
    for line in said.lines() {
        match line.strip_prefix("    ") {
            Some(value) => drop(value.parse().map(|value| found.insert(name.to_owned(), value))),
            None => name = line.trim(),
        }
    }
    found
}

/// An export is right, and so is the log.
fn exported(servers: &Servers<'_>) -> Result<(), String> {
    let plain = servers.folder.join("exported").display().to_string();
    let store = servers.store();
    for args in
        [["store", "export", "-q", store, &plain].as_slice(), &["store", "verify", "-q", store]]
    {
        let output = servers.ours(0, "sapwood", args);
        if output.code != 0 {
            return Err(format!("{args:?}: {}", output.stderr_text()));
        }
    }
    let verified = Programs::reference().run("svnadmin", ["verify", "-q", &plain]);
    if verified.code == 0 {
        Ok(())
    } else {
        Err(format!("svnadmin verify: {}", verified.stderr_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: &str, op: Op, revision: Option<u64>, begun: u64, ended: u64) -> Record {
        let (what, said) = (what.to_owned(), String::new());
        let outcome = if ended > 0 { Outcome::Done } else { Outcome::Unknown };
        Record { what, op, outcome, revision, begun, ended, said }
    }

    fn put(number: u64, revision: u64, begun: u64, ended: u64) -> Record {
        record("f", Op::Put(number), Some(revision), begun, ended)
    }

    fn see(op: Op, begun: u64, ended: u64) -> Record {
        record("f", op, None, begun, ended)
    }

    fn wrong(records: &[Record], history: &[(u64, u64)]) -> String {
        wrong_with(records, &history.iter().copied().collect()).join("; ")
    }

    #[test]
    fn right_histories_are_right() {
        let records = [
            put(7, 1, 1, 2),
            see(Op::Get(Some(7)), 3, 4),
            see(Op::Lock(1), 5, 6),
            see(Op::Refused, 7, 8),
            see(Op::Owner(Some(1)), 9, 10),
            see(Op::Unlock(1), 11, 12),
            // One without an answer, which the history has.
            see(Op::Put(8), 13, 0),
            see(Op::Get(Some(8)), 20, 21),
            // And one that it has not.
            see(Op::Put(9), 22, 0),
            record("youngest", Op::Get(Some(2)), Some(2), 23, 24),
            record("p", Op::Put(3), None, 1, 0),
            record("p", Op::Get(Some(3)), None, 5, 6),
        ];
        assert_eq!(wrong(&records, &[(1, 7), (2, 8)]), "");
    }

    #[test]
    fn wrong_histories_are_found() {
        let lost = wrong(&[put(7, 1, 1, 2)], &[]);
        assert!(lost.contains("acknowledged, and in the history as None"), "{lost}");
        let moved = wrong(&[put(7, 1, 1, 2)], &[(2, 7)]);
        assert!(moved.contains("as Some(2)"), "{moved}");
        let twice = wrong(&[put(7, 1, 1, 2)], &[(1, 7), (2, 7)]);
        assert!(twice.contains("twice"), "{twice}");
        let stale = [put(7, 1, 1, 2), put(8, 2, 3, 4), see(Op::Get(Some(7)), 5, 6)];
        assert!(wrong(&stale, &[(1, 7), (2, 8)]).contains("no order"));
        let youngest = [put(7, 5, 1, 2), record("youngest", Op::Get(Some(4)), Some(4), 3, 4)];
        assert!(wrong(&youngest, &[(5, 7)]).contains("revisions go back"));
        let same = [put(7, 5, 1, 2), put(8, 5, 3, 4)];
        assert!(wrong(&same, &[(5, 7)]).contains("revisions go back"));
        let refused = [put(7, 1, 1, 2), see(Op::Refused, 3, 4)];
        assert!(wrong(&refused, &[(1, 7)]).contains("no order"));
        let through = [put(7, 1, 1, 2), see(Op::Lock(1), 3, 4), put(8, 2, 5, 6)];
        assert!(wrong(&through, &[(1, 7), (2, 8)]).contains("no order"));
        let two = [put(7, 1, 1, 2), see(Op::Lock(1), 3, 4), see(Op::Lock(2), 5, 6)];
        assert!(wrong(&two, &[(1, 7)]).contains("no order"));
        let foreign = [put(7, 1, 1, 2), see(Op::Lock(1), 3, 4), see(Op::Unlock(2), 5, 6)];
        assert!(wrong(&foreign, &[(1, 7)]).contains("no order"));
        // One that was never acknowledged is there, and was not seen by one that came when it was.
        let unseen = [
            put(7, 1, 1, 2),
            see(Op::Put(8), 3, 0),
            see(Op::Get(Some(8)), 5, 6),
            see(Op::Get(Some(7)), 7, 8),
        ];
        assert!(wrong(&unseen, &[(1, 7), (2, 8)]).contains("no order"));
        let property =
            [record("p", Op::Put(3), None, 1, 2), record("p", Op::Get(None), None, 5, 6)];
        assert!(wrong(&property, &[]).contains("no order"));
    }

    #[test]
    fn properties_are_read() {
        let said = "Unversioned properties on revision 0:\n  p0-1\n    17\n  svn:date\n    2026-11-28T10:00:00\n";
        assert_eq!(value_of(said), [("p0-1".to_owned(), 17)].into());
    }
}
