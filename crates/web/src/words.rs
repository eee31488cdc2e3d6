//! All words of the pages, so that a translation is one file.

#![allow(missing_docs, reason = "each name says what its words mean")]

use sapwood_core::Revnum;

pub const NOW: &str = "just now";
pub const MINUTES: (&str, &str) = ("minute", "minutes");
pub const HOURS: (&str, &str) = ("hour", "hours");
pub const DAYS: (&str, &str) = ("day", "days");
pub const MONTHS: (&str, &str) = ("month", "months");
pub const YEARS: (&str, &str) = ("year", "years");

#[must_use]
pub fn ago(count: i64, unit: &str) -> String {
    format!("{count} {unit} ago")
}

pub const LANGUAGE: &str = "en";
pub const SKIP: &str = "Skip to the contents";
pub const FILES: &str = "Files";
pub const FILE: &str = "File";
pub const HISTORY: &str = "History";
pub const BLAME: &str = "Blame";
pub const COMPARE: &str = "Compare";
pub const FEED: &str = "Feed";
pub const NO_VIEWER: &str = "This browser does not show such files.";
pub const RAW: &str = "Raw";
pub const DOWNLOAD: &str = "Download";
pub const NEWEST: &str = "newest revision";
pub const SEE_NEWEST: &str = "See the newest";
pub const GO: &str = "Go";
pub const REVISION: &str = "Revision";
pub const MADE_BY: &str = "Sapwood";
pub const PLAIN: &str = "Plain listing";

pub const NAME: &str = "Name";
pub const SIZE: &str = "Size";
pub const AGE: &str = "Age";
pub const AUTHOR: &str = "Author";
pub const LAST_CHANGE: &str = "Last change";
pub const PARENT: &str = "The folder above";
pub const EMPTY: &str = "This folder is empty.";

pub const NO_AUTHOR: &str = "(no author)";
pub const NO_DATE: &str = "(no date)";
pub const NO_MESSAGE: &str = "(no message)";

pub const PROPERTIES: &str = "Properties";
pub const LOCKED: &str = "Locked by";
pub const SINCE: &str = "since";
pub const BINARY: &str = "This file is not text.";
pub const BINARY_DELTA: &str = "Binary files differ.";
pub const NO_PICTURE: &str = "No picture";
pub const NO_LINES: &str = "This file is empty.";
pub const PLAIN_LINES: &str = "Only the beginning of this text is coloured: the rest is too long.";
pub const EARLIER_LINES: &str = "Earlier lines";
pub const LATER_LINES: &str = "Later lines";
pub const EARLIER: &str = "Older";
pub const PREVIOUS_PAGE: &str = "Previous page";
pub const FIRST_PAGE: &str = "First page";
pub const NEXT_PAGE: &str = "Next page";
pub const NO_MORE: &str = "The history ends here.";
pub const NO_REVISIONS: &str = "There is no revision here.";
pub const TOO_FAR: &str = "These lines are too far inside for a page.";

pub const ARCHIVE: &str = "Archive";
pub const ARCHIVE_TOO_LARGE: &str =
    "This folder is too large for an archive. To have all of it: svn export";
pub const ARCHIVE_LATER: &str = "Too many archives are being made for readers who have not signed in. Please try again later, or sign in.";

pub const BRANCHES: &str = "Branches";
pub const TAGS: &str = "Tags";
pub const NO_BRANCHES: &str = "There is no folder branches or tags here.";
pub const MORE_BRANCHES: &str = "There are more: they are in the folders.";
pub const BRANCH: &str = "Branch";
pub const GRAPH: &str = "Copies and merges";
pub const GRAPH_HINT: &str = "Rings are copies, squares merges by mergeinfo, dots the last change of a branch. The table says the same.";
pub const GRAPH_ENDS: &str =
    "Some branches have more history than a page follows: older merges are missing.";
pub const EVENT: &str = "What happened";
pub const COPIED: &str = "made";
pub const MERGED_FROM: &str = "merged from";
pub const MERGED: &str = "merged";
pub const UNMERGED: &str = "reversed";
pub const OF_PATH: &str = "from";
pub const OF_FOLDER_ITSELF: &str = "(this folder itself only)";
pub const SAME_MERGES: &str = "The same revisions are merged as before.";
pub const AS_STORED: &str = "As it is stored";

