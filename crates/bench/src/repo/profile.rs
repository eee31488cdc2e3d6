//! The profiles: which histories there are, and where their numbers come from.
//!
//! Two sources are published. (1) The script with which Subversion's developers measured formats 6
//! and 7 in 2014 (`tools/dev/benchmarks/RepoPerf/win_repo_bench.py` in their source, and the page
//! "MeasuringRepositoryPerformance" of their wiki, July 2014): the repositories of Ruby and of
//! FreeBSD, main line `trunk` and `head`. (2) J. Corveleyn's comparison of formats 6, 7 and FSX
//! (mailing list dev@subversion.apache.org, 22 September 2015), with requests from small logs to
//! a blame through thousands of revisions. The numbers of revisions are those that the two projects
//! had when (1) was measured, about 46,000 and 264,000. **All other numbers are our own
//! assumptions**: they are said to be that where they stand, and in [`Profile::about`].

use super::source::Shape;

/// A history has at least so many revisions, at whatever scale: the first ones lay the ground.
pub(super) const FEWEST_REVISIONS: usize = 12;

/// What requests of a measurement point at, as fspaths that are there at the end.
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
    /// What it is asked for by.
    pub name: &'static str,
    /// What it is, and which numbers are published and which are ours: several lines.
    pub about: &'static str,
    /// How many revisions at scale 1.
    pub revisions: usize,
    /// What to ask of it.
    pub targets: Targets,
    pub(super) kind: Kind,
}

/// All profiles.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "ruby",
        about: "\
Many small revisions, after the repository of Ruby in 2014.
Published: about 46,000 revisions, main line 'trunk'.
Assumed:   1,000 files growing to 4,200 on trunk; two changed files a revision,
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
A large tree and a long history, after the repository of FreeBSD in 2014.
Published: about 264,000 revisions, main line 'head'.
Assumed:   8,000 files growing to 60,000 on head, six levels deep; three changed
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
Assumed:   everything. 1,500 revisions of 600 documents, each a few to thirty parts
           of 2 to 300 KB of which one to three change in a revision (as those of a
           .docx or .xlsx do), pictures of 1 to 8 MB that stay as they are, and now
           and then a file of 20 to 60 MB. About 2 GB.
",
        revisions: 1_500,
        targets: Targets { tree: "/trunk", file: "/trunk/index.txt" },
        kind: Kind::Office,
    },
    Profile {
        name: "deep",
        about: "\
One file that everybody changes, as the settings file of a large system.
Published: blame through thousands of revisions of one large file, as a request
           that hurts (2015).
Assumed:   14,000 revisions of one text that grows from 1 to 3 MiB, one to three
           lines changed in each.
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
