//! All words of the pages, so that a translation is one file.

#![allow(missing_docs, reason = "each name says what its words mean")]

use sapwood_core::Revnum;

pub const NOW: &str = "just now";
pub const MINUTES: (&str, &str) = ("minute", "minutes");
pub(crate) const HOURS: (&str, &str) = ("hour", "hours");
pub const DAYS: (&str, &str) = ("day", "days");
pub const MONTHS: (&str, &str) = ("month", "months");
pub(crate) const YEARS: (&str, &str) = ("year", "years");

#[must_use]
pub fn ago(count: i64, unit: &str) -> String {
    format!("{count} {unit} ago")
}

pub const LANGUAGE: &str = "en";
pub(crate) const SKIP: &str = "Skip to the contents";
pub const FILES: &str = "Files";
pub const FILE: &str = "File";
pub const HISTORY: &str = "History";
pub(crate) const BLAME: &str = "Blame";
pub(crate) const COMPARE: &str = "Compare";
pub(crate) const FEED: &str = "Feed";
pub(crate) const NO_VIEWER: &str = "This browser does not show such files.";
pub(crate) const RAW: &str = "Raw";
pub(crate) const DOWNLOAD: &str = "Download";
pub const NEWEST: &str = "newest revision";
pub(crate) const SEE_NEWEST: &str = "See the newest";
pub(crate) const GO: &str = "Go";
pub const REVISION: &str = "Revision";
pub(crate) const MADE_BY: &str = "Sapwood";
pub const PLAIN: &str = "Plain listing";

pub const NAME: &str = "Name";
pub const SIZE: &str = "Size";
pub const AGE: &str = "Age";
pub const AUTHOR: &str = "Author";
pub(crate) const LAST_CHANGE: &str = "Last change";
pub(crate) const PARENT: &str = "The folder above";
pub const EMPTY: &str = "This folder is empty.";

pub(crate) const NO_AUTHOR: &str = "(no author)";
pub(crate) const NO_DATE: &str = "(no date)";
pub(crate) const NO_MESSAGE: &str = "(no message)";

pub(crate) const PROPERTIES: &str = "Properties";
pub(crate) const LOCKED: &str = "Locked by";
pub(crate) const SINCE: &str = "since";
pub(crate) const BINARY: &str = "This file is not text.";
pub(crate) const BINARY_DELTA: &str = "Binary files differ.";
pub(crate) const NO_PICTURE: &str = "No picture";
pub(crate) const NO_LINES: &str = "This file is empty.";
pub(crate) const PLAIN_LINES: &str =
    "Only the beginning of this text is coloured: the rest is too long.";
pub(crate) const EARLIER_LINES: &str = "Earlier lines";
pub(crate) const LATER_LINES: &str = "Later lines";
pub(crate) const EARLIER: &str = "Older";
pub(crate) const PREVIOUS_PAGE: &str = "Previous page";
pub(crate) const FIRST_PAGE: &str = "First page";
pub(crate) const NEXT_PAGE: &str = "Next page";
pub(crate) const NO_MORE: &str = "The history ends here.";
pub(crate) const NO_REVISIONS: &str = "There is no revision here.";
pub(crate) const TOO_FAR: &str = "These lines are too far inside for a page.";

pub(crate) const ARCHIVE: &str = "Archive";
pub(crate) const ARCHIVE_TOO_LARGE: &str =
    "This folder is too large for an archive. To have all of it: svn export";
pub const ARCHIVE_LATER: &str = "Too many archives are being made for readers who have not signed in. Please try again later, or sign in.";

pub const BRANCHES: &str = "Branches";
pub(crate) const TAGS: &str = "Tags";
pub(crate) const NO_BRANCHES: &str = "There is no folder branches or tags here.";
pub(crate) const MORE_BRANCHES: &str = "There are more: they are in the folders.";
pub const BRANCH: &str = "Branch";
pub(crate) const GRAPH: &str = "Copies and merges";
pub(crate) const GRAPH_HINT: &str = "Rings are copies, squares merges by mergeinfo, dots the last change of a branch. The table says the same.";
pub(crate) const GRAPH_ENDS: &str =
    "Some branches have more history than a page follows: older merges are missing.";