#[must_use]
pub fn more_sources(count: usize) -> String {
    format!("{count} more sources")
}

#[must_use]
pub fn more_ranges(count: usize) -> String {
    format!("and {count} more ranges")
}

pub const MORE_OF_BRANCHES: &str = "More branches";
pub const PREVIOUS_BRANCHES: &str = "Branches before these";
pub const AHEAD: &str = "Ahead";
pub const BEHIND: &str = "Behind";
pub const AHEAD_MORE: &str = "Revisions that were not merged into the trunk";
pub const BEHIND_MORE: &str = "Revisions of the trunk that were not merged into it";

pub const LOCKS: &str = "Locks";
pub const BREAK_LOCK: &str = "Break";
pub const BREAK_LOCK_SURE: &str =
    "Who has this lock is not asked, and may lose work that cannot be merged.";
pub const NO_LOCKS: &str = "Nothing is locked here.";
pub const MORE_LOCKS: &str = "There are more locks: a folder further down has a list of its own.";
pub const REASON: &str = "Reason";
pub const SEARCH: &str = "Search";
pub const SEARCH_HISTORY: &str = "Search in this history";
pub const SEARCH_HISTORY_HINT: &str = "words, author:ada, date:2024-01..2024-06, rev:10-20";
pub const HISTORY_HAS_NO_FILES: &str =
    "path: and ext: are for the search of the whole repository: this history is of one path";

/// How far a search has come.
#[must_use]
pub fn searched_to(next: Revnum) -> String {
    format!("This page has looked at the changes after r{next}. Older ones are on the next.")
}

pub const SEARCH_HINT: &str = "words, \"a phrase\", re:\"fn \\w+\", path:/trunk, ext:c, author:ada, rev:10-20, date:2024-01..2024-06";
pub const NO_INDEX: &str = "This server has no search index for this repository.";
pub const INDEX_GROWS: &str = "The search index is being made: there will be more to find.";
pub const EVERYWHERE: &str = "Everywhere";
pub const PATHS: &str = "Names";
pub const REVISIONS: &str = "Revisions";
pub const TEXTS: &str = "Texts";
pub const CHANGES: &str = "Added and removed lines";
pub const NOTHING_FOUND: &str = "Nothing was found.";
pub const MORE_HITS: &str = "More";
pub const SEARCH_ENDS: &str =
    "The search ends here: the rest takes too long. More words or a path make it quicker.";

pub const CHANGED_PATHS: &str = "Changed paths";
pub const DIFFERENCES: &str = "Differences";
pub const UNIFIED: &str = "Unified";
pub const SPLIT: &str = "Split";
pub const IGNORE_SPACE: &str = "Ignore white space";
pub const COUNT_SPACE: &str = "Show white space";
pub const ONLY_SPACE: &str = "Only white space differs.";
pub const ONLY_ENCODING: &str = "Only the encoding of the text differs.";
pub const ADDED: &str = "added";
pub const DELETED: &str = "deleted";
pub const MODIFIED: &str = "modified";
pub const REPLACED: &str = "replaced";
pub const COPIED_FROM: &str = "copied from";
pub const NO_CHANGES: &str = "No path that you may see was changed.";
pub const NO_DIFFERENCES: &str = "There is no difference.";
pub const PROPERTY: &str = "Property";
pub const BEFORE: &str = "Before";
pub const AFTER: &str = "After";
pub const NOT_SET: &str = "not set";
pub const TOO_LARGE: &str = "Too large to be compared on a page.";
pub const TOO_MANY_LINES: &str = "More differences than a page shows.";
pub const TOO_LONG: &str =
    "The page ends here: the rest takes too long, or is too much for a page.";
pub const OLDER_REVISION: &str = "Older revision";
pub const OTHER_PATH: &str = "Another path";
pub const COMPARE_HINT: &str =
    "Choose an older revision, another path such as /branches/one, or both to compare with.";
