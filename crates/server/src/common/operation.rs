//! What a request does, as the operational log reports it.
//!
//! Both servers create these values. Only this file formats them, since programs of administrators
//! read these lines and expect the reference's format.

use std::fmt::{self, Display, Formatter};

use sapwood_core::FsPath;
use sapwood_core::{Depth, Revnum, uri};

/// One request. Paths are fspaths, decoded.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the requests' parameters")]
pub enum Operation<'a> {
    /// A session begins; capabilities, the client's library and the client's own name.
    Open {
        capabilities: &'a [String],
        path: &'a FsPath,
        ra_client: Option<&'a str>,
        client: Option<&'a str>,
    },
    /// A password was wrong, or there is no such user. For programs that block addresses.
    WrongPassword {
        mechanism: &'a str,
        user: Option<&'a str>,
        failures: u32,
    },
    /// A path may not be read or written (the word) by the user.
    Refused {
        word: &'static str,
        path: &'a FsPath,
    },
    Reparent {
        path: &'a FsPath,
    },
    GetLatestRev,
    GetDatedRev {
        date: &'a str,
    },
    GetDeletedRev,
    RevProplist {
        revision: Revnum,
    },
    RevProp {
        revision: Revnum,
        name: &'a str,
    },
    ChangeRevProp {
        revision: Revnum,
        name: &'a str,
    },
    GetFile {
        path: &'a FsPath,
        revision: Revnum,
        text: bool,
        props: bool,
    },
    GetDir {
        path: &'a FsPath,
        revision: Revnum,
        text: bool,
        props: bool,
    },
    CheckPath {
        path: &'a FsPath,
        revision: Revnum,
    },
    Stat {
        path: &'a FsPath,
        revision: Revnum,
    },
    List {
        path: &'a FsPath,
        revision: Revnum,
        depth: Depth,
        patterns: Option<&'a [&'a str]>,
    },
    GetInheritedProps {
        path: &'a FsPath,
        revision: Revnum,
    },
    GetMergeinfo {
        paths: &'a [&'a FsPath],
        inherit: &'static str,
        descendants: bool,
    },
    Log {
        paths: &'a [&'a FsPath],
        start: Option<Revnum>,
        end: Option<Revnum>,
        limit: u64,
        changed_paths: bool,
        strict: bool,
        merged: bool,
        /// All, without any.
        revprops: Option<&'a [&'a str]>,
    },
    GetLocations {
        path: &'a FsPath,
        peg: Revnum,
        revisions: &'a [Revnum],
    },
    GetLocationSegments {
        path: &'a FsPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
    },
    GetFileRevs {
        path: &'a FsPath,
        start: Option<Revnum>,
        end: Option<Revnum>,
        merged: bool,
    },
    CheckoutOrExport {
        path: &'a FsPath,
        revision: Revnum,
        depth: Depth,
    },
    Update {
        path: &'a FsPath,
        revision: Revnum,
        depth: Depth,
        copyfrom: bool,
    },
    Status {
        path: &'a FsPath,
        revision: Revnum,
        depth: Depth,
    },
    Switch {
        path: &'a FsPath,
        to: &'a FsPath,
        revision: Revnum,
        depth: Depth,
    },
    Diff {
        path: &'a FsPath,
        from: Option<Revnum>,
        versus: &'a str,
        revision: Revnum,
        depth: Depth,
        ignore_ancestry: bool,
    },
    Replay {
        path: &'a FsPath,
        revision: Revnum,
    },
    Commit {
        revision: Revnum,
    },
    GetLock {
        path: &'a FsPath,
    },
    /// The depth is shown where the protocol has one.
    GetLocks {
        path: &'a FsPath,
        depth: Depth,
    },
    Lock {
        paths: &'a [&'a FsPath],
        steal: bool,
    },
    Unlock {
        paths: &'a [&'a FsPath],
        break_lock: bool,
    },
}

