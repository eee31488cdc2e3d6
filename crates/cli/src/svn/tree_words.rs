//! A tree conflict in words: what came, and what is the matter here. The sentences are those of 1.14.

use sapwood_client::resolver::{
    Addition, Deletion, Edit, IncomingDetails, MissingDetails, Move, TreeConflict,
};
use sapwood_core::exact::Exact as _;
use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, SvnResult};
use sapwood_wc::conflict::{Action, Operation, Reason};
use sapwood_wc::view::Status;

/// How many revisions are listed before the middle is left out, and how many must be left out for it.
const LISTED: usize = 8;
const LEFT_OUT: usize = 5;

/// Both sides' changes, in two sentences or more.
pub(super) fn describe(conflict: &TreeConflict<'_>) -> SvnResult<String> {
    Ok(format!("{}\n{}", incoming(conflict), local(conflict)?))
}

/// The word for a kind of node, without an article.
const fn noun(kind: Option<NodeKind>) -> &'static str {
    match kind {
        Some(NodeKind::File) => "file",
        Some(NodeKind::Dir) => "directory",
        None => "item",
    }
}

const fn article(kind: Option<NodeKind>) -> &'static str {
    if kind.is_none() { "an" } else { "a" }
}

fn capital(kind: Option<NodeKind>) -> &'static str {
    match kind {
        Some(NodeKind::File) => "File",
        Some(NodeKind::Dir) => "Directory",
        None => "Item",
    }
}

/// Path and revision of both sides of the incoming change.
struct IncomingSides<'p> {
    old: (&'p RelPath, u64),
    new: (&'p RelPath, u64),
}

fn incoming(conflict: &TreeConflict<'_>) -> String {
    let (old, new) = (conflict.old_place(), conflict.new_place());
    let old = old.unwrap_or((RelPath::ROOT, 0));
    let places = IncomingSides { old, new: new.unwrap_or(old) };
    match (&conflict.incoming, conflict.operation) {
        (Some(IncomingDetails::Deletion(details)), Some(operation)) => {
            deletion(conflict, details, operation, &places)
        }
        (Some(IncomingDetails::Addition(details)), Some(operation)) => {
            addition(conflict, details, operation, &places)
        }
        (Some(IncomingDetails::Edits(edits)), Some(operation)) => {
            edited(conflict, edits, operation, &places)
        }
        _ => plain(conflict),
    }
}

/// The sentence when nothing more is known.
fn plain(conflict: &TreeConflict<'_>) -> String {
    let kind = match conflict.action {
        Action::Edit | Action::Delete => conflict.old_kind(),
        Action::Add | Action::Replace => conflict.new_kind(),
    };
    let update = conflict.operation == Some(Operation::Update);
    let what = match conflict.action {
        Action::Edit if update && kind == Some(NodeKind::Dir) => "change",
        Action::Edit => "edit",
        Action::Add => "add",
        Action::Delete => "delete or move",
        Action::Replace => "replace",
    };
    let who = match conflict.operation {
        Some(Operation::Update) => "An update",
        Some(Operation::Switch) => "A switch",
        Some(Operation::Merge) => "A merge",
        None => return format!("incoming {} {}", noun(kind), conflict.action.word()),
    };
    format!("{who} operation tried to {what} {} {}.", article(kind), noun(kind))
}

/// How a change of a node between two locations is described: `File switched from ... to ...`.
fn between(kind: Option<NodeKind>, how: &str, places: &IncomingSides<'_>) -> String {
    let IncomingSides { old, new } = places;
    format!("{} {how} from\n'^/{}@{}'\nto\n'^/{}@{}'\n", capital(kind), old.0, old.1, new.0, new.1)
}

fn deletion(
    conflict: &TreeConflict<'_>,
    details: &Deletion,
    operation: Operation,
    places: &IncomingSides<'_>,
) -> String {
    let victim = conflict.victim;
    let Some(revision) = details.deleted else {
        return reverse_merged(victim, details, operation, places);
    };
    let begin = match operation {
        Operation::Update => {
            format!("{} updated from r{} to r{} ", capital(victim), places.old.1, places.new.1)
        }
        Operation::Switch => between(victim, "switched", places),
        Operation::Merge => between(victim, "merged", places),
    };
    let by = format!("by {} in r{revision}", details.author);
    let first = details.moves.as_ref().and_then(|moves| moves.first());
    let to =
        details.targets.place().or(first.map(|first| first.to.as_path())).unwrap_or(RelPath::ROOT);
    let chain = first.map_or_else(String::new, |first| onward(&first.next));
    let Some(by_what) = details.replaced_by else {
        return match first {
            Some(_) => format!("{begin}was moved to '^/{to}' {by}.{chain}"),
            None => format!("{begin}was deleted {by}."),
        };
    };
    let with = replacement(victim, by_what, operation);
    let text = format!("{begin}was replaced{with} {by}.");
    let omits_move = operation == Operation::Merge && victim.is_none() && by_what == NodeKind::File;
    match first.filter(|_| !omits_move) {
        Some(_) => {
            format!("{text}\nThe replaced {} was moved to '^/{to}'.{chain}", noun(victim))
        }
        None => text,
    }
}

fn replacement(victim: Option<NodeKind>, by: NodeKind, operation: Operation) -> &'static str {
    match (victim, by) {
        (Some(NodeKind::File), NodeKind::File) => " with a file from another line of history",
        (Some(NodeKind::Dir), NodeKind::Dir) => " with a directory from another line of history",
        (None, NodeKind::Dir) if operation == Operation::Update => "",
        (_, NodeKind::File) => " with a file",
        (_, NodeKind::Dir) => " with a directory",
    }
}

