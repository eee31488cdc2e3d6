//! The options of one command line, parsed and checked one by one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use sapwood_client::{Range, Revision};
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{Depth, ErrorCode, PropList, SvnError, SvnResult};
use sapwood_wc::db::{FORMAT, FORMAT_OPTIONAL_PRISTINES};

use super::options::Opt;
use crate::arguments::{parse_changes, parse_depth, parse_limit};
use crate::command::{self, to_text, usage_error};
use crate::input;
use crate::remote::{self, revprops};
use crate::revision::RevisionRange;
use crate::{locale, user_date};

/// The values of `--accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accept {
    Postpone,
    Base,
    Working,
    MineConflict,
    TheirsConflict,
    MineFull,
    TheirsFull,
    Edit,
    Launch,
    Recommended,
}

impl Accept {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            // A postponed conflict also goes by an emoticon.
            "postpone" | "p" | ":-P" => Self::Postpone,
            "base" => Self::Base,
            "working" => Self::Working,
            "mine-conflict" | "mc" | "X-)" => Self::MineConflict,
            "theirs-conflict" | "tc" | "X-(" => Self::TheirsConflict,
            "mine-full" | "mf" | ":-)" => Self::MineFull,
            "theirs-full" | "tf" | ":-(" => Self::TheirsFull,
            "edit" | "e" | ":-E" => Self::Edit,
            "launch" | "l" | ":-l" => Self::Launch,
            "recommended" | "r" => Self::Recommended,
            _ => return None,
        })
    }
}

/// Which revisions `svn mergeinfo` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShowRevs {
    Merged,
    Eligible,
}

/// The format of working copies that a version of Subversion can use, the newest of them.
fn format_for(version: &str) -> SvnResult<i64> {
    let refuse = |what: String| Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, what));
    let mut parts = version.split('.').map(str::parse::<u32>);
    let known = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor)), None | Some(Ok(_)), None) => Some((major, minor)),
        _ => None,
    };
    match known {
        None => refuse(format!("Invalid version number '{version}'")),
        Some((1, 8..=14)) => Ok(FORMAT),
        Some((1, 15)) => Ok(FORMAT_OPTIONAL_PRISTINES),
        Some(_) => refuse(format!(
            "Cannot make working copies compatible with Subversion {version}: 1.8 to 1.15 can be named"
        )),
    }
}

/// The options of a command line.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// All that were given, in their order.
    pub(crate) order: Vec<Opt>,
    given: HashSet<Opt>,
    /// All ranges of `-r` and `-c`; one without revisions when there was none.
    pub(crate) ranges: Vec<Range>,
    /// `--depth` or `-R`; what `-N` means comes later.
    pub(crate) depth: Option<Depth>,
    /// `--set-depth`.
    pub(crate) set_depth: Option<Depth>,
    /// `--limit`.
    pub(crate) limit: Option<u64>,
    /// `-m`, as it was typed.
    pub(crate) message: Option<OsString>,
    /// The name that `-F` gave.
    pub(crate) file_name: Option<String>,
    /// The content of that file.
    pub(crate) file_data: Option<Vec<u8>>,
    /// `--encoding`.
    pub(crate) encoding: Option<String>,
    /// The lines of `--targets`.
    pub(crate) targets: Option<Vec<String>>,
    /// `--changelist`, each once.
    pub(crate) changelists: Vec<String>,
    /// `--with-revprop`.
    pub(crate) revprops: Option<PropList>,
    /// `--accept`.
    pub(crate) accept: Option<Accept>,
    /// `--show-revs`.
    pub(crate) show_revs: Option<ShowRevs>,
    /// `-x`.
    pub(crate) extensions: Option<String>,
    /// `--diff-cmd`.
    pub(crate) diff_cmd: Option<OsString>,
    /// `--diff3-cmd`.
    pub(crate) diff3_cmd: Option<OsString>,
    /// `--editor-cmd`.
    pub(crate) editor_cmd: Option<OsString>,
    /// `--old`.
    pub(crate) old: Option<String>,
    /// `--new`.
    pub(crate) new: Option<String>,
    /// `--native-eol`.
    pub(crate) native_eol: Option<String>,
    /// `--search` with the `--search-and` that follow it: any group, all patterns of it.
    pub(crate) search: Vec<Vec<String>>,
    /// `--compatible-version`: the format of the working copy.
    pub(crate) format: Option<i64>,
    /// `--store-pristine`.
    pub(crate) store_pristine: Option<bool>,
    /// `--strip`.
    pub(crate) strip: u64,
    /// `--show-item`.
    pub(crate) show_item: Option<String>,
    /// `--x-viewspec`.
    pub(crate) viewspec: Option<String>,
    /// The options for opening sessions, in the form that all programs share.
    pub(crate) session: command::Options,
    /// Whether nothing may be asked.
    pub(crate) non_interactive: bool,
}