impl Display for Operation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { .. } | Self::WrongPassword { .. } | Self::Refused { .. } => {
                self.about_user(f)
            }
            Self::Reparent { path } => write!(f, "reparent {}", Path(path)),
            Self::GetLatestRev => f.write_str("get-latest-rev"),
            Self::GetDatedRev { date } => write!(f, "get-dated-rev {date}"),
            Self::GetDeletedRev => f.write_str("get-deleted-rev"),
            Self::RevProplist { revision } => write!(f, "rev-proplist r{revision}"),
            Self::RevProp { revision, name } => write!(f, "rev-prop r{revision} {}", Path(name)),
            Self::ChangeRevProp { revision, name } => {
                write!(f, "change-rev-prop r{revision} {}", Path(name))
            }
            Self::Commit { revision } => write!(f, "commit r{revision}"),
            Self::GetLock { path } => write!(f, "get-lock {}", Path(path)),
            Self::GetLocks { path, depth } => {
                write!(f, "get-locks {}{}", Path(path), DepthNote(*depth))
            }
            Self::Lock { paths, steal } => {
                write!(f, "lock ({}){}", Paths(paths), note(*steal, " steal"))
            }
            Self::Unlock { paths, break_lock } => {
                write!(f, "unlock ({}){}", Paths(paths), note(*break_lock, " break"))
            }
            Self::Log { .. }
            | Self::GetLocations { .. }
            | Self::GetLocationSegments { .. }
            | Self::GetFileRevs { .. } => self.about_history(f),
            Self::CheckoutOrExport { .. }
            | Self::Update { .. }
            | Self::Status { .. }
            | Self::Switch { .. }
            | Self::Diff { .. }
            | Self::Replay { .. } => self.about_edits(f),
            _ => self.about_nodes(f),
        }
    }
}

impl Operation<'_> {
    fn about_user(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { capabilities, path, ra_client, client } => {
                let (capabilities, path) = (capabilities.join(" "), Path(path));
                write!(f, "open 2 cap=({capabilities}) {path} ")?;
                write!(f, "{} {}", Name(*ra_client), Name(*client))
            }
            Self::WrongPassword { mechanism, user, failures } => {
                write!(f, "Authentication Failed {mechanism} user=")?;
                match user {
                    Some(user) => Path(user).fmt(f)?,
                    None => f.write_str("-")?,
                }
                write!(f, " failures={failures}")
            }
            Self::Refused { word, path } => write!(f, "Authorization Failed {word} {path}"),
            _ => Ok(()),
        }
    }

    fn about_nodes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::GetFile { path, revision, text, props }
            | Self::GetDir { path, revision, text, props } => {
                let is_file = matches!(self, Self::GetFile { .. });
                let what = if is_file { "get-file" } else { "get-dir" };
                let (text, props) = (note(*text, " text"), note(*props, " props"));
                write!(f, "{what} {} r{revision}{text}{props}", Path(path))
            }
            Self::CheckPath { path, revision } => {
                write!(f, "check-path {}@{revision}", Path(path))
            }
            Self::Stat { path, revision } => write!(f, "stat {}@{revision}", Path(path)),
            Self::List { path, revision, depth, patterns } => {
                write!(f, "list {} r{revision}{}", Path(path), DepthNote(*depth))?;
                match patterns {
                    Some(patterns) => patterns.iter().try_for_each(|p| write!(f, " {p}")),
                    None => f.write_str(" <ANY>"),
                }
            }
            Self::GetInheritedProps { path, revision } => {
                write!(f, "get-inherited-props {} r{revision}", Path(path))
            }
            Self::GetMergeinfo { paths, inherit, descendants } => {
                let below = note(*descendants, " include-descendants");
                write!(f, "get-mergeinfo ({}) {inherit}{below}", Paths(paths))
            }
            _ => Ok(()),
        }
    }

    fn about_history(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log { paths, start, end, limit, changed_paths, strict, merged, revprops } => {
                write!(f, "log ({}) r{}:{}", Paths(paths), Rev(*start), Rev(*end))?;
                if *limit > 0 {
                    write!(f, " limit={limit}")?;
                }
                f.write_str(note(*changed_paths, " discover-changed-paths"))?;
                f.write_str(note(*strict, " strict"))?;
                f.write_str(note(*merged, " include-merged-revisions"))?;
                match revprops {
                    None => f.write_str(" revprops=all"),
                    Some([]) => Ok(()),
                    Some(names) => write!(f, " revprops=({})", Paths(names)),
                }
            }
            Self::GetLocations { path, peg, revisions } => {
                let revisions: Vec<String> = revisions.iter().map(Revnum::to_string).collect();
                write!(f, "get-locations {}@{peg} ({})", Path(path), revisions.join(" "))
            }
            Self::GetLocationSegments { path, peg, start, end } => {
                let (start, end) = (Rev(*start), Rev(*end));
                write!(f, "get-location-segments {}@{} r{start}:{end}", Path(path), Rev(*peg))
            }
            Self::GetFileRevs { path, start, end, merged } => {
                let merged = note(*merged, " include-merged-revisions");
                write!(f, "get-file-revs {} r{}:{}{merged}", Path(path), Rev(*start), Rev(*end))
            }
            _ => Ok(()),
        }
    }

    fn about_edits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::CheckoutOrExport { path, revision, depth } => {
                write!(f, "checkout-or-export {} r{revision}{}", Path(path), DepthNote(*depth))
            }
            Self::Update { path, revision, depth, copyfrom } => {
                let copyfrom = note(*copyfrom, " send-copyfrom-args");
                write!(f, "update {} r{revision}{}{copyfrom}", Path(path), DepthNote(*depth))
            }
            Self::Status { path, revision, depth } => {
                write!(f, "status {} r{revision}{}", Path(path), DepthNote(*depth))
            }
            Self::Switch { path, to, revision, depth } => {
                let depth = DepthNote(*depth);
                write!(f, "switch {} {}@{revision}{depth}", Path(path), Path(to))
            }
            Self::Diff { path, from, versus, revision, depth, ignore_ancestry } => {
                let (path_shown, from) = (Path(path), Rev(*from));
                if path == versus {
                    write!(f, "diff {path_shown} r{from}:{revision}")?;
                } else {
                    write!(f, "diff {path_shown}@{from} {}@{revision}", Path(versus))?;
                }
                write!(f, "{}{}", DepthNote(*depth), note(*ignore_ancestry, " ignore-ancestry"))
            }
            Self::Replay { path, revision } => write!(f, "replay {} r{revision}", Path(path)),
            _ => Ok(()),
        }
    }
}