/// The moves that followed, one way only.
fn onward(next: &[Move]) -> String {
    let mut text = String::new();
    let mut at = next.first();
    while let Some(one) = at {
        text.push_str(&format!(
            "\nAnd then moved away to '^/{}' by {} in r{}.",
            one.to, one.author, one.revision
        ));
        at = one.next.first();
    }
    text
}

/// A deletion that is an addition, taken back.
fn reverse_merged(
    victim: Option<NodeKind>,
    details: &Deletion,
    operation: Operation,
    places: &IncomingSides<'_>,
) -> String {
    let by = format!("by {} in r{}", details.author, details.added.unwrap_or(0));
    let replaced = details.replaced_by;
    // Where a file was a directory before, 1.14 says it the other way round.
    let swapped = operation != Operation::Update
        && (victim, replaced) == (Some(NodeKind::File), Some(NodeKind::Dir));
    let victim = if swapped { Some(NodeKind::Dir) } else { victim };
    let replaced = if swapped { Some(NodeKind::File) } else { replaced };
    let begin = match operation {
        Operation::Update => format!(
            "{} updated backwards from r{} to r{} ",
            capital(victim),
            places.old.1,
            places.new.1
        ),
        Operation::Switch => between(victim, "switched", places),
        Operation::Merge if victim == Some(NodeKind::Dir) => {
            let IncomingSides { old, new } = places;
            format!(
                "Directory reverse-merged from\n'^/{}@{}'\nto ^/{}@{} ",
                old.0, old.1, new.0, new.1
            )
        }
        Operation::Merge => between(victim, "reverse-merged", places),
    };
    let what = match (victim, replaced) {
        (_, None) => format!("did not exist before it was added {by}."),
        (None, Some(kind)) => format!("was replaced with a {} {by}.", noun(Some(kind))),
        (Some(one), Some(other)) => {
            let line = if one == other { " from another line of history" } else { "" };
            format!("was a {}{line} before the replacement made {by}.", noun(Some(other)))
        }
    };
    format!("{begin}{what}")
}

/// A range of merged revisions: `5` or `3-5`.
fn merged_range(before: u64, last: u64) -> String {
    let first = before.plus(1);
    if first == last { last.to_string() } else { format!("{first}-{last}") }
}

fn addition(
    conflict: &TreeConflict<'_>,
    details: &Addition,
    operation: Operation,
    places: &IncomingSides<'_>,
) -> String {
    let IncomingSides { old, new } = places;
    let by = |what: &str, (revision, author): &(u64, String)| {
        format!("{what} by {author} in r{revision}")
    };
    let story = match (&details.added, &details.deleted) {
        (Some(added), Some(deleted)) => {
            format!("was {} and {}", by("added", added), by("later deleted", deleted))
        }
        (Some(added), None) => format!("was {}", by("added", added)),
        (None, Some(deleted)) => format!("was {}", by("deleted", deleted)),
        (None, None) => String::new(),
    };
    let kind = match operation {
        Operation::Switch => conflict.victim,
        _ => conflict.new_kind(),
    };
    let new_node = format!("A new {} appeared during", noun(kind));
    match operation {
        Operation::Update => format!("{new_node} update to r{}; it {story}.", new.1),
        Operation::Switch => {
            format!("{new_node} switch to\n'^/{}@{}'.\nIt {story}.", new.0, new.1)
        }
        Operation::Merge if old.1 < new.1 => {
            format!(
                "{new_node} merge of\n'^/{}:{}'.\nIt {story}.",
                new.0,
                merged_range(old.1, new.1)
            )
        }
        Operation::Merge => {
            let dir = kind == Some(NodeKind::Dir);
            let mut range = merged_range(new.1, old.1);
            if dir && new.1.plus(1) != old.1 {
                range = format!("{}-{}", new.1, old.1.minus(1).max(1));
            }
            format!("{new_node} reverse-merge of\n'^/{}:{range}'.\nIt {story}.", old.0)
        }
    }
}

