//! The lines of single notifications: each is made of its value alone.

use sapwood_core::Revnum;
use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Hunk, Notify, State};
use sapwood_core::path::skip_ancestor;
use sapwood_core::props::names::is_binary_type as is_binary;

/// A path as it is shown: relative to a folder if it is below it.
pub(crate) fn display_below(prefix: &str, path: &str) -> String {
    let rest = if prefix.is_empty() { None } else { skip_ancestor(prefix, path) };
    match rest.unwrap_or(path) {
        "" => ".".to_owned(),
        rest => rest.strip_prefix('/').filter(|_| prefix == "/").unwrap_or(rest).to_owned(),
    }
}

pub(super) fn skipped_line(value: &Notify<'_>, path: &str) -> String {
    let why = match value.action {
        Action::UpdateSkipObstruction => "An obstructing working copy was found",
        Action::UpdateSkipWorkingOnly => "Has no versioned parent",
        Action::UpdateSkipAccessDenied => "Access denied",
        Action::SkipConflicted => "Node remains in conflict",
        _ => match value.content {
            State::Missing => return format!("Skipped missing target: '{path}'\n"),
            State::SourceMissing => {
                return format!("Skipped target: '{path}' -- copy-source is missing\n");
            }
            State::Obstructed => "obstructed by unversioned node",
            _ => return format!("Skipped '{path}'\n"),
        },
    };
    format!("Skipped '{path}' -- {why}\n")
}

/// The lines that need nothing but the value; empty for actions that are not shown.
pub(super) fn plain_line(value: &Notify<'_>, path: &str) -> String {
    let prop = value.prop_name.unwrap_or("");
    let changelist = value.changelist.unwrap_or("");
    let revision = value.revision.unwrap_or(Revnum::ZERO);
    match value.action {
        Action::Add if value.mime_type.is_some_and(is_binary) => format!("A  (bin)  {path}\n"),
        Action::Add | Action::Copy => format!("A         {path}\n"),
        Action::LeftLocalModifications => format!("Left local modifications as '{path}'\n"),
        Action::Restore => format!("Restored '{path}'\n"),
        Action::Revert => format!("Reverted '{path}'\n"),
        Action::FailedRevert => {
            format!("Failed to revert '{path}' -- try updating instead.\n")
        }
        Action::Resolved => format!("Resolved conflicted state of '{path}'\n"),
        Action::ResolvedText => format!("Merge conflicts in '{path}' marked as resolved.\n"),
        Action::ResolvedProp => {
            format!("Conflict in property '{prop}' at '{path}' marked as resolved.\n")
        }
        Action::ResolvedTree => format!("Tree conflict at '{path}' marked as resolved.\n"),
        Action::BeginSearchTreeConflictDetails => {
            format!("Searching tree conflict details for '{path}' in repository:\n")
        }
        Action::EndSearchTreeConflictDetails => " done\n".to_owned(),
        Action::StatusExternal => {
            format!("\nPerforming status on external item at '{path}':\n")
        }
        Action::InfoExternal => format!("\nPerforming info on external item at '{path}':\n"),
        Action::StatusCompleted => match value.revision {
            Some(revision) => format!("Status against revision: {:>6}\n", revision.0),
            None => String::new(),
        },
        Action::Locked => {
            let owner = value.owner.unwrap_or("");
            format!("'{path}' locked by user '{owner}'.\n")
        }
        Action::Unlocked => format!("'{path}' unlocked.\n"),
        Action::ChangelistSet => format!("A [{changelist}] {path}\n"),
        Action::ChangelistClear | Action::ChangelistMoved => format!("D [{changelist}] {path}\n"),
        Action::PropertyModified | Action::PropertyAdded => {
            format!("property '{prop}' set on '{path}'\n")
        }
        Action::PropertyDeleted => format!("property '{prop}' deleted from '{path}'.\n"),
        Action::PropertyDeletedNonexistent => {
            format!("Attempting to delete nonexistent property '{prop}' on '{path}'\n")
        }
        Action::RevpropSet => {
            format!("property '{prop}' set on repository revision {revision}\n")
        }
        Action::RevpropDeleted => {
            format!("property '{prop}' deleted from repository revision {revision}\n")
        }
        // Only a terminal shows why it takes so long.
        Action::FetchingTextBases if is_watched() => "Fetching text bases ".to_owned(),
        Action::FetchedTextBase if is_watched() => ".".to_owned(),
        Action::FetchedTextBases if is_watched() => "done\n".to_owned(),
        Action::UpgradedPath => format!("Upgraded '{path}'\n"),
        Action::UrlRedirect => format!("Redirecting to URL '{path}':\n"),
        Action::PathNonexistent => format!("'{path}' is not under version control\n"),
        Action::MoveBroken => format!("Breaking move with source path '{path}'\n"),
        Action::CleanupExternal => {
            format!("Performing cleanup on external item at '{path}'.\n")
        }
        _ => String::new(),
    }
}

