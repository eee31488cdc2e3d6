//! The locks on a path and below it: which files are locked, by whom, since when, why.
//!
//! Invariants: a lock shows where its path may be read; its token, by which it could be broken, never does: the form that breaks it
//! has a code of the server instead.

use maud::{Markup, html};
use sapwood_core::date::Timestamp;
use sapwood_core::{FsPath, Lock};

use crate::Request;
use crate::budget;
use crate::fault::Result;
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::view::FoundNode;
use crate::{text, times, words};

/// Who may break locks.
pub trait Breaks: std::fmt::Debug {
    /// The code of the form that breaks a lock; `None` where the visitor may not.
    fn code(&self, lock: &Lock) -> Option<String>;
}

/// Characters of the reason of a lock.
const REASON: usize = 500;

/// The locks that a page shows.
#[derive(Debug)]
pub(crate) struct Locks {
    pub(crate) found: FoundNode,
    pub(crate) locks: Vec<Lock>,
    /// Whether there are more.
    pub(crate) are_more: bool,
}

impl Locks {
    pub(crate) fn read(request: &Request<'_>) -> Result<Self> {
        // A lock is on what is there now.
        let found = request.view.find(request.address.path(), None, None)?;
        let mut locks = request.view.locks(&found.path)?;
        let are_more = locks.len() > budget::ENTRIES;
        locks.truncate(budget::ENTRIES);
        Ok(Self { found, locks, are_more })
    }
}

/// Why a path is locked.
pub(crate) fn reason(lock: &Lock) -> String {
    text::cut(text::shown(lock.comment.as_deref().unwrap_or("")).into_owned(), REASON).0
}

/// When it was locked, as Subversion writes dates.
pub(crate) fn since(lock: &Lock) -> String {
    Timestamp(lock.created).to_string()
}

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let Locks { found, locks, are_more } = Locks::read(request)?;
    let body = html! {
        h1 { (words::LOCKS) }
        @if locks.is_empty() { (layout::note(words::NO_LOCKS)) }
        @else { (table(request, &found, &locks)) }
        @if are_more { (layout::note(words::MORE_LOCKS)) }
    };
    let reply = layout::reply(request, words::LOCKS, Tab::Locks, &Subject::of(&found), &body);
    // It may have codes of forms.
    Ok(reply.with("cache-control", "no-store"))
}

fn table(request: &Request<'_>, found: &FoundNode, locks: &[Lock]) -> Markup {
    html! {
        div.wide { table.list {
            thead { tr {
                th { (words::NAME) } th { (words::REASON) } th.owner { (words::LOCKED) }
                th.age { (words::SINCE) } th {}
            } }
            tbody { @for lock in locks {
                tr {
                    td.name { (path(request, &lock.path)) }
                    td.msg { bdi { (reason(lock)) } }
                    td.owner { (layout::author(Some(&lock.owner))) }
                    td.age { (times::ago(Some(&since(lock)), request.now)) }
                    td.act { (form(request, found, lock)) }
                }
            } }
        } }
    }
}

fn path(request: &Request<'_>, path: &FsPath) -> Markup {
    html! { a href=(request.links.tree(path, None)) { bdi { (text::shown(path.as_str())) } } }
}

/// The form that breaks a lock. It opens first: one click breaks nothing.
fn form(request: &Request<'_>, found: &FoundNode, lock: &Lock) -> Markup {
    let Some(code) = request.breaker.and_then(|breaker| breaker.code(lock)) else {
        return html! {};
    };
    html! {
        details {
            summary { (words::BREAK_LOCK) }
            form method="post" action=(request.links.of_locks(&found.path)) {
                input type="hidden" name="path" value=(lock.path);
                input type="hidden" name="code" value=(code);
                p { (words::BREAK_LOCK_SURE) }
                button { (words::BREAK_LOCK) }
            }
        }
    }
}
