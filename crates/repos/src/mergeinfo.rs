//! Mergeinfo of paths: explicit, inherited, and of everything below.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::{Revnum, SvnResult};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// Where mergeinfo may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// From the path itself only.
    Explicit,
    /// From the path itself, or else the nearest parent that has any.
    Inherited,
    /// From the nearest parent that has any, not from the path itself.
    NearestAncestor,
}

impl Inherit {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Inherited => "inherited",
            Self::NearestAncestor => "nearest-ancestor",
        }
    }

    /// The inverse of [`Inherit::word`].
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        match word {
            b"explicit" => Some(Self::Explicit),
            b"inherited" => Some(Self::Inherited),
            b"nearest-ancestor" => Some(Self::NearestAncestor),
            _ => None,
        }
    }
}

/// Tells `receiver` the mergeinfo of each of `paths` (fspaths) in `revision` (`None`: youngest),
/// and of what is below them with `include_descendants`. Paths without mergeinfo are not told.
///
/// # Errors
/// E160013 for paths that do not exist; what the receiver returns; corruption and system errors.
#[allow(unused_variables)]
pub fn mergeinfo_catalog(
    repository: &Repository,
    paths: &[&str],
    revision: Option<Revnum>,
    inherit: Inherit,
    include_descendants: bool,
    authorizer: &dyn PathAuthorizer,
    receiver: &mut dyn FnMut(&str, &Mergeinfo) -> SvnResult<()>,
) -> Result<()> {
    todo!()
}
