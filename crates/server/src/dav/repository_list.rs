//! The repositories in a folder above them, as far as their visitor may read their roots: a page for people, the list that other
//! programs know, and values as JSON.
//!
//! Invariants: a repository that may not be read is not there: neither its name is shown, nor that it was passed over. A page opens the
//! repositories that are on it, and those that are hidden between them; one more shows whether there are more. Some are opened at a time, for one in
//! a store waits for its answers; of each it is known whether the visitor may read it before anything else is asked of it.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::exact::{Exact as _, signed};
use sapwood_core::{FsPath, uri};
use sapwood_repos::Repository;
use sapwood_store::ordered::{self, Outlet};
use sapwood_web::repositories::{
    ListQuery, ListedRepository, PAGE, RepositoryList, VALUES, last_change,
};
use sapwood_web::site::Visitor;
use sapwood_web::{Links, Prefix, View, words};

use super::admission;
use super::authenticate::visitor;
use super::browse;
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::lookup::{InFolder, InNothing};
use super::pages::EachPath;
use super::settings::Location;
use super::state::HttpState;
use super::web_reply::{self, failed};
use crate::common::access::{Action, UserAccess};
use crate::common::config::AccessConfig;
use crate::common::lookup::describe;
use crate::common::principal::Principal;

/// How many repositories are opened at a time.
const AT_ONCE: usize = 8;

/// What the list is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListForm {
    /// For people, or as other programs know it.
    Page,
    /// As JSON.
    Values,
}

/// The path of the folder whose list is asked for as JSON, if it is.
pub(super) fn folder_of_values(head: &Head) -> Option<&str> {
    let folder = head.path.strip_suffix(VALUES)?;
    (folder.ends_with('/') && head.looks() && !head.is_svn_client()).then_some(folder)
}

/// Those that a user may read in a folder, by name.
struct Readable<'a> {
    shared: &'a HttpState,
    folder: &'a Path,
    start: &'a Path,
    location: Option<&'a Location>,
    user: Option<&'a Principal>,
}

impl<'a> Readable<'a> {
    /// The names in the folder, sorted. Nothing is opened for them.
    fn names(&self) -> Arc<[String]> {
        self.shared.server.names.of(self.folder)
    }

    /// The repository of a name with the user's rights, if there is one whose root the user may read.
    fn open(&self, name: &str) -> Option<(Repository, UserAccess<'a>)> {
        let place = self.folder.join(name);
        let settings = &self.shared.server.settings;
        let is_served =
            self.location.is_some() || settings.only.as_ref().is_none_or(|only| *only == place);
        if !is_served || Repository::find_root(&place).is_none_or(|found| found != place) {
            return None;
        }
        let access = self.location.and_then(|location| location.access.as_deref());
        let server = &self.shared.server;
        let found = describe(server, self.start, &place, access, &mut |_| {}).ok()?;
        let (name, rules_name) = (&found.name, &found.authz_name);
        let mut access = UserAccess::new(server, None, name, rules_name, found.authz, found.config);
        access.set_user(self.user.cloned());
        access.may(Action::Read, Some(FsPath::ROOT), false).then_some((found.repository, access))
    }
}

/// Whether there is a repository in a folder whose root a user may read.
pub(super) fn has_any(shared: &HttpState, place: &InFolder<'_>, user: Option<&Principal>) -> bool {
    let InFolder { folder, start, location, .. } = place;
    let readable = Readable { shared, folder, start, location: *location, user };
    readable.names().iter().any(|name| readable.open(name).is_some())
}

/// Answers a request for the list. A folder in which the visitor may read nothing looks like one that does not exist.
///
/// # Errors
/// Where the visitor may not see it, or has to log in; for an address that means nothing.
pub(super) fn answer(
    shared: &HttpState,
    head: &Head,
    place: &InFolder<'_>,
    form: ListForm,
    exchange: &mut Exchange,
) -> DavResult {
    let InFolder { folder, start, location, below } = place;
    let access = location.and_then(|location| location.access.as_deref());
    exchange.user = user_of(shared, head, access)?;
    let is_hidden = |user: Option<&Principal>, location: &Location| {
        location.access.is_some()
            && *folder != *start
            && (!location.list || !has_any(shared, place, user))
    };
    if let Some(location) = location.filter(|l| is_hidden(exchange.user.as_ref(), l)) {
        let nothing = InNothing { location, below: below.clone() };
        let visitor = |_: &_| Ok(exchange.user.clone());
        return Err(admission::of_nothing_for(shared, head, &nothing, &visitor));
    }
    if location.is_some_and(|location| !location.list) {
        return Err(Fail::Forbidden);
    }
    if !may_go_on(head, form, exchange)? {
        return Ok(());
    }
    let user = exchange.user.clone();
    let readable = Readable { shared, folder, start, location: *location, user: user.as_ref() };
    if form == ListForm::Page && location.is_some_and(|location| location.plain_pages) {
        let names = readable.names();
        let items = each_of(names.iter(), &|name| readable.open(name).map(|_| format!("{name}/")));
        browse::plain(exchange, "Collection of Repositories", false, &items, "");
        return Ok(());
    }
    let list = list(&readable, head, form)?;
    let reply = match form {
        ListForm::Page => list.page(&looks_as(shared, head, access, user.as_ref()), now()),
        ListForm::Values => list.values(),
    };
    web_reply::write(exchange, reply);
    Ok(())
}

/// The user who looks at it.
fn user_of(
    shared: &HttpState,
    head: &Head,
    access: Option<&AccessConfig>,
) -> DavResult<Option<Principal>> {
    access.map_or(Ok(None), |access| visitor(shared, head, access))
}

