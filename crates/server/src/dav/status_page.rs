//! `/-/status`: how the server is, for the members that the configuration names. The values are those of the monitor's page.
//!
//! Invariants: for one who is no member it is not there: the address is that of whatever else is served at it, also with a token, for
//! tokens are for repositories. Nothing is read before that is known.

use sapwood_web::site::{STATUS, Visitor};

use super::authenticate::{self, Asks, may_come_in};
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::state::HttpState;
use super::web_reply;
use crate::common::config::{AccessConfig, Blanket};
use crate::common::principal::Principal;
use crate::common::users::Users;

/// The realm in which passwords are asked for.
const REALM: &str = "Sapwood";

/// Answers a request for the page; `None` if it is for another one, or there is no such page for who asks.
pub(super) fn answer(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
) -> Option<Result<(), (Fail, Asks)>> {
    let is_for_page = head.path == STATUS && head.looks() && !head.is_svn_client();
    let access = shared.settings.status_access.as_deref().filter(|_| is_for_page)?;
    match member(shared, head, access) {
        Ok(user) => {
            show(shared, exchange, user?);
            Some(Ok(()))
        }
        Err(fail) => Some(Err((fail, Asks::of(Some(access), REALM)))),
    }
}

/// Who asks, if that is a member.
fn member(shared: &HttpState, head: &Head, access: &AccessConfig) -> DavResult<Option<Principal>> {
    let users = Users::of(&shared.server.files, access, None)?;
    let user = authenticate::user(shared, head, access, &users)?.ok_or(Fail::AskWho)?;
    let is_member = may_come_in(access, Some(&user), Blanket::Read) && !user.has_token();
    Ok(is_member.then_some(user))
}

fn show(shared: &HttpState, exchange: &mut Exchange, user: Principal) {
    let visitor = Visitor {
        user: Some(user.name().to_owned()),
        can_sign_out: user.has_signed_in(),
        ..Visitor::default()
    };
    exchange.user = Some(user);
    shared.status.read(&shared.server);
    web_reply::write(exchange, shared.status.page(&shared.server, &visitor));
}
