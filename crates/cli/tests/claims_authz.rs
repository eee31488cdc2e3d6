//! Random rules about groups: where the claims of a provider of OpenID Connect say who is in a group, each page and each
//! answer in JSON is the one that it is where the rules file itself says so. (`SAPWOOD_LONG=1` for 3,000 requests.)

use std::collections::HashMap;
use std::fs;

use sapwood_core::rng::Rng;
use serde_json::json;

use crate::common::places::Served;
use crate::common::probes::{self, MEMBERS, Probe};
use crate::common::provider::{self, Browser, Makes, TestProvider};

/// The users under the names that they have after signing in, with the passwords `secret of ada` and so on.
const USERS: &str = "ada@idp:{SHA}O3SKqHMCfR/aK2yVAjm6A7PODFo=\nbob@idp:{SHA}dav9w3vfRt0uEkPauYFSic3zLxY=\n\
     eve@idp:{SHA}xkAW0DT+/NEmPjZHIJwM16XWYoU=\nnobody@idp:{SHA}YWDog7LVPC89CwkxV4Wmfrlm19Q=\n";
/// What a page has for those only who have signed in.
const SIGN_OUT: &str = "<a href=\"/-/sign-out\" rel=\"nofollow\">Sign out</a>";
/// A page of `/afar` that each user may ask for.
const PAGE: &str = "/afar/repo/-/tree/";

/// The repository twice, at paths of the same length: `/afar` has its groups from claims, `/near` from the rules file.
fn served(provider: &TestProvider) -> Served {
    let location = |url: &str, login: &str| {
        format!(
            "[[location]]\nurl = '/{url}'\nfolder = '.'\nauthz = '{url}.authz'\npassword-delay = 0\n\
             realm = 'R'\n{login}\n"
        )
    };
    let (far, near) = (location("afar", "oidc = true"), location("near", "users = 'near.users'"));
    Served::start_in(&format!("{far}{near}{}", provider::section(provider, "")), |base| {
        fs::write(base.join("near.users"), USERS).unwrap();
        fs::write(base.join("secret"), provider::SECRET).unwrap();
        for name in ["afar.authz", "near.authz"] {
            fs::write(base.join(name), "[/]\n* =\n").unwrap();
        }
    })
}

/// The headers of each user's browser, after signing in.
fn sessions(served: &Served, provider: &TestProvider) -> HashMap<String, String> {
    let names = probes::NAMES.into_iter().chain(["nobody"]);
    let session = |name: &str| {
        let is_in = |(_, members): &&(&str, &[&str])| members.contains(&name);
        let groups: Vec<&str> = MEMBERS.iter().filter(is_in).map(|(group, _)| *group).collect();
        let claims = json!({"sub": name, "preferred_username": name, "groups": groups});
        let mut browser = Browser::of(served);
        browser.sign_in(provider, PAGE, Makes::With(claims));
        (name.to_owned(), browser.headers())
    };
    names.map(session).collect()
}

/// A request for what is stored, a page, or JSON.
fn ask(rng: &mut Rng, paths: &[String]) -> Probe {
    let path = if rng.below(8) == 0 { "" } else { rng.choose(paths).unwrap() };
    let other = rng.choose(paths).unwrap();
    let revision = rng.below(4);
    let at = |middle: &str| format!("/LOCATION/repo{middle}{path}");
    let api = if rng.below(2) == 0 { "/-/api/v1" } else { "/-" };
    let path = match rng.below(16) {
        0 => at(""),
        1 => at(&format!("/!svn/rvr/{revision}")),
        2 => at(&format!("{api}/tree")),
        3 => format!("{}?p={revision}", at(&format!("{api}/tree"))),
        4 => at(&format!("{api}/log")),
        5 => at(&format!("{api}/blame")),
        6 => at(&format!("{api}/locks")),
        7 => format!("/LOCATION/repo{api}/rev/{revision}"),
        8 => format!("/LOCATION/repo{api}/search?q=a"),
        9 => at("/-/feed"),
        10 => at(&format!("{api}/graph")),
        11 => at(&format!("{api}/branches")),
        12 => format!("/LOCATION/repo/-/api/v1/diff/{revision}"),
        13 => format!("{}?from={revision}&with={other}", at("/-/api/v1/compare")),
        14 => format!("{}?from={revision}&with={other}", at("/-/compare")),
        _ => format!("{}?from={revision}", at("/-/compare")),
    };
    let method = if rng.below(8) == 0 { "HEAD" } else { "GET" };
    Probe { method, path, headers: "Accept: text/html\r\n", body: String::new() }
}

/// A reply to one who has signed in, as it would be for one who has not.
fn without_sign_out(reply: &str) -> String {
    reply.replace(SIGN_OUT, "")
}

/// A reply whose length is not said: it counts the link to sign out.
fn without_length(reply: &str) -> String {
    let is_length = |line: &&str| line.to_ascii_lowercase().starts_with("content-length:");
    let lines: Vec<&str> = reply.split("\r\n").filter(|line| !is_length(line)).collect();
    lines.join("\r\n")
}

#[test]
fn groups_of_claims_count_as_those_of_the_rules_file() {
    let provider = TestProvider::start();
    let served = served(&provider);
    let sessions = sessions(&served, &provider);
    probes::compare(&served, "@idp", ask, |probe, who, location| {
        let login = sapwood_core::base64::encode(format!("{who}@idp:secret of {who}").as_bytes());
        let headers = match location {
            "afar" => sessions[who].clone(),
            // A cookie says of both replies that they are one user's alone.
            _ => format!("{}Cookie: a=b\r\nAuthorization: Basic {login}\r\n", probe.headers),
        };
        let reply = served.request(probe.method, &probe.path, &headers, &probe.body);
        without_length(&without_sign_out(&reply))
    });
}
