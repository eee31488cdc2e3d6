//! Which layer the properties of an old working copy belong to.
//!
//! | files | the top layer gets | the one below |
//! | --- | --- | --- |
//! | base only, one layer | base | |
//! | base only, two layers | nothing | base |
//! | base and revert | base | revert |
//!
//! Local properties are local ones, if they differ from the base.

use std::path::Path;

use super::entry::corrupt;
use super::read::{LAST_WITHOUT_REVERT, Props};
use crate::db::{NodeRow, Presence, write_props};
use crate::error::Result;

/// Gives the rows of a node, the highest first, their properties. Which rows have changed is no matter:
/// `rows` are to be written. Returns the local properties, if there are any.
///
/// # Errors
/// E155016 for what 1.4 left without the properties from before a replacement, and where they are
/// there without one.
pub(super) fn apply(
    rows: &mut [NodeRow],
    props: &Props,
    format: i64,
    shown: &Path,
) -> Result<Option<Vec<u8>>> {
    let shown = shown.display();
    let absent = Presence::NotPresent;
    let below = match rows {
        [_, second, ..] if second.presence != absent => Some(1),
        [_, _, _, ..] => Some(2),
        _ => None,
    };
    let insufficient = || corrupt(format!("Insufficient NODES rows for '{shown}'"));
    let top_is_there = rows.first().ok_or_else(insufficient)?.presence == Presence::Normal;
    let below_is_there =
        below.and_then(|at| rows.get(at)).is_some_and(|row| row.presence != absent);
    if format > LAST_WITHOUT_REVERT && props.revert.is_none() && top_is_there && below_is_there {
        return Err(corrupt(format!(
            "The properties of '{shown}' are in an indeterminate state and cannot be upgraded. See \
             issue #2530."
        )));
    }
    if below.is_none() && props.revert.is_some() {
        return Err(insufficient());
    }
    let base = props.base.as_ref().map(write_props);
    if let Some(top) = rows.first_mut().filter(|_| props.revert.is_some() || below.is_none()) {
        top.properties.clone_from(&base);
    }
    if let Some(row) = below.and_then(|at| rows.get_mut(at)) {
        row.properties = props.revert.as_ref().map_or(base, |revert| Some(write_props(revert)));
    }
    let working = props.working.as_ref().filter(|working| props.base.as_ref() != Some(*working));
    Ok(working.map(write_props))
}
