//! How the server is, as a page for people: the same values as `/status` of the monitor has.

use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::exact::signed;
use sapwood_web::site::Visitor;
use sapwood_web::status::{self, RepositoryRow, Status};
use sapwood_web::{Reply, full_date, words};

use super::repositories::{Repositories, Youngest};
use crate::common::metrics::Summary;

/// Days before the end of a certificate from which on the page warns.
const SOON: i64 = 14;
/// Seconds after which what was read of repositories is not new.
const OLD: u64 = 10;
const DAY: i64 = 86_400;

/// What the page is made of.
pub(crate) struct Values<'v> {
    pub(crate) summary: &'v Summary,
    pub(crate) repositories: &'v Repositories,
    /// How many seconds ago these were read.
    pub(crate) age: u64,
    /// Seconds since 1970.
    pub(crate) certificate_end: Option<i64>,
    pub(crate) is_ending: bool,
}

/// The page for a visitor; `now` is seconds since 1970.
pub(crate) fn page(values: &Values<'_>, visitor: &Visitor, now: i64) -> Reply {
    let Values { summary, repositories, certificate_end, .. } = values;
    let counts = |list: &[(&'static str, u64)]| -> Vec<(String, String)> {
        list.iter().map(|(name, count)| ((*name).to_owned(), count.to_string())).collect()
    };
    let connections =
        summary.connections.iter().map(|(name, count)| ((*name).to_owned(), count.to_string()));
    let down =
        |is_down: bool| if is_down { format!(", {}", words::TARGET_DOWN) } else { String::new() };
    let messages = repositories
        .messages
        .iter()
        .map(|one| (one.target.clone(), format!("{}{}", one.revisions, down(one.is_down))));
    let mut others = vec![
        (words::COMMITS.to_owned(), summary.commits.to_string()),
        (words::FAILED_LOGINS.to_owned(), summary.failed_logins_last_hour.to_string()),
    ];
    if let Some(end) = certificate_end.and_then(|end| end.checked_mul(MICROS_PER_SEC)) {
        let date = full_date(&Timestamp(end).to_string());
        others.push((words::CERTIFICATE_END.to_owned(), date));
    }
    let groups = [
        (words::LIMITS, counts(&summary.limits)),
        (words::MESSAGES, messages.collect()),
        (words::CONNECTIONS, connections.collect()),
        (words::REQUESTS, counts(&summary.requests)),
        (words::ELSE, others),
    ];
    let status = Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: signed(summary.started),
        groups: groups.into_iter().filter(|(_, rows)| !rows.is_empty()).collect(),
        warnings: warnings(values, now),
        repositories: repositories.named.iter().map(row).collect(),
        unnamed: repositories.unnamed,
        has_backups: repositories.has_backups,
    };
    status::page(&status, visitor, now)
}

fn row(one: &Youngest) -> RepositoryRow {
    let verified = one.backup.as_ref().and_then(|backup| backup.verified.as_ref());
    RepositoryRow {
        name: one.name.clone(),
        youngest: one.revision.map(|(rev, date)| (rev.0, date.map(|date| date.to_string()))),
        backup: verified.map(|found| (found.revision.0, found.time.to_string())),
    }
}

/// What wants a look.
fn warnings(values: &Values<'_>, now: i64) -> Vec<String> {
    let mut found = Vec::new();
    if values.is_ending {
        found.push(words::IS_ENDING.to_owned());
    }
    if !values.summary.last_reload_successful {
        found.push(words::RELOAD_FAILED.to_owned());
    }
    if values.age > OLD {
        found.push(words::DISK_SLOW.to_owned());
    }
    let days = values.certificate_end.and_then(|end| Some(end.checked_sub(now)?.div_euclid(DAY)));
    if let Some(days) = days.filter(|days| *days < SOON) {
        found.push(words::certificate_ends_in(days));
    }
    found
}