pub const EVENT: &str = "What happened";
pub const COPIED: &str = "made";
pub(crate) const MERGED_FROM: &str = "merged from";
pub const MERGED: &str = "merged";
pub(crate) const UNMERGED: &str = "reversed";
pub(crate) const OF_PATH: &str = "from";
pub(crate) const OF_FOLDER_ITSELF: &str = "(this folder itself only)";
pub(crate) const SAME_MERGES: &str = "The same revisions are merged as before.";
pub(crate) const AS_STORED: &str = "As it is stored";

#[must_use]
pub(crate) fn more_sources(count: usize) -> String {
    format!("{count} more sources")
}

#[must_use]
pub(crate) fn more_ranges(count: usize) -> String {
    format!("and {count} more ranges")
}

pub(crate) const MORE_OF_BRANCHES: &str = "More branches";
pub(crate) const PREVIOUS_BRANCHES: &str = "Branches before these";
pub const AHEAD: &str = "Ahead";
pub const BEHIND: &str = "Behind";
pub(crate) const AHEAD_MORE: &str = "Revisions that were not merged into the trunk";
pub(crate) const BEHIND_MORE: &str = "Revisions of the trunk that were not merged into it";

pub const LOCKS: &str = "Locks";
pub(crate) const BREAK_LOCK: &str = "Break";
pub(crate) const BREAK_LOCK_SURE: &str =
    "Who has this lock is not asked, and may lose work that cannot be merged.";
pub(crate) const NO_LOCKS: &str = "Nothing is locked here.";
pub(crate) const MORE_LOCKS: &str =
    "There are more locks: a folder further down has a list of its own.";
pub const REASON: &str = "Reason";
pub const SEARCH: &str = "Search";
pub(crate) const SEARCH_HISTORY: &str = "Search in this history";
pub(crate) const SEARCH_HISTORY_HINT: &str = "words, author:ada, date:2024-01..2024-06, rev:10-20";
pub(crate) const HISTORY_HAS_NO_FILES: &str =
    "path: and ext: are for the search of the whole repository: this history is of one path";

/// How far a search has come.
#[must_use]
pub(crate) fn searched_to(next: Revnum) -> String {
    format!("This page has looked at the changes after r{next}. Older ones are on the next.")
}

pub(crate) const SEARCH_HINT: &str = "words, \"a phrase\", re:\"fn \\w+\", path:/trunk, ext:c, author:ada, rev:10-20, date:2024-01..2024-06";
pub(crate) const NO_INDEX: &str = "This server has no search index for this repository.";
pub(crate) const INDEX_GROWS: &str = "The search index is being made: there will be more to find.";
pub(crate) const EVERYWHERE: &str = "Everywhere";
pub const PATHS: &str = "Names";
pub const REVISIONS: &str = "Revisions";
pub const TEXTS: &str = "Texts";
pub const CHANGES: &str = "Added and removed lines";
pub(crate) const NOTHING_FOUND: &str = "Nothing was found.";
pub(crate) const MORE_HITS: &str = "More";
pub(crate) const SEARCH_ENDS: &str =
    "The search ends here: the rest takes too long. More words or a path make it quicker.";

pub(crate) const CHANGED_PATHS: &str = "Changed paths";
pub(crate) const DIFFERENCES: &str = "Differences";
pub(crate) const UNIFIED: &str = "Unified";
pub(crate) const SPLIT: &str = "Split";
pub(crate) const IGNORE_SPACE: &str = "Ignore white space";
pub(crate) const COUNT_SPACE: &str = "Show white space";
pub(crate) const ONLY_SPACE: &str = "Only white space differs.";
pub(crate) const ONLY_ENCODING: &str = "Only the encoding of the text differs.";
pub const ADDED: &str = "added";
pub const DELETED: &str = "deleted";
pub(crate) const MODIFIED: &str = "modified";
pub(crate) const REPLACED: &str = "replaced";
pub(crate) const COPIED_FROM: &str = "copied from";
pub(crate) const NO_CHANGES: &str = "No path that you may see was changed.";
pub(crate) const NO_DIFFERENCES: &str = "There is no difference.";
pub(crate) const PROPERTY: &str = "Property";
pub const BEFORE: &str = "Before";
pub const AFTER: &str = "After";
pub const NOT_SET: &str = "not set";
pub(crate) const TOO_LARGE: &str = "Too large to be compared on a page.";
pub(crate) const TOO_MANY_LINES: &str = "More differences than a page shows.";
pub(crate) const TOO_LONG: &str =
    "The page ends here: the rest takes too long, or is too much for a page.";