/// A number that an option or an argument is to be.
pub(super) fn number(text: &str) -> SvnResult<i32> {
    let wrong = |text: String| SvnError::new(ErrorCode::INCORRECT_PARAMS, text);
    let word = text.trim_ascii_start();
    match word.parse::<i64>() {
        Ok(number) => i32::try_from(number).map_err(|_| {
            wrong(format!("Number '{text}' is out of range '[{}, {}]'", i32::MIN, i32::MAX))
        }),
        Err(_) => Err(wrong(format!("Could not convert '{text}' into a number"))),
    }
}

impl Options {
    /// Whether an option was given.
    pub(crate) fn has(&self, opt: Opt) -> bool {
        self.given.contains(&opt)
    }

    /// Takes one option. An invalid value is reported at once.
    pub(crate) fn take(&mut self, opt: Opt, value: Option<OsString>) -> SvnResult<()> {
        self.order.push(opt);
        if let Some(value) = value {
            self.take_value(opt, value)?;
        } else {
            match opt {
                Opt::Recursive => self.depth = Some(Depth::Infinity),
                Opt::PasswordFromStdin
                | Opt::NoAuthCache
                | Opt::NonInteractive
                | Opt::ForceInteractive
                | Opt::TrustServerCert => self.session.push(opt.spec().name(), None),
                _ => {}
            }
        }
        self.given.insert(opt);
        Ok(())
    }

