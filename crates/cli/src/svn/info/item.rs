//! `--show-item`: one value.

use sapwood_client::info::Info;
use sapwood_core::paths::UrlBuf;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};

use super::print::{Printer, compatible_with, relative_url, yes_or_no};
use crate::command::usage_error;
use crate::similarity::{Likeness, closest};

const WORDS: [&str; 17] = [
    "kind",
    "url",
    "relative-url",
    "repos-root-url",
    "repos-uuid",
    "repos-size",
    "revision",
    "last-changed-revision",
    "last-changed-date",
    "last-changed-author",
    "wc-root",
    "schedule",
    "depth",
    "changelist",
    "wc-format",
    "wc-compatible-version",
    "store-pristine",
];

/// The value that is wanted of each node.
pub(super) struct Item {
    word: &'static str,
    /// Whether the path is printed behind it.
    several: bool,
    /// Whether something was printed that wants a newline.
    pub(super) printed: bool,
}

impl Item {
    pub(super) fn new(word: &str, several: bool) -> SvnResult<Self> {
        let wrong = format!("'{word}' is not a valid value for --show-item");
        match closest(word, &WORDS) {
            Likeness::Exact(word) => Ok(Self { word, several, printed: false }),
            Likeness::Near(names) => Err(usage_error(match names.suggestion() {
                None => wrong,
                Some(suggestion) => format!("{wrong}; did you mean {suggestion}?"),
            })),
        }
    }

    pub(super) fn print(
        &mut self,
        printer: &Printer,
        path: &str,
        info: &Info,
        is_url: bool,
    ) -> SvnResult<()> {
        let shown = match is_url {
            true => info.url.clone().map_or_else(String::new, UrlBuf::into_string),
            false => printer.display_path(path),
        };
        if self.printed {
            printer.out.text("\n")?;
        }
        let working = info.working.as_ref();
        let number = |revision: Option<sapwood_core::Revnum>| revision.map(|r| r.to_string());
        let value = match self.word {
            "kind" => Some(match (info.kind, info.is_missing) {
                (Some(kind), _) => kind.word().to_owned(),
                (None, true) => "none".to_owned(),
                (None, false) => "unknown".to_owned(),
            }),
            "url" => info.url.clone().map(UrlBuf::into_string),
            "relative-url" => relative_url(info),
            "repos-root-url" => info.root_url.clone().map(UrlBuf::into_string),
            "repos-uuid" => info.uuid.clone(),
            "repos-size" => match (info.kind, info.size) {
                (Some(NodeKind::File), Some(size)) => Some(printer.size(size)),
                (Some(NodeKind::File), None) if !self.several => return Err(no_size(&shown)),
                _ => {
                    self.printed = false;
                    return Ok(());
                }
            },
            "revision" => number(info.revision),
            "last-changed-revision" => number(info.changed_revision),
            "last-changed-date" => {
                info.changed_date.filter(|at| at.0 != 0).map(|at| at.to_string())
            }
            "last-changed-author" => info.changed_author.clone(),
            "wc-root" => working.map(|w| w.root.clone()),
            "schedule" => working.map(|w| w.schedule.word().to_owned()),
            "depth" => working
                .filter(|_| info.kind == Some(NodeKind::Dir))
                .and_then(|w| w.depth)
                .map(|depth| depth.word().to_owned()),
            "wc-format" => working.map(|w| w.settings.format.to_string()),
            "wc-compatible-version" => working.map(|w| compatible_with(w.settings)),
            "store-pristine" => working.map(|w| yes_or_no(w.settings.store_pristine)),
            _ => working.and_then(|w| w.changelist.clone()),
        };
        let value = value.unwrap_or_default();
        printer.out.text(&match self.several {
            true => format!("{value:<10} {shown}"),
            false => value,
        })?;
        self.printed = true;
        Ok(())
    }
}

fn no_size(shown: &str) -> SvnError {
    let message = format!("can't show in-repository size of working copy file '{shown}'");
    SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message)
}