fn edited(
    conflict: &TreeConflict<'_>,
    edits: &[Edit],
    operation: Operation,
    places: &IncomingSides<'_>,
) -> String {
    let IncomingSides { old, new } = places;
    let (kind, forward) = (conflict.new_kind(), old.1 < new.1);
    // 1.14's words for switched files.
    let shown = match operation {
        Operation::Switch if kind.is_some() => Some(NodeKind::Dir),
        _ => kind,
    };
    let destined = match shown {
        Some(_) => format!("Changes destined for a {} arrived", noun(shown)),
        None => "Changes".to_owned(),
    };
    let of_several = match shown {
        Some(_) => format!("{destined} via the following revisions during"),
        None => "Changes from the following revisions arrived during".to_owned(),
    };
    let text = match operation {
        Operation::Update => {
            let back = if forward { "" } else { "backwards " };
            let stop = if forward && shown == Some(NodeKind::Dir) { "." } else { "" };
            format!("{of_several} {back}update from r{} to r{}{stop}", old.1, new.1)
        }
        Operation::Switch => format!("{of_several} switch to\n'^/{}@r{}'", new.0, new.1),
        Operation::Merge => {
            let (before, last) = if forward { (old.1, new.1) } else { (new.1, old.1) };
            let what = if forward { "merge" } else { "reverse-merge" };
            let range = merged_range(before, last);
            if before.plus(1) == last {
                let one = if shown.is_some() { destined } else { "Changes arrived".to_owned() };
                return format!("{one} during {what} of\n'^/{}:{range}'.", new.0);
            }
            format!("{of_several} {what} of\n'^/{}:{range}'", new.0)
        }
    };
    format!("{text}:\n{}", revisions(edits))
}

/// Revisions and their authors; of many the middle is left out.
fn revisions(edits: &[Edit]) -> String {
    if edits.is_empty() {
        return " (no revisions found)".to_owned();
    }
    let most = LISTED.plus(LEFT_OUT);
    let skip = if edits.len() < most { 0 } else { edits.len().minus(LISTED) };
    let half = if skip == 0 { edits.len() } else { LISTED.wrapping_div(2) };
    let tail = half.plus(skip);
    let mut text = String::new();
    for (at, edit) in edits.iter().enumerate() {
        if at >= half && at < tail {
            continue;
        }
        if at == tail && skip > 0 {
            text.push_str(&format!("\n [{skip} revisions omitted for brevity],\n"));
        }
        let comma = if at.plus(1) < edits.len() { "," } else { "" };
        text.push_str(&format!(" r{} by {}{comma}", edit.revision, edit.author));
    }
    text
}

fn local(conflict: &TreeConflict<'_>) -> SvnResult<String> {
    if let Some(missing) = conflict.missing() {
        return Ok(missing_node(missing));
    }
    let kind = conflict.victim;
    let (a, an, noun) = (if kind.is_some() { "A" } else { "An" }, article(kind), noun(kind));
    let merge = conflict.is_merge();
    Ok(match conflict.reason {
        Reason::Edited if merge && kind.is_some() => format!(
            "A {noun} which differs from the corresponding {noun} on the merge source branch was found \
             in the working copy."
        ),
        Reason::Edited => {
            format!("{a} {noun} containing uncommitted changes was found in the working copy.")
        }
        Reason::Obstructed => {
            format!("{a} {noun} which already occupies this path was found in the working copy.")
        }
        Reason::Unversioned => format!("An unversioned {noun} was found in the working copy."),
        Reason::Deleted => format!("A deleted {noun} was found in the working copy."),
        Reason::Missing => not_here(kind, merge),
        Reason::Added | Reason::Replaced => format!(
            "{a} {noun} scheduled to be added to the repository in the next commit was found in the \
             working copy."
        ),
        Reason::MovedAway => moved_away(conflict)?,
        Reason::MovedHere => moved_here(conflict, an)?,
    })
}