pub(crate) const OLDER_REVISION: &str = "Older revision";
pub(crate) const OTHER_PATH: &str = "Another path";
pub(crate) const COMPARE_HINT: &str =
    "Choose an older revision, another path such as /branches/one, or both to compare with.";
pub(crate) const BLAME_ENDS: &str =
    "Lines without a revision are older: the page ends before their revision was found.";
pub(crate) const BLAME_GOES_ON: &str = "Lines without a revision are older than what was looked at by now. Load the page again for more.";
pub(crate) const BLAME_MERGES_END: &str =
    "This file has too many revisions to look into its merges on a page.";
pub(crate) const WITH_MERGES: &str = "Look into merges";
pub(crate) const WITHOUT_MERGES: &str = "Without merges";
pub const BLAME_LATER: &str = "Too many pages of blame are asked for by readers who have not signed in. Please try again later, or sign in.";
pub(crate) const BLAME_BEFORE: &str = "Before this change";
pub(crate) const LINE_BREAK: &str = "No newline at the end of the file";

pub const WRAPPED: &str = "Wrap long lines";
pub(crate) const UNWRAPPED: &str = "Do not wrap long lines";
pub const LINES: &str = "Lines";
pub const FILTER: &str = "Filter this list";

/// The words of the script, as JSON.
#[must_use]
pub(crate) fn of_script() -> String {
    let words = serde_json::json!({
        "filter": FILTER,
        "left": "{} left",
        "copyLink": "Copy link",
        "copyPath": "Copy path",
        "copyRevision": "Copy revision",
        "copied": "Copied",
        "notCopied": "The browser does not allow to copy",
        "wrapped": WRAPPED,
        "unwrapped": UNWRAPPED,
        "shown": "{} lines more",
        "keys": "Keys",
        "keysOn": "Single keys are on",
        "close": "Close",
        "keyList": {
            "/": "Search, or filter the list",
            "j": "The next change, row or hit",
            "k": "The one before",
            "n": "The next page",
            "p": "The page before",
            "w": "Wrap long lines, or not",
            "?": "These keys",
        },
    });
    words.to_string()
}