pub const BLAME_ENDS: &str =
    "Lines without a revision are older: the page ends before their revision was found.";
pub const BLAME_GOES_ON: &str = "Lines without a revision are older than what was looked at by now. Load the page again for more.";
pub const BLAME_MERGES_END: &str =
    "This file has too many revisions to look into its merges on a page.";
pub const WITH_MERGES: &str = "Look into merges";
pub const WITHOUT_MERGES: &str = "Without merges";
pub const BLAME_LATER: &str = "Too many pages of blame are asked for by readers who have not signed in. Please try again later, or sign in.";
pub const BLAME_BEFORE: &str = "Before this change";
pub const LINE_BREAK: &str = "No newline at the end of the file";

pub const WRAPPED: &str = "Wrap long lines";
pub const UNWRAPPED: &str = "Do not wrap long lines";
pub const LINES: &str = "Lines";
pub const FILTER: &str = "Filter this list";

/// The words of the script, as JSON.
#[must_use]
pub fn of_script() -> String {
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
pub fn lines_left_out(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

pub const YOU: &str = "You";
pub const SIGN_IN: &str = "Sign in";
pub const SIGN_OUT: &str = "Sign out";
pub const SIGN_OUT_SURE: &str = "Sign out of this server in this browser?";
pub const SIGNED_OUT: &str = "You are signed out";
pub const SIGNED_OUT_MORE: &str = "You may still be signed in at the provider of identities. On a shared computer, sign out there, too.";
pub const SIGN_OUT_THERE: &str = "Sign out there, too";
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
pub const UP_FOR: &str = "running for";
pub const REPOSITORIES: &str = "Repositories";
pub const BACKUP: &str = "Verified backup";
pub const NO_BACKUP: &str = "none";
pub const NOT_READABLE: &str = "can't be read";
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
pub fn more_repositories(count: usize) -> String {
    format!("{count} more repositories are not listed.")
}

#[must_use]
pub fn certificate_ends_in(days: i64) -> String {
    format!("The certificate ends in {days} days.")
}

pub const TOKENS: &str = "Tokens";
pub const TOKENS_MORE: &str = "A token stands for you where a program asks for a password: give it to svn, to an editor or to a build machine, with your name.";
pub const NO_TOKENS: &str = "You have no tokens.";
pub const TOKEN_ONCE: &str = "This is the token. It is shown this once; copy it now.";
pub const TOKEN_NAME: &str = "Name, as the machine that uses it";
pub const TOKEN_DAYS: &str = "Days until it ends";
pub const TOKEN_REPOSITORIES: &str = "Only these repositories (all, if empty)";
pub const TOKEN_READ_ONLY: &str = "It only reads";
pub const NEW_TOKEN: &str = "A new token";
pub const MAKE_TOKEN: &str = "Make a token";
pub const TOKEN_MAY: &str = "May";
pub const TOKEN_MADE: &str = "Made";
pub const TOKEN_ENDS: &str = "Ends";
pub const TOKEN_ENDED: &str = "(it has ended)";
pub const TOKEN_USED: &str = "Last used";
pub const READ_ONLY: &str = "read";
pub const READ_AND_WRITE: &str = "read and write";
pub const NEVER: &str = "never";
pub const REVOKE: &str = "Revoke";
pub const TOKENS_UNTIL: &str = "Whatever their own end is, your tokens work until";
pub const TOKENS_SIGN_IN: &str = "Each time you sign in here moves that.";
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
pub fn history_from(revision: Option<Revnum>) -> String {
    match revision {
        Some(Revnum(0 | 1)) => "Lines of all revisions can be found.".to_owned(),
        Some(revision) => {
            format!("Lines can be found that were added or removed since r{revision}.")
        }
        None => "Added and removed lines are not in the search index yet.".to_owned(),
    }
}

#[must_use]
pub fn range_of_lines(first: u64, last: u64) -> String {
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
pub fn see_with(command: &str) -> String {
    format!("To see all of it: {command}")
}

#[must_use]
pub fn history_of(path: &str) -> String {
    format!("History of {path}")
}