/// A path, percent-encoded.
struct Path<'a>(&'a str);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&uri::encode(self.0))
    }
}

/// Paths with spaces between.
struct Paths<'a, P: ?Sized>(&'a [&'a P]);

impl<P: AsRef<str> + ?Sized> Display for Paths<'_, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, path) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { " " } else { "" })?;
            Path(path.as_ref()).fmt(f)?;
        }
        Ok(())
    }
}

/// What a client calls itself.
struct Name<'a>(Option<&'a str>);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            None | Some("") => f.write_str("-"),
            Some(name) => Path(name).fmt(f),
        }
    }
}

/// A revision: -1 when none was given.
struct Rev(Option<Revnum>);

impl Display for Rev {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rev) => rev.fmt(f),
            None => f.write_str("-1"),
        }
    }
}

/// ` depth=...`, or nothing for an unknown depth.
struct DepthNote(Depth);

impl Display for DepthNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == Depth::Unknown { Ok(()) } else { write!(f, " depth={}", self.0.word()) }
    }
}

/// A text when a switch is on, else nothing.
const fn note(on: bool, text: &'static str) -> &'static str {
    if on { text } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    #[test]
    fn lines() {
        let (one, two) = (Some(Revnum(1)), Some(Revnum(2)));
        let log = Operation::Log {
            paths: &[fspath("/a b"), fspath("/c")],
            start: two,
            end: None,
            limit: 7,
            changed_paths: true,
            strict: false,
            merged: true,
            revprops: Some(&["svn:log"]),
        };
        let diff = |versus| Operation::Diff {
            path: fspath("/a"),
            from: one,
            versus,
            revision: Revnum(3),
            depth: Depth::Files,
            ignore_ancestry: true,
        };
        for (operation, line) in [
            (
                log,
                "log (/a%20b /c) r2:-1 limit=7 discover-changed-paths include-merged-revisions \
                 revprops=(svn:log)",
            ),
            (diff("/a"), "diff /a r1:3 depth=files ignore-ancestry"),
            (diff("/b"), "diff /a@1 /b@3 depth=files ignore-ancestry"),
            (Operation::GetLocks { path: fspath("/d"), depth: Depth::Unknown }, "get-locks /d"),
            (
                Operation::Open {
                    capabilities: &["depth".to_owned()],
                    path: fspath("/"),
                    ra_client: Some("SVN 1"),
                    client: None,
                },
                "open 2 cap=(depth) / SVN%201 -",
            ),
        ] {
            assert_eq!(operation.to_string(), line);
        }
    }
}