/// Whether the list is to be made: methods that do not look, and addresses without a slash, have other replies.
fn may_go_on(head: &Head, form: ListForm, exchange: &mut Exchange) -> DavResult<bool> {
    match head.method.as_str() {
        "GET" | "HEAD" => {}
        "OPTIONS" => {
            exchange.header("allow", "OPTIONS,GET,HEAD");
            return Ok(false);
        }
        _ => return Err(Fail::status(405, "The method is not allowed here")),
    }
    if form == ListForm::Page && !head.path.ends_with('/') {
        exchange.status(301);
        exchange.header("location", &head.absolute(&format!("{}/", head.path)));
        return Ok(false);
    }
    Ok(true)
}

/// The page of the list that is asked for.
fn list(readable: &Readable<'_>, head: &Head, form: ListForm) -> DavResult<RepositoryList> {
    let query = ListQuery::parse(head.query.as_deref()).map_err(failed)?;
    let above = match form {
        // Below the page's own address, so that it holds behind any proxy.
        ListForm::Page => "",
        ListForm::Values => head.path.strip_suffix(VALUES).unwrap_or(&head.path),
    };
    let names = readable.names();
    let has_pages = readable.location.is_none_or(|location| location.web);
    let row = |name: &str| {
        let (repository, access) = readable.open(name)?;
        let url = format!("{above}{}/", uri::encode(name));
        let rules = EachPath(&access);
        let view = View::new(&repository, &rules, &readable.shared.server.cancel);
        // What is wrong with one repository hides no other.
        let change = last_change(&view).ok();
        let links = Links::new(url.trim_end_matches('/'), Prefix::Reserved);
        let page = change.as_ref().filter(|_| has_pages);
        let page = page.map(|change| links.of_revision(change.revision));
        Some(ListedRepository { name: name.to_owned(), url, change, page })
    };
    let (rows, are_more) = first_of(query.of(&names), PAGE, &row);
    let name = readable.location.and_then(|location| location.name.clone());
    let title = name.unwrap_or_else(|| words::REPOSITORIES.to_owned());
    Ok(RepositoryList { title, query, rows, are_more })
}

/// What `open` finds of the first `most` names for which it finds something; and whether there is one more.
fn first_of<'a, T: Send>(
    mut names: impl Iterator<Item = &'a String>,
    most: usize,
    open: Open<'_, T>,
) -> (Vec<T>, bool) {
    let wanted = most.plus(1);
    let mut found = Vec::new();
    while found.len() < wanted {
        // No more than are wanted: some of them may be hidden.
        let some: Vec<&String> = names.by_ref().take(wanted.minus(found.len())).collect();
        if some.is_empty() {
            break;
        }
        found.extend(each_of(some.into_iter(), open));
    }
    let are_more = found.len() > most;
    found.truncate(most);
    (found, are_more)
}

/// What is made of the repository of a name, if the visitor may read it.
type Open<'a, T> = &'a (dyn Fn(&str) -> Option<T> + Sync);

/// What `open` finds of each name, in their order: some are opened at a time.
fn each_of<'a, T: Send>(names: impl Iterator<Item = &'a String>, open: Open<'_, T>) -> Vec<T> {
    let mut found = Vec::new();
    let work = |name: &String, to: &Outlet<'_, Option<T>>| to.send(open(name));
    let mut take = |one: Option<T>| {
        found.extend(one);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = ordered::run(names, AT_ONCE, &work, &mut take);
    found
}

/// How the page shows who looks at it.
fn looks_as(
    shared: &HttpState,
    head: &Head,
    access: Option<&AccessConfig>,
    user: Option<&Principal>,
) -> Visitor {
    let sign_in = shared.sign_in.as_ref().filter(|_| access.is_some_and(|access| access.sign_in));
    Visitor {
        user: user.map(|user| user.name().to_owned()),
        sign_in: sign_in.map(|sign_in| sign_in.link(&head.path, head.query.as_deref())),
        can_sign_out: user.is_some_and(Principal::has_signed_in),
        ..Visitor::default()
    }
}

fn now() -> i64 {
    signed(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A page of 10,000 repositories opens those that it shows, one more, and the hidden ones between them.
    #[test]
    fn a_page_costs_what_it_shows() {
        let count = |all: usize| {
            let names: Vec<String> = (0..all).map(|n| format!("r{n:05}")).collect();
            let opened = AtomicUsize::new(0);
            let open = |name: &str| {
                opened.fetch_add(1, Ordering::SeqCst);
                (name != "r00007").then(|| name.to_owned())
            };
            let (shown, are_more) = first_of(names.iter(), PAGE, &open);
            assert!(are_more && shown.len() == PAGE && shown.is_sorted());
            assert!(shown.iter().all(|name| name != "r00007"));
            opened.into_inner()
        };
        assert_eq!((count(2_500), count(10_000)), (102, 102));
        let few = ["a".to_owned(), "b".to_owned()];
        let (shown, are_more) = first_of(few.iter(), 2, &|_| Some(()));
        assert!(shown.len() == 2 && !are_more);
        // That there is a hidden one behind them is not said.
        let (shown, are_more) = first_of(few.iter(), 1, &|name| (name == "a").then_some(()));
        assert!(shown.len() == 1 && !are_more);
    }
    /// Each waits until all are begun: one after the other they would not end.
    #[test]
    fn repositories_are_opened_beside_each_other() {
        let names: Vec<String> = (0..AT_ONCE).map(|n| n.to_string()).collect();
        let begun = Barrier::new(AT_ONCE);
        let open = |name: &str| {
            begun.wait();
            Some(name.to_owned())
        };
        assert_eq!(each_of(names.iter(), &open), names);
    }
}
