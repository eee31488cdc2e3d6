//! Signing out: at this server, and at the provider of OpenID Connect, where that says how.

use std::fs;

use sapwood_core::base64;
use serde_json::{Value, json};

use crate::common::{places, provider};
use places::{Served, status};
use provider::{Browser, Makes, TestProvider, form, section};

const PAGE: &str = "/svn/repo/-/tree/";

fn served(provider: &TestProvider) -> Served {
    let place = "[[location]]\nurl = '/svn'\nfolder = '.'\noidc = true\n";
    Served::start_in(&format!("{place}{}", section(provider, "")), |folder| {
        fs::write(folder.join("secret"), provider::SECRET).unwrap();
    })
}

/// Signs in and out: the page at the end.
fn out_again(browser: &mut Browser<'_>, provider: &TestProvider, makes: Makes) -> String {
    browser.sign_in(provider, PAGE, makes);
    let page = browser.get("/-/sign-out");
    let code = page.split("name=\"code\" value=\"").nth(1).unwrap_or_else(|| panic!("{page}"));
    let code = code.split('"').next().unwrap().to_owned();
    let page = browser.post("/-/sign-out", &format!("code={code}"));
    assert!(status(&page) == 200 && page.contains("cache-control: no-store"), "{page}");
    assert_eq!(status(&browser.get(PAGE)), 302, "this server has ended its session");
    page
}

/// The query of the link to the provider on a page.
fn link(page: &str, provider: &TestProvider) -> Option<String> {
    let start = format!("href=\"{}/end?from=svn&amp;", provider.issuer());
    let query = page.split(&start).nth(1)?.split('"').next().unwrap();
    Some(query.replace("&amp;", "&"))
}

/// What is said in an ID token.
fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap().replace('-', "+").replace('_', "/");
    let padding = "=".repeat(payload.len().next_multiple_of(4) - payload.len());
    let bytes = base64::decode(format!("{payload}{padding}").as_bytes()).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a_browser_is_led_to_sign_out_at_the_provider() {
    let provider = TestProvider::start();
    provider.name_end();
    let served = served(&provider);
    let mut browser = Browser::of(&served);
    let page = out_again(&mut browser, &provider, Makes::With(json!({})));
    let sent = form(&link(&page, &provider).unwrap_or_else(|| panic!("{page}")));
    let after = format!("http://127.0.0.1:{}/-/signed-out", served.port);
    assert_eq!((&*sent["client_id"], &*sent["post_logout_redirect_uri"]), ("svn", &*after));
    assert_eq!(claims(&sent["id_token_hint"])["sub"], "ada-1");
    // The provider sends the browser back.
    let back = browser.get(&after);
    assert!(status(&back) == 200 && back.contains("You are signed out"), "{back}");
    assert!(back.contains("/-/sign-in?to=/") && browser.cookies.is_empty(), "{back}");
    // Each session has its own; a token that is too long is not kept.
    let bob = json!({"sub": "bob-1", "preferred_username": "bob"});
    let page = out_again(&mut browser, &provider, Makes::With(bob));
    let sent = form(&link(&page, &provider).unwrap());
    assert_eq!(claims(&sent["id_token_hint"])["sub"], "bob-1");
    let long = json!({"more": "x".repeat(5000)});
    let page = out_again(&mut browser, &provider, Makes::With(long));
    let sent = form(&link(&page, &provider).unwrap());
    assert!(!sent.contains_key("id_token_hint") && sent["client_id"] == "svn", "{page}");
}

#[test]
fn a_provider_that_has_no_such_address_is_not_asked() {
    let provider = TestProvider::start();
    let served = served(&provider);
    let page = out_again(&mut Browser::of(&served), &provider, Makes::With(json!({})));
    assert!(!page.contains(&provider.issuer()), "{page}");
    assert!(page.contains("Sign in") && page.contains("sign out there, too"), "{page}");
}