fn not_here(kind: Option<NodeKind>, merge: bool) -> String {
    let what = match kind {
        None => "file or directory",
        kind => noun(kind),
    };
    match (merge, kind) {
        (false, _) => format!("No such {what} was found in the working copy."),
        (true, None) => format!(
            "No such {what} was found in the merge target working copy.\nThe item may have been deleted \
             or moved away in the repository's history."
        ),
        (true, _) => format!(
            "No such {what} was found in the merge target working copy.\nPerhaps the {what} has been \
             deleted or moved away in the repository's history?"
        ),
    }
}

/// Where a node is that was moved here.
fn moved_away(conflict: &TreeConflict<'_>) -> SvnResult<String> {
    let wc = &conflict.wc;
    let to = match wc.view(&conflict.relpath)? {
        Some(view) if view.status() == Status::Deleted => wc.moved_to(&view)?.map(|(to, _)| to),
        _ => None,
    };
    let noun = noun(conflict.victim);
    let dir_of_merge = conflict.is_merge() && conflict.victim == Some(NodeKind::Dir);
    let what = if dir_of_merge {
        "The directory".to_owned()
    } else {
        format!("The {noun} in the working copy")
    };
    Ok(match to.filter(|_| conflict.victim.is_some()) {
        Some(to) => format!("{what} was moved away to\n'{to}'."),
        None => format!("{what} had been moved away at the time this conflict was recorded."),
    })
}

fn moved_here(conflict: &TreeConflict<'_>, an: &str) -> SvnResult<String> {
    let wc = &conflict.wc;
    let from = match wc.view(&conflict.relpath)? {
        Some(view) => wc.moved_from(&view)?.map(|(from, _)| from),
        None => None,
    };
    let (kind, noun) = (conflict.victim, noun(conflict.victim));
    let dir = kind == Some(NodeKind::Dir);
    let a = if an == "an" { "An" } else { "A" };
    Ok(match from.filter(|_| kind.is_some()) {
        Some(from) if dir && !conflict.is_merge() => {
            format!("{a} {noun} was moved here from\n'{from}'.")
        }
        Some(from) => format!("{a} {noun} was moved here in the working copy from\n'{from}'."),
        None => {
            let place = if dir { "" } else { " in the working copy" };
            format!("{a} {noun} had been moved here{place} at the time this conflict was recorded.")
        }
    })
}

/// What happened to a missing node.
fn missing_node(missing: &MissingDetails) -> String {
    let mut text =
        "No such file or directory was found in the merge target working copy.\n".to_owned();
    let own = missing.moves.as_ref().and_then(|moves| moves.first());
    let sibling = missing.sibling_moves.as_ref().and_then(|moves| moves.first());
    if let Some(one) = own {
        text.push_str(&format!(
            "The {} was moved to '^/{}' in r{} by {}.{}",
            noun(one.kind),
            one.to,
            one.revision,
            one.author,
            onward(&one.next)
        ));
    }
    if let Some(one) = sibling {
        text.push_str(&format!(
            "The {} '^/{}' was moved to '^/{}' in r{} by {}.{}",
            noun(one.kind),
            one.from,
            one.to,
            one.revision,
            one.author,
            onward(&one.next)
        ));
    }
    if own.is_none()
        && sibling.is_none()
        && let Some((revision, author, relpath)) = &missing.deleted
    {
        text.push_str(&format!("'^/{relpath}' was deleted in r{revision} by {author}."));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(count: u64) -> Vec<Edit> {
        (1..=count).map(|revision| Edit { revision, author: "a".to_owned() }).collect()
    }

    #[test]
    fn the_middle_of_many_revisions_is_left_out() {
        assert_eq!(revisions(&[]), " (no revisions found)");
        assert_eq!(revisions(&edits(2)), " r1 by a, r2 by a");
        assert!(revisions(&edits(12)).contains(" r6 by a,"), "four are not worth it");
        assert_eq!(
            revisions(&edits(13)),
            " r1 by a, r2 by a, r3 by a, r4 by a,\n [5 revisions omitted for brevity],\n r10 by a, \
             r11 by a, r12 by a, r13 by a"
        );
    }
}