/// How many lines are left out between two differences.
#[must_use]
pub(crate) fn lines_left_out(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

pub(crate) const YOU: &str = "You";
pub const SIGN_IN: &str = "Sign in";
pub const SIGN_OUT: &str = "Sign out";
pub(crate) const SIGN_OUT_SURE: &str = "Sign out of this server in this browser?";
pub const SIGNED_OUT: &str = "You are signed out";
pub(crate) const SIGNED_OUT_MORE: &str = "You may still be signed in at the provider of identities. On a shared computer, sign out there, too.";
pub(crate) const SIGN_OUT_THERE: &str = "Sign out there, too";
pub const SIGNED_OUT_THERE: &str = "You have come back from the provider of identities.";
pub const NOT_SIGNED_IN: &str = "You are not signed in";
pub const STALE_SIGN_IN: &str =
    "This sign-in did not begin in this browser, or began too long ago. Please sign in again.";
pub const REFUSED_BY_PROVIDER: &str = "The provider of identities did not let you in.";
pub const REFUSED_HERE: &str =
    "You may not sign in here. The administrator finds the reason in the server's log.";
pub const PROVIDER_DOWN: &str =
    "The provider of identities does not answer, or not as it should. Please try again later.";
pub const BUSY: &str = "Too many people sign in just now. Please try again in a moment.";
pub const STATUS: &str = "Status";
pub const VERSION: &str = "Version";
pub(crate) const UP_FOR: &str = "running for";
pub const REPOSITORIES: &str = "Repositories";
pub(crate) const BACKUP: &str = "Verified backup";
pub(crate) const NO_BACKUP: &str = "none";
pub(crate) const NOT_READABLE: &str = "can't be read";
pub const CONNECTIONS: &str = "Connections";
pub const REQUESTS: &str = "Requests";
pub const LIMITS: &str = "Limits that clients met";
pub const MESSAGES: &str = "Revisions that wait for webhooks and mail";
pub const ELSE: &str = "Else";
pub const COMMITS: &str = "Commits";
pub const FAILED_LOGINS: &str = "Wrong passwords in the last hour";
pub const CERTIFICATE_END: &str = "The certificate ends";
pub const TARGET_DOWN: &str = "takes no messages at present";
pub const RELOAD_FAILED: &str =
    "The configuration that was read last is wrong: the server goes on with the one before.";
pub const IS_ENDING: &str = "The server is about to end.";
pub const DISK_SLOW: &str = "A disk does not answer: what is said of repositories is not new.";

#[must_use]
pub(crate) fn more_repositories(count: usize) -> String {
    format!("{count} more repositories are not listed.")
}

#[must_use]
pub fn certificate_ends_in(days: i64) -> String {
    format!("The certificate ends in {days} days.")
}

pub const TOKENS: &str = "Tokens";
pub(crate) const TOKENS_MORE: &str = "A token stands for you where a program asks for a password: give it to svn, to an editor or to a build machine, with your name.";
pub(crate) const NO_TOKENS: &str = "You have no tokens.";
pub(crate) const TOKEN_ONCE: &str = "This is the token. It is shown this once; copy it now.";
pub(crate) const TOKEN_NAME: &str = "Name, as the machine that uses it";
pub const TOKEN_DAYS: &str = "Days until it ends";
pub(crate) const TOKEN_REPOSITORIES: &str = "Only these repositories (all, if empty)";
pub(crate) const TOKEN_READ_ONLY: &str = "It only reads";
pub(crate) const NEW_TOKEN: &str = "A new token";
pub(crate) const MAKE_TOKEN: &str = "Make a token";
pub(crate) const TOKEN_MAY: &str = "May";
pub(crate) const TOKEN_MADE: &str = "Made";
pub(crate) const TOKEN_ENDS: &str = "Ends";
pub(crate) const TOKEN_ENDED: &str = "(it has ended)";
pub(crate) const TOKEN_USED: &str = "Last used";
pub const READ_ONLY: &str = "read";
pub(crate) const READ_AND_WRITE: &str = "read and write";
pub const NEVER: &str = "never";
pub(crate) const REVOKE: &str = "Revoke";
pub(crate) const TOKENS_UNTIL: &str = "Whatever their own end is, your tokens work until";
pub(crate) const TOKENS_SIGN_IN: &str = "Each time you sign in here moves that.";
pub const TOKENS_NOT_BY_TOKEN: &str =
    "You have logged in by a token. Tokens are looked after with a password, or after signing in.";
pub const TOKENS_NO_ACCOUNT: &str =
    "You have no account that tokens could belong to. Please ask the administrator.";
pub const TOKENS_FAILED: &str = "The tokens can't be changed at present. The administrator finds the reason in the server's log.";
pub const STALE_FORM: &str =
    "This form is not of this page, or too old. Please go back and load the page again.";

#[must_use]
pub fn revision(revision: Revnum) -> String {
    format!("r{revision}")
}

#[must_use]
pub fn revisions(first: Revnum, last: Revnum) -> String {
    if first == last { revision(first) } else { format!("r{first}\u{2013}r{last}") }
}

/// From which revision on changed lines can be found.
#[must_use]
pub(crate) fn history_from(revision: Option<Revnum>) -> String {
    match revision {
        Some(Revnum(0 | 1)) => "Lines of all revisions can be found.".to_owned(),
        Some(revision) => {
            format!("Lines can be found that were added or removed since r{revision}.")
        }
        None => "Added and removed lines are not in the search index yet.".to_owned(),
    }
}

#[must_use]
pub(crate) fn range_of_lines(first: u64, last: u64) -> String {
    format!("Lines {first} to {last}")
}

#[must_use]
pub fn entries(first: usize, last: usize, all: usize) -> String {
    format!("{first} to {last} of {all}")
}

#[must_use]
pub fn more_paths(count: usize) -> String {
    format!("{count} more paths were changed.")
}

#[must_use]
pub(crate) fn see_with(command: &str) -> String {
    format!("To see all of it: {command}")
}

#[must_use]
pub(crate) fn history_of(path: &str) -> String {
    format!("History of {path}")
}
