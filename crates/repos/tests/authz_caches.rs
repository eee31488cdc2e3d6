//! What is kept for users with path rules: replies out of warm caches that users with different
//! rules share are those of a repository opened anew, which keeps nothing, and show nothing that
//! the rules hide. Random histories, rules and requests.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;

use sapwood_core::FsPath;
use sapwood_core::{CancelToken, Depth, DirentFields, Revnum, SvnResult};
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::authz::{Authz, UserAuthz};
use sapwood_repos::{
    ListEntry, ListReceiver, ListRequest, LogEncoder, LogReceiver, LogRequest, LogRevision,
    PathAuthorizer, Protocol, Repository, RevpropSelection, RulesId, SubtreeAccess, list, log_to,
};
use sapwood_testkit::fspath;
use sapwood_testkit::{Repository as Fixture, Rng, Shape};

thread_local! {
    /// How many log entries and listed nodes were encoded.
    static ENCODED: Cell<u64> = const { Cell::new(0) };
}

/// Rules that note what they refuse, as a server with a log does.
struct Noting<'a> {
    rules: &'a UserAuthz,
    notes: bool,
    refused: RefCell<Vec<String>>,
}

impl PathAuthorizer for Noting<'_> {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        let readable = self.rules.readable(path)?;
        if self.notes && !readable {
            self.refused.borrow_mut().push(path.to_string());
        }
        Ok(readable)
    }

    fn everything_readable(&self) -> bool {
        self.rules.everything_readable()
    }

    fn subtree(&self, path: &FsPath) -> SvnResult<SubtreeAccess> {
        self.rules.subtree(path)
    }

    fn rules(&self) -> Option<RulesId> {
        self.rules.rules()
    }

    fn notes_refusals(&self) -> bool {
        self.notes
    }

    fn refused(&self, path: &FsPath) {
        self.refused.borrow_mut().push(path.to_string());
    }
}

fn encode_log(entry: &LogRevision<'_>, out: &mut Vec<u8>) {
    ENCODED.set(ENCODED.get() + 1);
    let mut text = format!("r{:?}", entry.revision);
    for change in entry.changes() {
        write!(text, " |{}|", change.path).unwrap();
        if let Some((source, revision)) = change.copy_from {
            write!(text, " from |{source}|{revision}").unwrap();
        }
    }
    for (name, value) in entry.revprops() {
        write!(text, " {name}={}", value.escape_ascii()).unwrap();
    }
    out.extend(text.into_bytes());
    out.push(b'\n');
}

/// Takes entries encoded, with `form`, or one by one.
struct Taker {
    form: bool,
    out: Vec<u8>,
}

impl LogReceiver for Taker {
    fn entry(&mut self, entry: &LogRevision<'_>) -> SvnResult<()> {
        encode_log(entry, &mut self.out);
        Ok(())
    }

    fn encoder(&self) -> Option<LogEncoder> {
        self.form.then_some(LogEncoder { protocol: Protocol::Test, encode: encode_log })
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        self.out.extend(entries);
        Ok(())
    }
}

fn encode_node(entry: &ListEntry<'_>, out: &mut Vec<u8>) {
    ENCODED.set(ENCODED.get() + 1);
    let dirent = entry.dirent.map(|dirent| (dirent.size, dirent.committed.revision));
    // Long, so that even small directories are kept, and large ones in parts.
    let line = format!("|{}| {:?} {dirent:?} {}\n", entry.path, entry.kind, "-".repeat(3000));
    out.extend(line.into_bytes());
}

impl ListReceiver for Taker {
    fn entry(&mut self, entry: &ListEntry<'_>) -> SvnResult<()> {
        encode_node(entry, &mut self.out);
        Ok(())
    }

    fn form(&self) -> Option<(Protocol, DirentFields)> {
        let fields = DirentFields { time: false, last_author: false, ..DirentFields::ALL };
        self.form.then_some((Protocol::Test, fields))
    }

    fn encode(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        encode_node(entry, out);
        Ok(())
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        self.out.extend(entries);
        Ok(())
    }
}

/// A request that can be made again and again.
#[derive(Clone, Debug)]
enum Request {
    Log {
        path: String,
        start: u64,
        end: u64,
        limit: u64,
        changed_paths: bool,
        names: &'static [&'static str],
    },
    List {
        path: String,
        revision: u64,
        patterns: bool,
    },
}

/// The reply, and what was refused on the way.
fn ask(
    repository: &Repository,
    request: &Request,
    rules: &UserAuthz,
    form: bool,
    notes: bool,
) -> (String, Vec<String>) {
    let authorizer = Noting { rules, notes, refused: RefCell::default() };
    let mut taker = Taker { form, out: Vec::new() };
    let cancel = CancelToken::new();
    let result = match request {
        Request::Log { path, start, end, limit, changed_paths, names } => {
            let request = LogRequest {
                paths: &[fspath(path)],
                start: Some(Revnum(*start)),
                end: Some(Revnum(*end)),
                limit: *limit,
                changed_paths: *changed_paths,
                strict_node_history: false,
                include_merged_revisions: false,
                revprops: RevpropSelection::Names(names),
            };
            log_to(repository, &request, &authorizer, &cancel, &mut taker)
        }
        Request::List { path, revision, patterns } => {
            let root = repository.fs().revision_root(Revnum(*revision)).unwrap();
            let request = ListRequest {
                path: fspath(path),
                patterns: patterns.then_some(&["*a*", "*1"]),
                depth: Depth::Infinity,
                revision: None,
                fields: DirentFields::ALL,
            };
            list(&root, &request, &authorizer, &cancel, &mut taker)
        }
    };
    let mut out = String::from_utf8(taker.out).unwrap();
    if let Err(e) = result {
        write!(out, "{}", sapwood_core::SvnError::from(e)).unwrap();
    }
    (out, authorizer.refused.into_inner())
}