    fn take_value(&mut self, opt: Opt, value: OsString) -> SvnResult<()> {
        // These are bytes until it is known in which encoding, or go to other programs as they are.
        match opt {
            Opt::Message => {
                self.message = Some(value);
                return Ok(());
            }
            Opt::DiffCmd => {
                self.diff_cmd = Some(value);
                return Ok(());
            }
            Opt::Diff3Cmd => {
                self.diff3_cmd = Some(value);
                return Ok(());
            }
            Opt::EditorCmd => {
                self.editor_cmd = Some(value);
                return Ok(());
            }
            Opt::WithRevprop => {
                let (name, bytes) = revprop_parts(value.as_bytes());
                let name = locale::decode(name.to_vec())?;
                let props = self.revprops.get_or_insert_default();
                return revprops::take_bytes(props, &name, bytes);
            }
            _ => {}
        }
        let text = match to_text(&value) {
            Err(error) if matches!(opt, Opt::Depth | Opt::SetDepth) => {
                return Err(error.wrap(
                    ErrorCode::CL_ARG_PARSING_ERROR,
                    "Error converting depth from locale to UTF-8",
                ));
            }
            other => other?,
        };
        match opt {
            Opt::Limit => self.limit = Some(parse_limit(&text)?),
            Opt::Change => self.take_change(&text)?,
            Opt::Revision => {
                let range = Range::parse(&text, &user_date::parse).ok_or_else(|| {
                    usage_error(format!("Syntax error in revision argument '{text}'"))
                })?;
                self.ranges.push(range);
            }
            Opt::File => {
                self.file_data = Some(input::contents(&text)?);
                self.file_name = Some(text);
            }
            Opt::Targets => {
                let lines = locale::decode(input::contents(&text)?)?;
                let lines = lines.split(['\n', '\r']).map(str::trim_ascii);
                self.targets =
                    Some(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect());
            }
            Opt::Depth => self.depth = Some(parse_depth(&text)?),
            Opt::SetDepth => match Depth::from_word(text.as_bytes()) {
                Depth::Unknown => {
                    return Err(usage_error(format!(
                        "'{text}' is not a valid depth; try 'exclude', 'empty', 'files', \
                         'immediates', or 'infinity'"
                    )));
                }
                depth => self.set_depth = Some(depth),
            },
            Opt::TrustServerCertFailures => {
                remote::failures(&text)?;
                self.session.push(opt.spec().name(), Some(value));
            }
            Opt::Username | Opt::Password | Opt::ConfigDir => {
                self.session.push(opt.spec().name(), Some(value));
            }
            Opt::ConfigOption => {
                remote::config::check(&text, "svn")?;
                self.session.push(opt.spec().name(), Some(value));
            }
            Opt::Encoding => self.encoding = Some(text),
            Opt::Extensions => self.extensions = Some(text),
            Opt::Old => {
                if self.has(Opt::Change) {
                    return Err(usage_error("Can't specify -c with --old"));
                }
                self.old = Some(text);
            }
            Opt::New => self.new = Some(text),
            Opt::NativeEol => {
                if !matches!(text.as_str(), "LF" | "CR" | "CRLF") {
                    return Err(usage_error(format!(
                        "Syntax error in native-eol argument '{text}'"
                    )));
                }
                self.native_eol = Some(text);
            }
            Opt::Changelist => {
                if text.is_empty() {
                    return Err(usage_error("Changelist names must not be empty"));
                }
                if !self.changelists.contains(&text) {
                    self.changelists.push(text);
                }
            }
            Opt::Accept => {
                let accept = Accept::from_word(&text).ok_or_else(|| {
                    usage_error(format!("'{text}' is not a valid --accept value"))
                })?;
                self.accept = Some(accept);
            }
            Opt::ShowRevs => {
                self.show_revs = Some(match text.as_str() {
                    "merged" => ShowRevs::Merged,
                    "eligible" => ShowRevs::Eligible,
                    _ => {
                        return Err(usage_error(format!(
                            "'{text}' is not a valid --show-revs value"
                        )));
                    }
                });
            }
            Opt::Strip => {
                let count = number(&text).map_err(|e| {
                    e.wrap(ErrorCode::CL_ARG_PARSING_ERROR, format!("Invalid strip count '{text}'"))
                })?;
                self.strip = u64::try_from(count).map_err(|_| {
                    SvnError::new(
                        ErrorCode::INCORRECT_PARAMS,
                        "Argument to --strip must be positive",
                    )
                })?;
            }
            Opt::CompatibleVersion => self.format = Some(format_for(&text)?),
            Opt::StorePristine => {
                self.store_pristine = Some(match text.as_str() {
                    "yes" | "on" | "true" => true,
                    "no" | "off" | "false" => false,
                    _ => {
                        return Err(usage_error(format!(
                            "'{text}' is not a valid --store-pristine value"
                        )));
                    }
                });
            }
            Opt::Search => self.search.push(vec![text]),
            Opt::SearchAnd => match self.search.last_mut() {
                Some(group) => group.push(text),
                None => self.search.push(vec![text]),
            },
            Opt::ShowItem => self.show_item = Some(text),
            Opt::Viewspec => {
                if !matches!(text.as_str(), "classic" | "svn11") {
                    return Err(usage_error(format!("'{text}' is not a valid --x-viewspec value")));
                }
                self.viewspec = Some(text);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_change(&mut self, text: &str) -> SvnResult<()> {
        if self.old.is_some() {
            return Err(usage_error("Can't specify -c with --old"));
        }
        let ranges = parse_changes(text)?;
        self.ranges
            .extend(ranges.into_iter().map(|RevisionRange { start, end }| Range { start, end }));
        Ok(())
    }

    /// The properties of `--with-revprop`; none without it.
    pub(crate) fn revprops(&self) -> PropList {
        self.revprops.clone().unwrap_or_default()
    }

    /// The first range of `-r` and `-c`.
    pub(crate) fn range(&self) -> Range {
        self.ranges.first().copied().unwrap_or_default()
    }

    /// The one revision of subcommands that take no more.
    pub(crate) fn revision(&self) -> Revision {
        self.range().start
    }

    /// The requested depth, or the default.
    pub(crate) fn depth_or(&self, otherwise: Depth) -> Depth {
        self.depth.unwrap_or(otherwise)
    }
}

/// Name and value of a `--with-revprop`.
fn revprop_parts(text: &[u8]) -> (&[u8], &[u8]) {
    let at = text.iter().position(|b| *b == b'=').unwrap_or(text.len());
    // Without a sign the value is empty.
    (text.head(at), text.get(at.plus(1)..).unwrap_or(b""))
}
