//! Identifiers: pairs of a change set and a number.
//!
//! Node-revisions, nodes and copies each have such an identifier. In a revision the number of a node-revision's
//! identifier is that of its item. When a transaction is committed, its change set is replaced by that of the new revision;
//! numbers stay.

use std::fmt;

use sapwood_core::Revnum;
use sapwood_fsfs_format::base36::{self, Base36};

use crate::error::{Error, Result};

/// Where something was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeSet {
    /// Nowhere: there is no such thing.
    None,
    /// In a revision.
    Revision(Revnum),
    /// In a transaction, by its number.
    Txn(u64),
}

impl ChangeSet {
    /// The number on disk: a revision, -1 for none, or -2 minus a transaction's number. `None` for revisions above 2^63.
    #[must_use]
    pub(crate) fn to_disk(self) -> Option<i64> {
        match self {
            Self::None => Some(-1),
            Self::Revision(revision) => i64::try_from(revision.0).ok(),
            Self::Txn(number) => i64::try_from(number).ok()?.checked_neg()?.checked_sub(2),
        }
    }

    /// The inverse of [`ChangeSet::to_disk`].
    #[must_use]
    pub(crate) const fn from_disk(value: i64) -> Self {
        match value {
            -1 => Self::None,
            0.. => Self::Revision(Revnum(value.unsigned_abs())),
            // -2 - T is !T - 1, so T is !(value + 1).
            _ => Self::Txn((!(value + 1)).unsigned_abs()),
        }
    }

    /// The revision; `None` in transactions.
    #[must_use]
    pub const fn revision(self) -> Option<Revnum> {
        match self {
            Self::Revision(revision) => Some(revision),
            Self::None | Self::Txn(_) => None,
        }
    }
}

/// An identifier. `Display` is the form in revision files: `5+l` is number 5 of revision 21, `2-3` number 2 of
/// transaction 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Where it was made.
    pub change_set: ChangeSet,
    /// Its number there.
    pub number: u64,
}

impl Id {
    /// The root directory as a node, and the copy identifier of what was never copied.
    pub const ROOT: Self = Self { change_set: ChangeSet::Revision(Revnum::ZERO), number: 0 };

    /// Parses the form in revision files.
    ///
    /// # Errors
    /// E160004 for anything else.
    pub fn parse(text: &[u8]) -> Result<Self> {
        Self::try_parse(text).ok_or_else(|| {
            Error::corrupt(format!("Malformed node revision ID '{}'", text.escape_ascii()))
        })
    }

    fn try_parse(text: &[u8]) -> Option<Self> {
        let (number, len) = base36::take(text)?;
        let (sign, digits) = text.get(len..)?.split_first()?;
        let size = i64::try_from(base36::parse(digits)?).ok()?;
        let change_set = match sign {
            b'+' => ChangeSet::from_disk(size),
            b'-' => ChangeSet::from_disk(size.checked_neg()?),
            _ => return None,
        };
        Some(Self { change_set, number })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, size) = match self.change_set {
            ChangeSet::Revision(revision) => ('+', revision.0),
            ChangeSet::None => ('-', 1),
            ChangeSet::Txn(number) => ('-', number.checked_add(2).ok_or(fmt::Error)?),
        };
        write!(f, "{}{sign}{}", Base36(self.number), Base36(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_on_disk() {
        let of = |change_set, number| Id { change_set, number };
        for (id, text) in [
            (of(ChangeSet::Revision(Revnum(21)), 5), "5+l"),
            (of(ChangeSet::Txn(1), 2), "2-3"),
            (of(ChangeSet::None, 0), "0-1"),
            (Id::ROOT, "0+0"),
        ] {
            assert_eq!(id.to_string(), text);
            assert_eq!(Id::parse(text.as_bytes()), Ok(id));
            let disk = id.change_set.to_disk().unwrap();
            assert_eq!(ChangeSet::from_disk(disk), id.change_set);
        }
        assert_eq!(ChangeSet::from_disk(i64::MIN), ChangeSet::Txn(i64::MAX.unsigned_abs() - 1));
        for wrong in ["", "5", "5+", "+l", "5*l", "5+L", "5+l ", "0+zzzzzzzzzzzzz"] {
            assert!(Id::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
