//! What must happen to a file after a change of the database: a value, and the skel that it is written down as.
//!
//! The skels are those of the format: a name and its arguments, numbers as digits.

use sapwood_core::NodeKind;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::skel::Skel;

use crate::error::{Error, Result};

/// An item. Paths are below the working copy's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkItem {
    /// After a commit: translates the working file anew if keywords or line ends ask for it, sets
    /// its flags, records size and time.
    FileCommit {
        /// The file.
        relpath: RelPathBuf,
    },
    /// Writes the working file from its pristine text, or from `source`.
    FileInstall {
        /// The file.
        relpath: RelPathBuf,
        /// Whether the file gets the date of its last change.
        use_commit_times: bool,
        /// Whether to record size and time (the file is then unmodified).
        record_fileinfo: bool,
        /// A file with the text in repository form, in place of the pristine text.
        source: Option<RelPathBuf>,
    },
    /// Removes a file, if it is there.
    FileRemove {
        /// The file.
        relpath: RelPathBuf,
    },
    /// Renames a file, if it is there.
    FileMove {
        /// From.
        from: RelPathBuf,
        /// To.
        to: RelPathBuf,
    },
    /// Copies a file and translates it on the way as the properties of `relpath` say.
    FileTranslate {
        /// The node whose properties count.
        relpath: RelPathBuf,
        /// From.
        from: RelPathBuf,
        /// To.
        to: RelPathBuf,
    },
    /// Sets the read-only and executable bits of a file as its properties and lock say.
    SyncFileFlags {
        /// The file.
        relpath: RelPathBuf,
    },
    /// Writes the `.prej` file of a property conflict from the conflict's record.
    PrejInstall {
        /// The node.
        relpath: RelPathBuf,
        /// A conflict as versions before 1.9 wrote it here, a skel.
        old_skel: Option<Vec<u8>>,
    },
    /// Removes a directory: with all that is in it, or only if it is empty.
    DirRemove {
        /// The directory.
        relpath: RelPathBuf,
        /// With all that is in it.
        recursive: bool,
    },
    /// Makes a directory, if it is not there.
    DirInstall {
        /// The directory.
        relpath: RelPathBuf,
    },
    /// Ends an upgrade: removes what the old format left.
    Postupgrade,
    /// Written by 1.7 development versions: removes a node of BASE.
    BaseRemove {
        /// The node.
        relpath: RelPathBuf,
        /// The revision of the not-present row that takes its place.
        not_present: Option<i64>,
    },
    /// Written before 1.9: records size and time of a file.
    RecordFileinfo {
        /// The file.
        relpath: RelPathBuf,
        /// The time to give it first, in microseconds since 1970.
        set_time: Option<i64>,
    },
    /// Written by 1.7: marks a text conflict with its files.
    SetTextConflict {
        /// The node.
        relpath: RelPathBuf,
        /// The older, newer and local text, in this order, as far as there are such files.
        files: [Option<RelPathBuf>; 3],
    },
    /// Written by 1.7: marks a property conflict with its file.
    SetPropConflict {
        /// The node.
        relpath: RelPathBuf,
        /// The `.prej` file.
        prej: Option<RelPathBuf>,
    },
}

impl WorkItem {
    /// Writes a working file from its pristine text, and records its size and time.
    pub(crate) const fn install(relpath: RelPathBuf, use_commit_times: bool) -> Self {
        Self::FileInstall { relpath, use_commit_times, record_fileinfo: true, source: None }
    }

    /// Puts a node of this kind into its place: a directory, or a file with its pristine text.
    pub(crate) const fn put(relpath: RelPathBuf, kind: NodeKind) -> Self {
        match kind {
            NodeKind::Dir => Self::DirInstall { relpath },
            NodeKind::File => Self::install(relpath, false),
        }
    }

