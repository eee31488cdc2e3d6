//! The page of the server's status at its own address: members see what monitoring programs see, others what is not there.

use std::fs;
use std::path::Path;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs};
use serde_json::json;

use crate::common::{places, provider};
use crate::monitor::ask;
use places::{Served, status};
use provider::{Browser, Makes, TestProvider, header, section};

const PAGE: &str = "/-/status";
const NOT_THERE: &str = "/-/statuz";

/// `sapwood user`, with a line at standard input.
fn user(folder: &Path, args: &[&str], line: &str) -> String {
    fs::write(folder.join("input"), format!("{line}\n")).unwrap();
    let mut command = Programs::ours().command("sapwood");
    command.args(["user", "--accounts"]).arg(folder.join("accounts.toml")).args(args);
    command.stdin(fs::File::open(folder.join("input")).unwrap());
    Output::of(&mut command).expect_success("user").stdout_text().trim_end().to_owned()
}

/// A server with the users bob, who is an administrator, and carol; and with a monitor at the port.
fn served(monitor: u16, more: &str) -> Served {
    let config = format!(
        "metrics-listen = '127.0.0.1:{monitor}'\nbackups = '.'\n\
         [[location]]\nurl = '/svn'\nfolder = '.'\naccounts = 'accounts.toml'\noidc = {}\n\
         [status]\nmembers = ['group:admins']\naccounts = 'accounts.toml'\n{more}",
        more.contains("[oidc]")
    );
    Served::start_in(&config, |folder| {
        fs::write(folder.join("secret"), provider::SECRET).unwrap();
        user(folder, &["add", "bob", "--group", "admins", "--password-from-stdin"], "b");
        user(folder, &["add", "carol", "--password-from-stdin"], "c");
    })
}

fn basic(name: &str, secret: &str) -> String {
    let login = sapwood_core::base64::encode(format!("{name}:{secret}").as_bytes());
    format!("Accept: text/html\r\nAuthorization: Basic {login}\r\n")
}

/// A reply without what differs from one to the next.
fn plain(reply: &str) -> String {
    let differs = |line: &&str| ["date: ", "x-request-id: "].iter().any(|n| line.starts_with(n));
    reply.lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n")
}

/// The table of the repositories on a page.
fn repositories(page: &str) -> &str {
    let table = page.split("<h2>Repositories</h2>").nth(1).unwrap_or_else(|| panic!("{page}"));
    table.split("<h2>").next().unwrap()
}

#[test]
fn members_see_what_the_monitor_shows_and_others_what_is_not_there() {
    let monitor = free_port();
    let served = served(monitor, "");
    let page = served.get(PAGE, &basic("bob", "b"));
    assert_eq!((status(&page), header(&page, "cache-control")), (200, Some("no-store")), "{page}");
    let (_, shown) = ask(monitor, "/", "Accept: text/html\r\n");
    assert_eq!(repositories(&page), repositories(&shown));
    assert!(page.contains(&format!(">r{}<", served.youngest())), "{page}");
    for part in ["bob", "Verified backup", "Wrong passwords in the last hour"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let style = page.split("href=\"/-/style/").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(status(&served.get(&format!("/-/style/{style}"), "")), 200);
    // One who is no member, with a browser and with another program.
    let carol = basic("carol", "c");
    for headers in [&*carol, &carol.replace("Accept: text/html\r\n", "")] {
        let (hidden, missing) = (served.get(PAGE, headers), served.get(NOT_THERE, headers));
        assert_eq!(plain(&hidden), plain(&missing));
        assert_eq!(status(&hidden), 404);
    }
    // A token is for repositories.
    let folder = served.repo.parent();
    let token = user(folder, &["add-token", "bob", "t"], "");
    assert_eq!(status(&served.get("/svn/repo/", &basic("bob", &token))), 200);
    let (hidden, missing) = (basic("bob", &token), basic("bob", "b"));
    assert_eq!(plain(&served.get(PAGE, &hidden)), plain(&served.get(NOT_THERE, &missing)));
    assert_eq!(status(&served.get(PAGE, "")), 401);
    assert_eq!(status(&served.get(PAGE, &basic("bob", "x"))), 401);
    let svn = format!("{}User-Agent: SVN/1.14.2 (x) serf/1.3.9\r\n", basic("bob", "b"));
    assert_eq!(status(&served.get(PAGE, &svn)), 404);
    for method in ["POST", "PUT", "PROPFIND", "DELETE"] {
        let answer = served.request(method, PAGE, &basic("bob", "b"), "");
        assert_eq!(status(&answer), 404, "{method}: {answer}");
    }
}

#[test]
fn those_who_have_signed_in_are_led_there_if_they_are_members() {
    let provider = TestProvider::start();
    let served = served(free_port(), &format!("oidc = true\n{}", section(&provider, "")));
    let mut browser = Browser::of(&served);
    let asked = browser.get(PAGE);
    assert_eq!(header(&asked, "location").map(|to| to.ends_with("?to=/-/status")), Some(true));
    let admin = Makes::With(json!({"groups": ["admins"]}));
    assert_eq!(status(&browser.sign_in(&provider, PAGE, admin)), 303);
    let page = browser.get(PAGE);
    assert!(status(&page) == 200 && page.contains("ada@idp"), "{page}");
    assert!(page.contains("/-/sign-out") && page.contains("Verified backup"), "{page}");
    assert!(browser.get("/svn/repo/-/tree/").contains("href=\"/-/status\""), "pages lead there");
    let mut other = Browser::of(&served);
    other.sign_in(&provider, PAGE, Makes::With(json!({})));
    assert_eq!(plain(&other.get(PAGE)), plain(&other.get(NOT_THERE)));
    assert_eq!(status(&other.get(PAGE)), 404);
    assert!(!other.get("/svn/repo/-/tree/").contains("/-/status"));
}

/// Where a place is at the top, those who are no members, and clients, get what that place has.
#[test]
fn a_place_at_the_top_has_the_address_for_all_others() {
    let config = "[[location]]\nurl = '/'\nfolder = 'repo'\nusers = 'users'\n\
                  [status]\nmembers = ['bob']\naccounts = 'accounts.toml'\n";
    let served = Served::start_in(config, |folder| {
        for (name, password) in [("bob", "b"), ("ada", "a")] {
            user(folder, &["add", name, "--password-from-stdin"], password);
        }
    });
    let url = format!("http://127.0.0.1:{}/-", served.port);
    let args = ["mkdir", "-m", "m", &url, &format!("{url}/status"), &format!("{url}/status/own")];
    places::svn_as_ada(&args).expect_success("mkdir");
    let of_ada = served.get(PAGE, &basic("ada", "a"));
    assert!(status(&of_ada) == 301 && of_ada.contains("/-/status/"), "{of_ada}");
    assert!(served.get("/-/status/", &basic("ada", "a")).contains("own/"));
    assert!(served.get(PAGE, &basic("bob", "b")).contains("Wrong passwords in the last hour"));
    assert_eq!(status(&served.get(PAGE, "")), 401);
    places::svn_as_ada(&["ls", &format!("{url}/status")]).expect_success("ls");
}

/// Without the setting there is no such page.
#[test]
fn nothing_is_there_unless_members_are_named() {
    let served = Served::start(places::LOGIN_PLACE);
    let ada = format!("Accept: text/html\r\n{}", places::ADA);
    assert_eq!(plain(&served.get(PAGE, &ada)), plain(&served.get(NOT_THERE, &ada)));
}
