//! Between the two forms of a file: *normal form*, which the repository and the pristine store
//! keep, and *working form*, which the user edits.
//!
//! The difference between the two forms is set by properties: `svn:eol-style` ([`Eol`],
//! [`EolStyle`]), `svn:keywords` ([`Keywords`]) and `svn:special` ([`special`]). [`Translation`]
//! holds what a file's properties ask for; [`Translator`] translates a stream, in either direction,
//! with a small constant amount of memory; [`same_as_pristine`] checks whether a working file is
//! modified.
//!
//! Invariant: translating a text in normal form to working form and back gives the text again
//! (except where dollar signs and keywords overlap, which 1.14 resolves in the same way).

mod eol;
mod keyword;
mod keywords;
mod modified;
pub mod special;
mod stream;

pub use eol::{Eol, EolStyle};
pub use keywords::{KeywordSource, Keywords};
pub(crate) use modified::has_sum;
pub use modified::{same_as_pristine, same_bytes};
pub(crate) use stream::inconsistent_file;
pub use stream::{TranslatedReader, TranslatedWriter, Translator};

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

/// Name of the property that sets line endings.
pub(crate) const PROP_EOL_STYLE: &str = "svn:eol-style";
/// Name of the property that lists keywords.
const PROP_KEYWORDS: &str = "svn:keywords";
/// Name of the property that marks special files.
const PROP_SPECIAL: &str = "svn:special";

/// Which way a text is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From working form to normal form, for a commit or a comparison.
    ToNormal,
    /// From normal form to working form, for a checkout or a revert.
    ToWorking,
}

/// What the properties of a file ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Line endings.
    pub eol: EolStyle,
    /// Keywords and their values; `None` where there are none. Values matter only for
    /// [`Direction::ToWorking`].
    pub keywords: Option<Arc<Keywords>>,
    /// Whether the file is a special one, such as a symbolic link.
    pub special: bool,
}

impl Translation {
    /// What `props` ask for. Without `source`, keywords have empty values, which serves for
    /// [`Direction::ToNormal`].
    #[must_use]
    pub fn of(props: &PropList, source: Option<&KeywordSource<'_>>) -> Self {
        let keywords = props.get(PROP_KEYWORDS).filter(|v| !v.is_empty()).and_then(|list| {
            let built = match source {
                Some(source) => Keywords::build(list, source),
                None => Keywords::names(list),
            };
            (!built.is_empty()).then(|| Arc::new(built))
        });
        Self {
            eol: EolStyle::parse(props.get(PROP_EOL_STYLE)),
            keywords,
            special: props.get(PROP_SPECIAL).is_some(),
        }
    }

    /// Reads the working file at `path` in normal form; with `repair`, whatever line ends it has.
    ///
    /// # Errors
    /// When it cannot be read; `E135001` for an unknown `svn:eol-style`.
    pub fn normal_form(&self, path: &Path, repair: bool) -> SvnResult<Box<dyn Read>> {
        let failed = |error: std::io::Error| {
            SvnError::io(&error, format_args!("Can't open file '{}'", path.display()))
        };
        if self.special {
            return special::read_normal(path).map_err(failed);
        }
        let file = File::open(path).map_err(failed)?;
        if !self.is_needed() {
            return Ok(Box::new(file));
        }
        let translator = self.translator(Direction::ToNormal, repair)?;
        Ok(Box::new(TranslatedReader::new(file, translator)))
    }

    /// Whether the two forms may differ, or the text has to be looked at to know.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.special || self.keywords.is_some() || self.eol != EolStyle::None
    }

    /// Whether the working form differs from the normal form of a text that is in normal form.
    /// On this system native line endings are those of the normal form.
    #[must_use]
    pub fn changes_normal_form(&self) -> bool {
        self.special
            || self.keywords.is_some()
            || matches!(self.eol, EolStyle::Fixed(Eol::Cr | Eol::CrLf))
    }

    /// The translator for one direction. Special files are not for it, see [`special`].
    ///
    /// To normal form, mixed line endings are an error where the style is `native`, unless
    /// `repair` says that they are made equal; all other cases make them equal.
    ///
    /// # Errors
    /// `E135001` for a line ending style that is not known, to normal form.
    pub fn translator(&self, direction: Direction, repair: bool) -> SvnResult<Translator> {
        let (eol, repair) = match (direction, self.eol) {
            (_, EolStyle::None) | (Direction::ToWorking, EolStyle::Unknown) => (None, true),
            (Direction::ToNormal, EolStyle::Native) => (Some(Eol::Lf), repair),
            (Direction::ToWorking, EolStyle::Native) => (Some(Eol::NATIVE), true),
            (_, EolStyle::Fixed(eol)) => (Some(eol), true),
            (Direction::ToNormal, EolStyle::Unknown) => {
                return Err(SvnError::new(ErrorCode::IO_UNKNOWN_EOL, ""));
            }
        };
        let expand = direction == Direction::ToWorking;
        Ok(Translator::new(eol, repair, self.keywords.clone(), expand))
    }

    /// The translator for an export, from either form: keywords get their values, or with `expand`
    /// unset lose them; mixed line ends are an error unless `repair` is set.
    #[must_use]
    pub fn exporter(&self, repair: bool, expand: bool) -> Translator {
        let eol = match self.eol {
            EolStyle::None | EolStyle::Unknown => None,
            EolStyle::Native => Some(Eol::NATIVE),
            EolStyle::Fixed(eol) => Some(eol),
        };
        Translator::new(eol, repair, self.keywords.clone(), expand)
    }
}