    /// A file that the item would read once more if it were run again.
    pub(crate) fn source(&self) -> Option<&RelPath> {
        match self {
            Self::FileInstall { source, .. } => source.as_deref(),
            Self::FileTranslate { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Whether the item takes one of these files away: those that need it have to be out of the queue
    /// before, or they could not be run again after a kill.
    pub(crate) fn takes_away(&self, needed: &std::collections::HashSet<RelPathBuf>) -> bool {
        match self {
            Self::FileRemove { relpath } => needed.contains(relpath),
            Self::FileMove { from, .. } => needed.contains(from),
            // It may remove nodes whose sizes and times wait to be recorded.
            Self::BaseRemove { .. } => true,
            _ => false,
        }
    }

    /// The skel of the item.
    #[must_use]
    pub fn to_skel(&self) -> Vec<u8> {
        let flag = |on: bool| if on { "1" } else { "0" };
        let numbers: [String; 1];
        let mut raw = None;
        let atoms: Vec<&str> = match self {
            Self::FileCommit { relpath } => vec!["file-commit", relpath],
            Self::FileInstall { relpath, use_commit_times, record_fileinfo, source } => {
                let fixed =
                    ["file-install", relpath, flag(*use_commit_times), flag(*record_fileinfo)];
                fixed.into_iter().chain(source.as_deref().map(RelPath::as_str)).collect()
            }
            Self::FileRemove { relpath } => vec!["file-remove", relpath],
            Self::FileMove { from, to } => vec!["file-move", from, to],
            Self::FileTranslate { relpath, from, to } => vec!["file-translate", relpath, from, to],
            Self::SyncFileFlags { relpath } => vec!["sync-file-flags", relpath],
            Self::PrejInstall { relpath, old_skel } => {
                raw = old_skel.as_deref().and_then(|bytes| Skel::parse(bytes).ok());
                vec!["prej-install", relpath]
            }
            Self::DirRemove { relpath, recursive: true } => vec!["dir-remove", relpath, "1"],
            Self::DirRemove { relpath, recursive: false } => vec!["dir-remove", relpath],
            Self::DirInstall { relpath } => vec!["dir-install", relpath],
            Self::Postupgrade => vec!["postupgrade"],
            Self::BaseRemove { relpath, not_present } => {
                numbers = [not_present.unwrap_or(-1).to_string()];
                let [revision] = &numbers;
                vec!["base-remove", relpath, revision, "0"]
            }
            Self::RecordFileinfo { relpath, set_time } => {
                numbers = [set_time.unwrap_or_default().to_string()];
                let [time] = &numbers;
                vec!["record-fileinfo", relpath, time]
            }
            Self::SetTextConflict { relpath, files } => {
                let files = files.iter().map(|f| f.as_deref().map_or("", RelPath::as_str));
                ["tmp-set-text-conflict-markers", relpath].into_iter().chain(files).collect()
            }
            Self::SetPropConflict { relpath, prej } => {
                vec![
                    "tmp-set-property-conflict-marker",
                    relpath,
                    prej.as_deref().unwrap_or(RelPath::ROOT),
                ]
            }
        };
        let atoms = atoms.into_iter().map(|a| Skel::Atom(a.as_bytes()));
        let mut out = Vec::new();
        Skel::List(atoms.chain(raw).collect()).write(&mut out);
        out
    }

    /// The item of a skel.
    ///
    /// # Errors
    /// E155009 when this program does not know the item.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let unknown = || {
            Error::new(
                sapwood_core::ErrorCode::WC_BAD_ADM_LOG,
                "Unrecognized work item in the queue",
            )
        };
        let skel = Skel::parse(bytes)?;
        let members = skel.list().ok_or_else(unknown)?;
        let (name, args) = members.split_first().ok_or_else(unknown)?;
        let text = |at: usize| -> Option<String> {
            let atom = args.get(at)?.atom()?;
            Some(std::str::from_utf8(atom).ok()?.to_owned())
        };
        let number = |at: usize| text(at).and_then(|t| t.parse::<i64>().ok());
        let path = |at: usize| {
            let path = text(at).filter(|p| is_inside(p)).ok_or_else(unknown)?;
            RelPathBuf::new(path).map_err(|_| unknown())
        };
        let some_path = |at: usize| -> Result<Option<RelPathBuf>> {
            if text(at).is_none_or(|t| t.is_empty()) { Ok(None) } else { path(at).map(Some) }
        };
        Ok(match name.atom().unwrap_or(b"") {
            b"file-commit" => Self::FileCommit { relpath: path(0)? },
            b"file-install" => Self::FileInstall {
                relpath: path(0)?,
                use_commit_times: number(1).ok_or_else(unknown)? != 0,
                record_fileinfo: number(2).ok_or_else(unknown)? != 0,
                source: if args.len() > 3 { Some(path(3)?) } else { None },
            },
            b"file-remove" => Self::FileRemove { relpath: path(0)? },
            b"file-move" => Self::FileMove { from: path(0)?, to: path(1)? },
            b"file-translate" => {
                Self::FileTranslate { relpath: path(0)?, from: path(1)?, to: path(2)? }
            }
            b"sync-file-flags" => Self::SyncFileFlags { relpath: path(0)? },
            b"prej-install" => Self::PrejInstall {
                relpath: path(0)?,
                old_skel: args.get(1).map(|skel| {
                    let mut out = Vec::new();
                    skel.write(&mut out);
                    out
                }),
            },
            b"dir-remove" => {
                Self::DirRemove { relpath: path(0)?, recursive: number(1).is_some_and(|n| n != 0) }
            }
            b"dir-install" => Self::DirInstall { relpath: path(0)? },
            b"postupgrade" => Self::Postupgrade,
            // With two arguments it is a form of 1.7's development, which no program does.
            b"base-remove" if number(2).is_some() => {
                Self::BaseRemove { relpath: path(0)?, not_present: number(1).filter(|n| *n >= 0) }
            }
            b"record-fileinfo" => {
                Self::RecordFileinfo { relpath: path(0)?, set_time: number(1).filter(|n| *n != 0) }
            }
            b"tmp-set-text-conflict-markers" => Self::SetTextConflict {
                relpath: path(0)?,
                files: [some_path(1)?, some_path(2)?, some_path(3)?],
            },
            b"tmp-set-property-conflict-marker" => {
                Self::SetPropConflict { relpath: path(0)?, prej: some_path(1)? }
            }
            _ => return Err(unknown()),
        })
    }
}

/// Whether a path out of the queue stays inside of the working copy.
fn is_inside(path: &str) -> bool {
    path.is_empty()
        || (!path.starts_with('/') && path.split('/').all(|n| !n.is_empty() && n != ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(item: &WorkItem, skel: &str) {
        assert_eq!(String::from_utf8(item.to_skel()).unwrap(), skel);
        assert_eq!(&WorkItem::parse(skel.as_bytes()).unwrap(), item);
    }

    #[test]
    fn skels_as_the_reference_writes_them() {
        let f = || RelPathBuf::trusted("a/f".to_owned());
        there_and_back(&WorkItem::FileCommit { relpath: f() }, "(file-commit a/f)");
        there_and_back(
            &WorkItem::FileInstall {
                relpath: f(),
                use_commit_times: false,
                record_fileinfo: true,
                source: None,
            },
            "(file-install a/f 1 0 1 1)",
        );
        there_and_back(
            &WorkItem::FileInstall {
                relpath: f(),
                use_commit_times: true,
                record_fileinfo: false,
                source: Some(RelPathBuf::trusted(".svn/tmp/x".to_owned())),
            },
            "(file-install a/f 1 1 1 0 10 .svn/tmp/x)",
        );
        there_and_back(
            &WorkItem::DirRemove {
                relpath: RelPathBuf::trusted("a b".to_owned()),
                recursive: true,
            },
            "(dir-remove 3 a b 1 1)",
        );
        there_and_back(
            &WorkItem::PrejInstall { relpath: f(), old_skel: Some(b"(prop ())".to_vec()) },
            "(prej-install a/f (prop ()))",
        );
        there_and_back(&WorkItem::Postupgrade, "(postupgrade)");
        there_and_back(
            &WorkItem::BaseRemove { relpath: f(), not_present: None },
            "(base-remove a/f 2 -1 1 0)",
        );
        there_and_back(
            &WorkItem::BaseRemove { relpath: f(), not_present: Some(7) },
            "(base-remove a/f 1 7 1 0)",
        );
        there_and_back(
            &WorkItem::SetTextConflict {
                relpath: f(),
                files: [
                    Some(RelPathBuf::trusted("o".to_owned())),
                    None,
                    Some(RelPathBuf::trusted("w".to_owned())),
                ],
            },
            "(tmp-set-text-conflict-markers a/f o 0  w)",
        );
        there_and_back(
            &WorkItem::SetPropConflict {
                relpath: f(),
                prej: Some(RelPathBuf::trusted("p".to_owned())),
            },
            "(tmp-set-property-conflict-marker a/f p)",
        );
        there_and_back(
            &WorkItem::FileMove { from: f(), to: RelPathBuf::trusted("b".to_owned()) },
            "(file-move a/f b)",
        );
    }

    #[test]
    fn refuses_what_it_does_not_know_and_what_leads_out() {
        for bad in [
            "(frobnicate a)",
            "x",
            "()",
            "(file-remove)",
            "(file-remove 4 ../x)",
            "(file-remove 4 /etc)",
            "(base-remove f 1 1)",
            "(tmp-set-text-conflict-markers f 4 ../x 0  0 )",
        ] {
            assert!(WorkItem::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
