//! The table of peg revisions: for each target of each subcommand of each program, what an `@` in its
//! last component means. `tests/pegs.rs` includes this file and compares every row with the reference.
//! No row stands for what another row says already.

use Part::{Below, Destination, Folder, From, Patch, Repository, Root, Source, Target, To};
use Peg::{Allowed, NotLookedFor, ReadAndRefused, Refused};

/// How `@REV` at the end of a target is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peg {
    /// It is a peg revision.
    Allowed,
    /// E200009, except for a lone `@` at the end, which says that an earlier `@` belongs to the name.
    Refused,
    /// The same, but an invalid revision is reported first.
    ReadAndRefused,
    /// All of the argument is the name.
    NotLookedFor,
}

/// The part that a target plays in a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The objects of the command: files, directories, URLs.
    Target,
    /// Where something comes from.
    Source,
    /// Where it goes to, or what is made.
    Destination,
    /// The working copy, or the folder on disk, that a command works in.
    Folder,
    /// A path relative to a target that stands before it.
    Below,
    /// The beginning of URLs that `relocate` replaces.
    From,
    /// The replacement for it.
    To,
    /// A file with a patch.
    Patch,
    /// A path or URL that leads to the repository, for a command about a revision property.
    Repository,
    /// The URL that others are relative to.
    Root,
}

/// How one part of a subcommand's command line treats peg revisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) program: &'static str,
    /// The subcommand; `""` for programs whose subcommands are alike, or that have none.
    pub(crate) command: &'static str,
    pub(crate) part: Part,
    pub(crate) peg: Peg,
}

const fn row(program: &'static str, command: &'static str, part: Part, peg: Peg) -> Row {
    Row { program, command, part, peg }
}

/// The whole table, by program and subcommand.
#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    row("svn", "add", Target, Refused),
    row("svn", "blame", Target, Allowed),
    row("svn", "cat", Target, Allowed),
    row("svn", "changelist", Target, Refused),
    row("svn", "checkout", Source, Allowed),
    row("svn", "checkout", Folder, NotLookedFor),
    row("svn", "cleanup", Target, Refused),
    row("svn", "commit", Target, Refused),
    row("svn", "copy", Source, Allowed),
    row("svn", "copy", Destination, ReadAndRefused),
    row("svn", "delete", Target, Refused),
    row("svn", "diff", Target, Allowed),
    // Below --old and --new, and local changes.
    row("svn", "diff", Below, NotLookedFor),
    row("svn", "export", Source, Allowed),
    row("svn", "export", Folder, Refused),
    row("svn", "import", Source, NotLookedFor),
    row("svn", "import", Destination, NotLookedFor),
    row("svn", "info", Target, Allowed),
    // With --x-viewspec.
    row("svn", "info", Folder, NotLookedFor),
    row("svn", "list", Target, Allowed),
    row("svn", "lock", Target, Refused),
    row("svn", "log", Target, Allowed),
    row("svn", "log", Below, NotLookedFor),
    row("svn", "merge", Source, Allowed),
    row("svn", "merge", Folder, NotLookedFor),
    row("svn", "mergeinfo", Source, Allowed),
    row("svn", "mergeinfo", Target, Allowed),
    row("svn", "mkdir", Target, Refused),
    row("svn", "move", Source, Refused),
    row("svn", "move", Destination, NotLookedFor),
    row("svn", "patch", Patch, Refused),
    row("svn", "patch", Folder, Refused),
    row("svn", "propdel", Target, Refused),
    row("svn", "propdel", Repository, Refused),
    row("svn", "propedit", Target, Refused),
    row("svn", "propedit", Repository, NotLookedFor),
    row("svn", "propget", Target, Allowed),
    row("svn", "propget", Repository, NotLookedFor),
    row("svn", "proplist", Target, Allowed),
    row("svn", "proplist", Repository, NotLookedFor),
    row("svn", "propset", Target, Refused),
    row("svn", "propset", Repository, Refused),
    row("svn", "relocate", From, NotLookedFor),
    row("svn", "relocate", To, NotLookedFor),
    row("svn", "relocate", Folder, NotLookedFor),
    row("svn", "resolve", Target, Refused),
    row("svn", "resolved", Target, Refused),
    row("svn", "revert", Target, Refused),
    row("svn", "status", Target, Refused),
    row("svn", "switch", Source, Allowed),
    row("svn", "switch", Folder, NotLookedFor),
    row("svn", "switch", From, NotLookedFor),
    row("svn", "switch", To, NotLookedFor),
    row("svn", "unlock", Target, Refused),
    row("svn", "update", Target, Refused),
    row("svn", "upgrade", Target, Refused),
    row("svn", "x-shelf-drop", Folder, NotLookedFor),
    row("svn", "x-shelf-list", Folder, NotLookedFor),
    row("svn", "x-shelf-list-by-paths", Target, NotLookedFor),
    row("svn", "x-shelf-log", Folder, NotLookedFor),
    row("svn", "x-shelf-save", Target, Refused),
    row("svn", "x-shelve", Target, Refused),
    row("svn", "x-wc-copy-mods", Folder, NotLookedFor),
    row("svnbench", "null-blame", Target, Allowed),
    row("svnbench", "null-export", Target, Allowed),
    row("svnbench", "null-info", Target, Allowed),
    row("svnbench", "null-list", Target, Allowed),
    row("svnbench", "null-log", Target, Allowed),
    row("svnbench", "null-log", Below, NotLookedFor),
    // The repository argument of svnadmin, svnfsfs and svnlook.
    row("svnadmin", "", Repository, NotLookedFor),
    row("svnadmin", "", Target, NotLookedFor),
    row("svnlook", "", Target, NotLookedFor),
    row("svnmucc", "", Target, NotLookedFor),
    row("svnmucc", "", Root, NotLookedFor),
    row("svnrdump", "", Target, NotLookedFor),
    row("svnsync", "", Target, NotLookedFor),
    row("svnversion", "", Folder, NotLookedFor),
];
