//! `sapwood store sweep`: what writers left that were stopped, and what others have the place of.

use std::sync::Arc;
use std::time::Duration;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_objects::{ListedObject, Store};
use sapwood_repo_log::find_orphans;

use super::{DRY_RUN, OLDER_THAN};
use crate::command::{Options, name};
use crate::output::Output;

/// Days that an object is left alone, unless the user says otherwise.
const DAYS: u64 = 7;
/// Seconds of a day.
const DAY: u64 = 86_400;
/// The most days that make sense: a hundred years.
const MOST_DAYS: u64 = 36_525;

/// Looks for what nothing needs and removes it; what is printed in the end.
pub(super) fn sweep(
    store: &Arc<dyn Store>,
    options: &Options,
    out: &mut Output,
) -> SvnResult<String> {
    let age = match options.value(OLDER_THAN.name())? {
        Some(text) => days(&text)?,
        None => Duration::from_secs(DAYS * DAY),
    };
    let (dry, quiet) = (options.has(DRY_RUN.name()), options.has(name::QUIET));
    let found = find_orphans(store, age)?;
    let mut print = |listed: &ListedObject| -> SvnResult<()> {
        if !quiet {
            out.text(&format!("{} {}\n", listed.key, listed.len))?;
        }
        Ok(())
    };
    if dry {
        found.all().try_for_each(&mut print)?;
    } else {
        found
            .remove(&**store, &mut |listed| print(listed).map_err(StopReason::Output))
            .map_err(SvnError::from)?;
    }
    let address = sapwood_objects::Blobs::address(&**store);
    let done = if dry { "would be removed" } else { "were removed" };
    let (count, bytes) = (found.count(), found.bytes());
    let (objects, young) = (found.objects, found.young);
    Ok(format!(
        "{address}: {count} of {objects} objects with {bytes} bytes {done}; {young} are too young to be looked at\n"
    ))
}

/// Why it ended early.
enum StopReason {
    /// The repository or its store.
    Log(sapwood_repo_log::Error),
    /// What was to be printed.
    Output(SvnError),
}

impl From<sapwood_repo_log::Error> for StopReason {
    fn from(error: sapwood_repo_log::Error) -> Self {
        Self::Log(error)
    }
}

impl From<StopReason> for SvnError {
    fn from(stopped: StopReason) -> Self {
        match stopped {
            StopReason::Log(error) => error.into(),
            StopReason::Output(error) => error,
        }
    }
}

/// An age in whole days: at least one, as writers may be at work.
fn days(text: &str) -> SvnResult<Duration> {
    let days: Option<u64> = text.parse().ok().filter(|days| (1..=MOST_DAYS).contains(days));
    let days = days.ok_or_else(|| {
        let message = format!("'{text}' is no number of days from 1 to {MOST_DAYS}");
        SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, message)
    })?;
    Ok(Duration::from_secs(days * DAY))
}