fn is_watched() -> bool {
    crate::terminal::stdout_is_one()
}

pub(super) fn merge_line(value: &Notify<'_>, path: &str) -> String {
    let range = value.range.map(|(start, end)| (start.0, end.0));
    match value.action {
        Action::MergeElideInfo => return format!("--- Eliding mergeinfo from '{path}':\n"),
        Action::MergeGoesOn => {
            return format!("--- Going on with the merge into '{path}' that was stopped:\n");
        }
        Action::ForeignCopyBegin => {
            return match range {
                None => format!("--- Copying from foreign repository URL '{path}':\n"),
                Some(_) => String::new(),
            };
        }
        _ => {}
    }
    let Some((start, end)) = range else {
        return match value.action {
            Action::MergeRecordInfoBegin => format!(
                "--- Recording mergeinfo for merge between repository URLs into '{path}':\n"
            ),
            Action::ForeignMergeBegin => {
                format!("--- Merging differences between foreign repository URLs into '{path}':\n")
            }
            _ => format!("--- Merging differences between repository URLs into '{path}':\n"),
        };
    };
    let one_forward = start == end || start.checked_add(1) == Some(end);
    let one_back = end.checked_add(1) == Some(start);
    let revisions = if one_forward {
        format!("r{end}")
    } else if one_back {
        format!("r{start}")
    } else if start < end {
        format!("r{} through r{end}", start.plus(1))
    } else {
        format!("r{start} through r{}", end.plus(1))
    };
    let back = !one_forward && start > end;
    let words = match (value.action, back) {
        (Action::MergeRecordInfoBegin, false) => "Recording mergeinfo for merge of",
        (Action::MergeRecordInfoBegin, true) => "Recording mergeinfo for reverse merge of",
        (Action::ForeignMergeBegin, false) => "Merging (from foreign repository)",
        (Action::ForeignMergeBegin, true) => "Reverse-merging (from foreign repository)",
        (_, false) => "Merging",
        (_, true) => "Reverse-merging",
    };
    format!("--- {words} {revisions} into '{path}':\n")
}

pub(super) fn hunk_line(action: Action, hunk: &Hunk, prop: Option<&str>) -> String {
    let mark = if prop.is_some() { "##" } else { "@@" };
    let place = format!(
        "{mark} -{},{} +{},{} {mark}",
        hunk.original.0, hunk.original.1, hunk.modified.0, hunk.modified.1
    );
    let prop = prop.map_or(String::new(), |name| format!(" ({name})"));
    match action {
        Action::PatchRejectedHunk => return format!(">         rejected hunk {place}{prop}\n"),
        Action::PatchHunkAlreadyApplied => {
            return format!(">         hunk {place} already applied{prop}\n");
        }
        _ => {}
    }
    let start = hunk.original.0;
    let offset = if hunk.matched_line == start {
        None
    } else if hunk.matched_line < start {
        Some(format!("-{}", start.abs_diff(hunk.matched_line)))
    } else if start == 0 && hunk.matched_line == 1 {
        // At the start of an empty file there is nothing to be off from.
        Some("0".to_owned())
    } else {
        Some(hunk.matched_line.abs_diff(start).to_string())
    };
    match (offset, hunk.fuzz) {
        (None, 0) => String::new(),
        (None, fuzz) => format!(">         applied hunk {place} with fuzz {fuzz}{prop}\n"),
        (Some(offset), 0) => {
            format!(">         applied hunk {place} with offset {offset}{prop}\n")
        }
        (Some(offset), fuzz) => {
            format!(">         applied hunk {place} with offset {offset} and fuzz {fuzz}{prop}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_current_folder() {
        for (prefix, path, want) in [
            ("/wc", "/wc/a", "a"),
            ("/wc", "/wc", "."),
            ("/wc", "/other", "/other"),
            ("/", "/a", "a"),
            ("", "a", "a"),
        ] {
            assert_eq!(display_below(prefix, path), want);
        }
    }

    #[test]
    fn ranges_of_merges() {
        let line = |start, end| {
            let mut value = Notify::new(Action::MergeBegin, "/x");
            value.range = Some((Revnum(start), Revnum(end)));
            merge_line(&value, "x")
        };
        assert_eq!(line(4, 5), "--- Merging r5 into 'x':\n");
        assert_eq!(line(2, 5), "--- Merging r3 through r5 into 'x':\n");
        assert_eq!(line(5, 4), "--- Reverse-merging r5 into 'x':\n");
        assert_eq!(line(5, 2), "--- Reverse-merging r5 through r3 into 'x':\n");
    }
}
