//! `svnmucc`: several changes of URLs, committed as one revision. A [`Plan`] collects the changes and checks
//! them, [`commit`] drives an edit with it.

mod drive;
mod plan;
mod props;

use sapwood_core::paths::{RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};

pub use self::drive::commit;
pub use self::plan::{Plan, Source};

/// One change. All locations are canonical URLs.
#[derive(Debug)]
pub enum Action {
    /// A node goes to another location.
    Move {
        /// From there.
        from: UrlBuf,
        /// To here.
        to: UrlBuf,
    },
    /// A node is copied.
    Copy {
        /// From there.
        from: UrlBuf,
        /// As of this revision; `None` is the youngest.
        revision: Option<Revnum>,
        /// To here.
        to: UrlBuf,
    },
    /// A directory is made.
    Mkdir(UrlBuf),
    /// The node is deleted.
    Remove(UrlBuf),
    /// A file gets new contents, and is made if it is not there.
    Put {
        /// Where they come from.
        source: Box<dyn Source>,
        /// The file.
        url: UrlBuf,
    },
    /// A property is set, or without a value deleted.
    Property {
        /// Its name.
        name: String,
        /// Its value, in the form that such values have.
        value: Option<Vec<u8>>,
        /// The node.
        url: UrlBuf,
    },
}

fn parent(url: &Url) -> &Url {
    url.parent_and_name().map_or(url, |(parent, _)| parent)
}

/// The URL that all actions are at or below: sources of copies and nodes whose properties change may be
/// it themselves, all others are below it.
///
/// # Errors
/// E200004 for URLs that have nothing in common.
pub fn anchor(actions: &[Action]) -> SvnResult<Option<UrlBuf>> {
    let mut anchor: Option<&Url> = None;
    for action in actions {
        let urls: [Option<&Url>; 2] = match action {
            Action::Move { from, to } => [Some(parent(from)), Some(parent(to))],
            Action::Copy { from, to, .. } => [Some(from), Some(parent(to))],
            Action::Mkdir(url) | Action::Remove(url) | Action::Put { url, .. } => {
                [Some(parent(url)), None]
            }
            Action::Property { url, .. } => [Some(url), None],
        };
        for url in urls.into_iter().flatten() {
            anchor = Some(match anchor {
                None => url,
                Some(so_far) => so_far.common_ancestor(url).ok_or_else(|| {
                    SvnError::new(
                        ErrorCode::INCORRECT_PARAMS,
                        "URLs in the action list do not share a common ancestor",
                    )
                })?,
            });
        }
    }
    Ok(anchor.map(Url::to_owned))
}

impl Action {
    /// Enters the change into a plan; `relative` leads from the session's URL to another one.
    ///
    /// # Errors
    /// The reason why it cannot follow the earlier changes.
    pub fn enter(
        self,
        plan: &mut Plan<'_>,
        relative: &dyn Fn(&Url) -> SvnResult<RelPathBuf>,
    ) -> SvnResult<()> {
        match self {
            Self::Move { from, to } => plan.add_move(&relative(&from)?, &relative(&to)?),
            Self::Copy { from, revision, to } => {
                plan.copy(&relative(&from)?, revision, &relative(&to)?)
            }
            Self::Mkdir(url) => plan.mkdir(&relative(&url)?),
            Self::Remove(url) => plan.delete(&relative(&url)?, false),
            Self::Put { source, url } => plan.put(&relative(&url)?, source),
            Self::Property { name, value, url } => {
                plan.set_property(&relative(&url)?, &name, value)
            }
        }
    }
}
