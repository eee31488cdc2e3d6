//! The page that says how a server is. The server decides who may ask for it.

use maud::{Markup, html};

use crate::reply::Reply;
use crate::site::{self, Visitor};
use crate::{text, times, words};

/// A repository. Times are as `svn:date` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryRow {
    /// The path of its URL.
    pub name: String,
    /// The youngest revision and its date; `None` when it cannot be read.
    pub youngest: Option<(u64, Option<String>)>,
    /// Up to which revision its backup was verified, and when.
    pub backup: Option<(u64, String)>,
}

/// How a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// Seconds since 1970 of its start.
    pub started: i64,
    /// Counts with their names, in groups.
    pub groups: Vec<(&'static str, Vec<(String, String)>)>,
    /// What wants a look.
    pub warnings: Vec<String>,
    /// The repositories that are named.
    pub repositories: Vec<RepositoryRow>,
    /// How many more there are.
    pub unnamed: usize,
    /// Whether there are backups.
    pub has_backups: bool,
}

/// A time since, in words.
fn since(seconds: i64) -> String {
    times::rounded_age(seconds).map_or(words::NOW.to_owned(), |(n, unit)| format!("{n} {unit}"))
}

/// The page for a visitor; `now` is seconds since 1970.
#[must_use]
pub fn page(status: &Status, visitor: &Visitor, now: i64) -> Reply {
    let body = html! {
        p { (words::VERSION) " " b { (status.version) } ", " (words::UP_FOR) " " b { (since(now.saturating_sub(status.started))) } }
        @for warning in &status.warnings { p.note role="alert" { (text::shown(warning)) } }
        (repositories(status, now))
        @for (title, rows) in &status.groups {
            h2 { (title) }
            table.list { tbody { @for (name, value) in rows {
                tr { td { (text::shown(name)) } td { (text::shown(value)) } }
            } } }
        }
    };
    site::page(200, words::STATUS, visitor, &body)
}

fn repositories(status: &Status, now: i64) -> Markup {
    html! {
        h2 { (words::REPOSITORIES) }
        div.wide { table.list {
            thead { tr {
                th { (words::NAME) } th { (words::REVISION) } th { (words::LAST_CHANGE) }
                @if status.has_backups { th { (words::BACKUP) } }
            } }
            tbody { @for row in &status.repositories { tr {
                td.name { bdi { (text::shown(&row.name)) } }
                @match &row.youngest {
                    Some((revision, date)) => {
                        td { "r" (revision) } td { (times::ago(date.as_deref(), now)) }
                    },
                    None => { td colspan="2" { strong { (words::NOT_READABLE) } } },
                }
                @if status.has_backups { td { @match &row.backup {
                    Some((revision, date)) => { "r" (revision) ", " (times::ago(Some(date), now)) },
                    None => { strong { (words::NO_BACKUP) } },
                } } }
            } } }
        } }
        @if status.unnamed > 0 { p.dim { (words::more_repositories(status.unnamed)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_and_what_has_no_backup_is_said() {
        let date = "2026-11-27T05:00:00.000000Z".to_owned();
        let now = times::seconds("2026-11-27T07:00:00.000000Z").unwrap();
        let row = |name: &str, youngest, backup| RepositoryRow {
            name: name.to_owned(),
            youngest,
            backup,
        };
        let status = Status {
            version: "1".to_owned(),
            started: now - 7_300,
            groups: vec![(words::LIMITS, vec![("logins".to_owned(), "3".to_owned())])],
            warnings: vec!["<oh>".to_owned()],
            repositories: vec![
                row("a<b", Some((7, Some(date.clone()))), Some((6, date))),
                row("broken", None, None),
            ],
            unnamed: 2,
            has_backups: true,
        };
        let body = page(&status, &Visitor::default(), now).body;
        for part in [
            "2 hours",
            "a&lt;b",
            "r7",
            "r6, ",
            "2 hours ago",
            words::NOT_READABLE,
            words::NO_BACKUP,
            "&lt;oh&gt;",
            "logins",
            "2 more",
        ] {
            assert!(body.contains(part), "{part}: {body}");
        }
        let none = page(&Status { has_backups: false, ..status }, &Visitor::default(), now).body;
        assert!(!none.contains(words::NO_BACKUP) && !none.contains("r6"));
    }
}