/// Sets of revision properties that are asked for.
const NAMES: [&[&str]; 4] =
    [&["svn:author", "svn:date", "svn:log"], &["svn:log"], &["svn:author"], &[]];

struct Asker {
    rng: Rng,
    /// The paths of each revision, the root as the empty one.
    paths: Vec<Vec<String>>,
}

impl Asker {
    fn new(fixture: &Fixture, seed: u64) -> Self {
        let of = |n: usize| {
            fixture.history.revision(n).root.walk().into_iter().map(|(path, _)| path).collect()
        };
        Self { rng: Rng::new(seed), paths: (0..=fixture.history.youngest()).map(of).collect() }
    }

    fn revision(&mut self) -> usize {
        self.rng.below(self.paths.len())
    }

    fn path(&mut self) -> (String, usize) {
        let revision = self.revision();
        (format!("/{}", self.rng.pick(&self.paths[revision])), revision)
    }

    fn rules(&mut self) -> String {
        let mut text = "[groups]\ng1 = ann, bob\ng2 = bob, eve\n[/]\n* = r\n".to_owned();
        for _ in 0..self.rng.below(12) + 1 {
            let (path, _) = self.path();
            let section = if self.rng.chance(25) {
                let name = path.rsplit('/').next().unwrap();
                let glob = self.rng.pick(&["/**/", "/*/"]);
                if name.is_empty() {
                    continue;
                }
                format!("[:glob:{glob}{name}]\n")
            } else {
                format!("[{path}]\n")
            };
            if path == "/" || text.contains(&section) {
                continue;
            }
            let user = self.rng.pick(&["ann", "bob", "eve", "@g1", "@g2", "*"]);
            let access = self.rng.pick(&["", "", "", "r"]);
            writeln!(text, "{section}{user} = {access}").unwrap();
        }
        text
    }

    fn request(&mut self) -> Request {
        let (path, revision) = self.path();
        let at = u64::try_from(revision).unwrap();
        if self.rng.chance(40) {
            let path = if self.rng.chance(60) { "/".to_owned() } else { path };
            return Request::List { path, revision: at, patterns: self.rng.chance(10) };
        }
        let path = if self.rng.chance(70) { "/".to_owned() } else { path };
        let old = u64::try_from(self.rng.below(revision + 1)).unwrap();
        let youngest = u64::try_from(self.paths.len() - 1).unwrap();
        let whole = if path == "/" { (youngest, 0) } else { (at, 0) };
        let (start, end) = *self.rng.pick(&[whole, whole, (0, at), (at, old), (old, at)]);
        Request::Log {
            path,
            start,
            end,
            limit: *self.rng.pick(&[0, 0, 0, 7]),
            changed_paths: self.rng.chance(70),
            names: self.rng.pick::<&[&str]>(&NAMES),
        }
    }
}

/// Fails when a reply names a path that may not be read.
fn shows_nothing_hidden(reply: &str, rules: &UserAuthz, context: &str) {
    for path in reply.split('|').filter(|part| part.starts_with('/')) {
        assert!(rules.readable(fspath(path)).unwrap(), "{path} is shown: {context}");
    }
}

fn open(fixture: &Fixture) -> Repository {
    let caches = Caches::new(64 << 20);
    Repository::open(&fixture.path(), &caches, &OpenOptions::default()).unwrap()
}

/// Waits until what was copied a moment ago may be kept: until then a clock of coarse ticks could
/// hide another change.
fn settle(repository: &Repository) {
    let is_settled = || {
        let mut revprops = repository.fs().revprops_snapshot();
        revprops.log_span(Revnum(1)).unwrap().is_some()
    };
    assert!(sapwood_testkit::patience::wait(20, is_settled), "the revision is not cached");
}

#[test]
fn what_is_kept_shows_each_user_what_the_rules_say() {
    let (mut fewer, mut hidden, mut out_of_caches) = (0, 0, 0);
    for (seed, shape) in
        [(1, Shape::new("1.10")), (2, Shape::new("1.8").shard(7)), (3, Shape::new("1.4"))]
    {
        let fixture = Fixture::random(&shape, seed, 90);
        let shared = open(&fixture);
        settle(&shared);
        let mut asker = Asker::new(&fixture, seed);
        for _ in 0..6 {
            let text = asker.rules();
            let authz = Authz::parse(text.as_bytes(), None, &mut |_| ()).unwrap();
            let users = ["ann", "bob", "eve", "zoe"];
            let users = users.map(|user| (user, authz.for_user("r", Some(user))));
            for _ in 0..12 {
                let request = asker.request();
                for (user, rules) in &users {
                    let notes = asker.rng.chance(30);
                    let plain = ask(&open(&fixture), &request, rules, false, notes);
                    ENCODED.set(0);
                    let first = ask(&shared, &request, rules, true, notes);
                    let made = ENCODED.replace(0);
                    let second = ask(&shared, &request, rules, true, notes);
                    let again = ENCODED.replace(0);
                    let context = format!("{user}: {request:?}\n{text}");
                    assert_eq!(plain, first, "first, {context}");
                    assert_eq!(plain, second, "second, {context}");
                    shows_nothing_hidden(&plain.0, rules, &context);
                    fewer += u64::from(again < made);
                    if !rules.everything_readable() {
                        hidden += u64::from(!plain.1.is_empty());
                        out_of_caches += u64::from(again == 0 && plain.0.contains('\n'));
                    }
                }
            }
        }
    }
    let figures = format!("{fewer} faster, {hidden} with refusals, {out_of_caches} kept");
    assert!(fewer > 100 && hidden > 20 && out_of_caches > 150, "{figures}");
}
