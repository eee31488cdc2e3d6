//! The repositories in a folder above them, as far as their visitor may read their roots: a page for people, the list that other
//! programs know, and values as JSON.
//!
//! Invariants: a repository that may not be read is not there: neither its name is shown, nor that it was passed over. A page opens the
//! repositories that are on it, and those that are hidden between them; one more shows whether there are more.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::exact::signed;
use sapwood_core::{FsPath, uri};
use sapwood_repos::Repository;
use sapwood_web::repositories::{ListQuery, Listed, PAGE, RepositoryList, VALUES, last_change};
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
        let shown = names.iter().filter(|name| readable.open(name).is_some());
        let items: Vec<String> = shown.map(|name| format!("{name}/")).collect();
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
    let (shown, are_more) = first_of(query.of(&names), PAGE, |name| readable.open(name));
    let has_pages = readable.location.is_none_or(|location| location.web);
    let row = |(name, (repository, access)): (&String, (Repository, UserAccess<'_>))| {
        let url = format!("{above}{}/", uri::encode(name));
        let rules = EachPath(&access);
        let view = View::new(&repository, &rules, &readable.shared.server.cancel);
        // What is wrong with one repository hides no other.
        let change = last_change(&view).ok();
        let links = Links::new(url.trim_end_matches('/'), Prefix::Reserved);
        let page = change.as_ref().filter(|_| has_pages);
        let page = page.map(|change| links.of_revision(change.revision));
        Listed { name: name.clone(), url, change, page }
    };
    let name = readable.location.and_then(|location| location.name.clone());
    let title = name.unwrap_or_else(|| words::REPOSITORIES.to_owned());
    Ok(RepositoryList { title, query, rows: shown.into_iter().map(row).collect(), are_more })
}

/// The first `most` names for which `open` finds something, with that; and whether there is one more.
fn first_of<'a, T>(
    names: impl Iterator<Item = &'a String>,
    most: usize,
    open: impl Fn(&str) -> Option<T>,
) -> (Vec<(&'a String, T)>, bool) {
    let mut found = names.filter_map(|name| Some((name, open(name)?)));
    let shown = found.by_ref().take(most).collect();
    let are_more = found.next().is_some();
    (shown, are_more)
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
    use std::cell::Cell;

    use super::*;

    /// A page of 10,000 repositories opens those that it shows, one more, and the hidden ones between them.
    #[test]
    fn a_page_costs_what_it_shows() {
        let count = |all: usize| {
            let names: Vec<String> = (0..all).map(|n| format!("r{n:05}")).collect();
            let opened = Cell::new(0);
            let open = |name: &str| {
                opened.set(opened.get() + 1);
                (name != "r00007").then_some(())
            };
            let (shown, are_more) = first_of(names.iter(), PAGE, open);
            assert!(
                are_more && shown.len() == PAGE && shown.iter().all(|(name, ())| *name != "r00007")
            );
            opened.get()
        };
        assert_eq!((count(2_500), count(10_000)), (102, 102));
        let few = ["a".to_owned(), "b".to_owned()];
        let (shown, are_more) = first_of(few.iter(), 2, |_| Some(()));
        assert!(shown.len() == 2 && !are_more);
        // That there is a hidden one behind them is not said.
        let (shown, are_more) = first_of(few.iter(), 1, |name| (name == "a").then_some(()));
        assert!(shown.len() == 1 && !are_more);
    }
}
