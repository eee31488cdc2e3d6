//! The profiles: which histories there are, and where their numbers come from.
//!
//! Three kinds of numbers, distinguished here and in [`Profile::about`]:
//!
//! - **Asked for**: what issue 4 of this project asks of the profiles: `ruby` with many small
//!   revisions, about 46,000; `bsd` with a large tree and about 264,000 revisions; `office` with
//!   large binaries; `deep` with one file of 14,000 revisions and a few MiB. The issue does not say
//!   how it came by them.
//! - **Public**: what we looked up. Subversion's developers measure repositories that they call
//!   `ruby` and `bsd`, exporting `trunk` of the one and `head` of the other
//!   (`tools/dev/benchmarks/RepoPerf/win_repo_bench.py` in their source; it names neither numbers
//!   of revisions nor where the repositories are from). The lengths fit Ruby's and FreeBSD's
//!   histories in the spring of 2014: a `ruby -v` of 24 May says "trunk 46082" (in a comment of
//!   github.com/ruby/chkbuild), a commit mail of FreeBSD of 3 June says "r266987" (its list
//!   svn-src-vendor). J. Corveleyn's figures for formats 6, 7 and FSX (dev@subversion.apache.org, 22
//!   September 2015) have a "huge blame" among their requests.
//! - **Ours**: everything else: sizes of trees and files, how many changes a revision has, branches,
//!   merges, authors, dates. They are choices, not measurements of those projects.

use super::source::Shape;

/// The least number of revisions, at any scale: the first ones create the base.
pub(super) const FEWEST_REVISIONS: usize = 12;

/// The paths that the requests of a measurement name, as fspaths that exist at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The directory to export and to list.
    pub tree: &'static str,
    /// The file to blame: the one that changed most often, if it is text.
    pub file: &'static str,
}

/// How a history is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Programs: thousands of text files, branches, tags, merges.
    Source(&'static Shape),
    /// Large files that do not compress.
    Office,
    /// One file.
    Deep,
}

/// One kind of history.
#[derive(Debug)]
pub struct Profile {
    /// The name that selects it.
    pub name: &'static str,
    /// A description, and which numbers were requested, are public, or are ours: several lines.
    pub about: &'static str,
    /// The number of revisions at scale 1.
    pub revisions: usize,
    /// The paths for the requests.
    pub targets: Targets,
    pub(super) kind: Kind,
}

/// All profiles.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "ruby",
        about: "\
Many small revisions, as the repository of Ruby had in the spring of 2014.
Asked for: many small revisions, about 46,000 (issue 4).
Public:    Ruby's trunk was at r46082 on 24 May 2014; Subversion's developers
           export 'trunk' of the repository that they call ruby.
Ours:      1,000 files growing to 4,200 on trunk; two changed files a revision,
           and a line more in ChangeLog in three revisions of five (it is cut
           at 256 KiB, as if a new one were begun); 16 branches alive, backports
           with svn:mergeinfo, a tag in 70 revisions; 80 authors.
",
        revisions: 46_000,
        targets: Targets { tree: "/trunk", file: "/trunk/ChangeLog" },
        kind: Kind::Source(&Shape {
            main: "trunk",
            branches: "branches",
            tags: "tags",
            first_files: 1_000,
            last_files: 4_200,
            files_in_folder: 24,
            levels: 3,
            changes: 3,
            log_file: "ChangeLog",
            log_percent: 60,
            log_bytes: 256 << 10,
            lines: 500,
            vendor_every: 0,
            living_branches: 16,
            authors: 80,
            seconds_a_revision: 11_000,
        }),
    },
    Profile {
        name: "bsd",
        about: "\
A large tree and a long history, as the repository of FreeBSD had in the
spring of 2014.
Asked for: a large tree, about 264,000 revisions, scaled by an option (issue 4).
Public:    FreeBSD was at r266987 on 3 June 2014; Subversion's developers export
           'head' of the repository that they call bsd.
Ours:      8,000 files growing to 60,000 on head, six levels deep; three changed
           files a revision, and several hundred in one of 400 (imports from
           vendors); 40 branches alive, merges with svn:mergeinfo; UPDATING is the
           file that changes most (one revision in 50); 300 authors.
--scale 0.1 keeps the proportions.
",
        revisions: 264_000,
        targets: Targets { tree: "/head", file: "/head/UPDATING" },
        kind: Kind::Source(&Shape {
            main: "head",
            branches: "stable",
            tags: "release",
            first_files: 8_000,
            last_files: 60_000,
            files_in_folder: 12,
            levels: 6,
            changes: 5,
            log_file: "UPDATING",
            log_percent: 2,
            log_bytes: 128 << 10,
            lines: 500,
            vendor_every: 400,
            living_branches: 40,
            authors: 300,
            seconds_a_revision: 2_500,
        }),
    },
    Profile {
        name: "office",
        about: "\
Large files that do not compress: documents, tables, pictures.
Asked for: large binaries (issue 4).
Ours:      everything else. 1,500 revisions of 600 documents, each a few to thirty parts
           of 2 to 120 KB of which one to three change in a revision (as those of a
           .docx or .xlsx do), pictures of 1 to 8 MB that stay as they are, and now
           and then a file of 20 to 60 MB.
",
        revisions: 1_500,
        targets: Targets { tree: "/trunk", file: "/trunk/index.txt" },
        kind: Kind::Office,
    },
    Profile {
        name: "deep",
        about: "\
One file that everybody changes, as the settings file of a large system.
Asked for: one file with 14,000 revisions of a few MiB (issue 4).
Public:    a 'huge blame' is among the requests of J. Corveleyn's figures (dev@
           subversion.apache.org, September 2015).
Ours:      the text grows from 1 to 3 MiB, one to three lines change in each
           revision, 40 authors.
",
        revisions: 14_000,
        targets: Targets { tree: "/trunk", file: "/trunk/settings.xml" },
        kind: Kind::Deep,
    },
];

impl Profile {
    /// The profile of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|p| p.name == name)
    }

    /// The scale of the shortest history that has something of everything: for tests.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        match self.kind {
            Kind::Source(_) => 150.0 / f64::from(u32::try_from(self.revisions).unwrap_or(1)),
            Kind::Office | Kind::Deep => 0.0,
        }
    }
}
