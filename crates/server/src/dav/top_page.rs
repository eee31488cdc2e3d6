//! The page at the top of a server that serves locations only: those that its visitor may look
//! into.
//!
//! Invariant: a location is listed only if it would be shown to the same visitor without a password. Passwords
//! belong to locations, and browsers do not send them above those, so passwords are neither requested nor checked
//! here.

use maud::html;
use sapwood_core::{FsPath, uri};

use super::authenticate::{self, may_come_in};
use super::browse;
use super::error_page;
use super::exchange::Exchange;
use super::head::Head;
use super::lookup::{self, LookupResult};
use super::repository_list;
use super::settings::Location;
use super::state::HttpState;
use crate::common::access::{Action, UserAccess};
use crate::common::config::Blanket;
use crate::common::users::Users;

/// Writes the page, if the request is a browser's for the top, and there is anything to name.
pub(super) fn write(shared: &HttpState, head: &Head, exchange: &mut Exchange) -> bool {
    if head.path != "/" || !error_page::is_wanted(head) {
        return false;
    }
    let all = &shared.settings.locations;
    let shown: Vec<&Location> = all.iter().filter(|one| is_shown(shared, head, one)).collect();
    if shown.is_empty() {
        return false;
    }
    let name = |one: &Location| one.name.clone().unwrap_or_else(|| one.prefix.clone());
    let body = html! {
        h1 { "Repositories" }
        ul { @for one in shown { li { a href={ "/" (uri::encode(&one.prefix)) "/" } { (name(one)) } } } }
    };
    browse::send(exchange, browse::page("Repositories", &body));
    true
}

/// Whether a location would show something to the visitor.
fn is_shown(shared: &HttpState, head: &Head, location: &Location) -> bool {
    let user = match location.access.as_deref() {
        Some(access) => match authenticate::user(shared, head, access, &Users::default()) {
            Ok(user) if may_come_in(access, user.as_ref(), Blanket::Read) => user,
            _ => return false,
        },
        None => None,
    };
    let path = format!("/{}", uri::encode(&location.prefix));
    match lookup::find(shared, &path) {
        Ok(Some(LookupResult::Repository(place))) => {
            let Ok(place) = place.open(shared, &mut |_| {}) else { return false };
            let found = place.found;
            let (name, rules_name) = (&found.name, &found.authz_name);
            let mut access =
                UserAccess::new(&shared.server, None, name, rules_name, found.authz, found.config);
            access.set_user(user);
            access.may(Action::Read, Some(FsPath::ROOT), false)
        }
        Ok(Some(LookupResult::Folder(folder))) => {
            location.list && repository_list::has_any(shared, &folder, user.as_ref())
        }
        _ => false,
    }
}
