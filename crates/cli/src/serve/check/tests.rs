//! Each setting of docs/serve.md with values that are wrong by themselves.

use super::super::config::File;
use super::super::lines::{Lines, Problem};
use super::problems;

/// The problems of a text, each with its line.
fn problems_of(text: &str) -> Vec<String> {
    let lines = Lines::of_text(text);
    let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let shown = |problem: &Problem| {
        let line = lines.of(&problem.setting).unwrap_or(0);
        format!("{line}: {}", problem.why)
    };
    problems(&file).iter().map(shown).collect()
}

/// Each setting of docs/serve.md with values that are wrong by themselves, in the last line.
const WRONG: &[(&str, &str)] = &[
    ("compression = 10", "0 to 9"),
    ("autoversioning-wait = 61", "at most 60"),
    ("cache-megabytes = 99999999999", "at most"),
    ("listen = ' '", "empty"),
    ("http-port = 80\nhttps-port = 80", "the same as 'http-port'"),
    ("path = '/x'\nsvn-port = 80\nhttp-port = 80", "the same as 'svn-port'"),
    ("svn-port = 80", "without 'path'"),
    ("autoversioning = true", "without 'path'"),
    ("svnserve-conf = '/x'", "without 'path'"),
    ("access-log-form = 'common'", "without 'access-log'"),
    ("trusted-proxies = ['10.0.0.0/8', 'proxy']", "'proxy' is no address"),
    ("security-contact = ['mailto:a@b', 'a@b']", "'a@b' is none of"),
    ("tls-client-crl = '/c'", "needs 'tls-client-ca'"),
    ("require-certificate = true", "needs 'tls-client-ca'"),
    ("queue-folder = '/q'", "without '[[webhook]]'"),
    ("[[webhook]]\nurl = 'http://h/'\nname = 'ci'", "need 'queue-folder'"),
    ("queue-folder = '/q'\n[[webhook]]\nname = 'ci'\nurl = 'ftp://h/'", "it is no URL"),
    ("queue-folder = '/q'\n[[webhook]]\nurl = 'http://h/'\nname = '../x'", "is no name"),
    (
        "queue-folder = '/q'\n[[webhook]]\nname = 'a'\nurl = 'http://h/'\npaths = ['x']",
        "no pattern",
    ),
    (
        "queue-folder = '/q'\n[[webhook]]\nname = 'a'\nurl = 'http://h/'\nsecret-file = '/none/x'",
        "/none/x",
    ),
    (
        "queue-folder = '/q'\n[[mail]]\nname = 'a'\nfrom = 'a@b'\nto = ['a@b']\nserver = 'h'",
        "no address",
    ),
    (
        "queue-folder = '/q'\n[[mail]]\nname = 'a'\nserver = 'smtp://h'\nto = ['a@b']\nfrom = 'a'",
        "no address of mail",
    ),
    (
        "queue-folder = '/q'\n[[mail]]\nname = 'a'\nserver = 'smtp://h'\nfrom = 'a@b'\nto = []",
        "names no address",
    ),
    (
        "queue-folder = '/q'\n[[mail]]\nname = 'a'\nserver = 'smtp://h'\nfrom = 'a@b'\nto = ['a@b']\nuser = 'u'",
        "needs 'password-file'",
    ),
    (
        "acme.domains = ['a.example']\nacme.terms-agreed = true\nacme.folder = '/none/x'",
        "'/none' is no folder",
    ),
    (
        "acme.folder = '/x'\nacme.domains = ['a.example']\nacme.terms-agreed = false",
        "has to be true",
    ),
    ("acme.folder = '/x'\nacme.terms-agreed = true\nacme.domains = ['*.example']", "needs dns-01"),
    ("[users]", "no svnserve.conf says"),
    ("path = '/x'\n[users]\nplain-over-svn = true", "without 'accounts' or"),
    ("[users]\naccounts = '/a'\nplain-over-svn = true", "without 'path'"),
    ("path = '/x'\n[users]\noidc = true", "needs '[oidc]'"),
    ("path = '/x'\n[users]\ndirectory = 'd'", "no [[directory]] with the name 'd'"),
    ("[status]\noidc = true\nmembers = []", "no user may see"),
    ("[status]\nmembers = ['ada']", "none of them is set"),
    ("[status]\nmembers = ['ada']\noidc = true", "needs '[oidc]'"),
    ("[status]\nmembers = ['ada']\ndirectory = 'd'", "no [[directory]] with the name 'd'"),
];

/// The same of a redirect and of a location.
const WRONG_REDIRECTS: &[(&str, &str)] = &[
    ("to = '/b'\nfrom = 'a'", "slash"),
    ("to = '/b'\nfrom = '/a b'", "%20"),
    ("to = '/b'\nfrom = '/a?x'", "no beginning"),
    ("to = '/b'\nfrom = '/a*b'", "no beginning"),
    ("from = '/a'\nto = 'y'", "neither"),
    ("from = '/a'\nto = '/a'", "again"),
    ("from = '/a'\nto = '/a/b'", "again"),
    ("from = '/a*'\nto = '/ab'", "again"),
    ("from = '/'\nto = '/b'", "again"),
    ("from = '/a'\nto = '/b'\n[[redirect]]\nto = '/c'\nfrom = '/a'", "never used"),
    ("from = '/a'\nto = '/b'\n[[redirect]]\nto = '/c'\nfrom = '/a/x'", "never used"),
];

const WRONG_PLACES: &[(&str, &str)] = &[
    ("folder = '/x'\nurl = '/a/../b'", "no request"),
    ("folder = '/x'\nurl = '/a/./b'", "no request"),
    ("folder = '/x'\nurl = '/a//b'", "no request"),
    ("folder = '/x'\nurl = '/a?x'", "'?' or '#'"),
    ("folder = '/x'\nurl = '/a#x'", "'?' or '#'"),
    ("folder = '/x'\nurl = '/%2e%2e/a'", "no request"),
    ("folder = '/x'\nurl = '/a%FF'", "no path of a URL"),
    ("url = '/a'", "either 'folder' or 'repository'"),
    ("url = '/a'\nfolder = '/x'\nrepository = '/y'", "either 'folder' or 'repository'"),
    ("url = '/a'\nfolder = '/x'\n[[location]]\nfolder = '/y'\nurl = 'a/'", "already"),
    ("url = '/a'\nrepository = '/x'\nlist = true", "for a folder"),
    ("url = '/a'\nrepository = '/x'\nflat = true", "for a folder"),
    ("url = '/a'\nfolder = '/x'\nrealm = 'R'", "'realm' without"),
    ("url = '/a'\nfolder = '/x'\nhooks-env = 'h'", "'hooks-env' without"),
    ("url = '/a'\nfolder = '/x'\npassword-delay = 2", "'password-delay' without"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\npassword-delay = 61", "at most 60"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\nrealm = \"a\\\"b\"", "quotes"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\nrealm = \"a\\nb\"", "control"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\ngroups = '/g'", "without 'authz'"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\nusername-case = 'upper'", "without 'authz'"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\npath-authz = 'off'", "without 'authz'"),
    ("url = '/a'\nfolder = '/x'\nauthz = '/z'\nauthz-in-conf = 'z'", "not both"),
    ("url = '/a'\nfolder = '/x'\nlogin = 'required'", "'login' needs"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\nlogin = 'never'", "'never'"),
    ("url = '/a'\nfolder = '/x'\nauthenticated = 'read'", "no way to log in"),
    ("url = '/a'\nfolder = '/x'\nusers = '/u'\nanonymous = 'read'", "have to log in"),
    ("url = '/a'\nfolder = '/x'\ndigest-users = '/u'", "needs 'realm'"),
    ("url = '/a'\nfolder = '/x'\nuser-header = 'X-User'", "needs 'trusted-proxies'"),
    ("url = '/a'\nfolder = '/x'\nuser-header = 'X User'", "no name of a header"),
    ("url = '/a'\nfolder = '/x'\nrequire-certificate = true", "needs 'tls-client-ca'"),
    ("url = '/a'\nfolder = '/x'\ncertificate-user = 'CN'", "needs 'tls-client-ca'"),
    ("url = '/a'\nfolder = '/x'\ncertificate-user = 'DN'", "one of CN, O, OU"),
    ("url = '/a'\nfolder = '/x'\noidc = true", "needs '[oidc]'"),
    ("url = '/a'\nfolder = '/x'\nmaster = 'svn://h/x'", "no URL of a master"),
    ("url = '/a'\nfolder = '/x'\nmaster-version = '1.8'", "need 'master'"),
    ("url = '/a'\nfolder = '/x'\nmaster-ca = '/c'", "need 'master'"),
    ("url = '/a'\nfolder = '/x'\nmaster = 'http://h'\nmaster-version = '8'", "no release"),
];

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let texts = WRONG.iter().map(|(text, why)| ((*text).to_owned(), *why));
    let redirects = WRONG_REDIRECTS.iter().map(|(t, why)| (format!("[[redirect]]\n{t}"), *why));
    let places = WRONG_PLACES.iter().map(|(t, why)| (format!("[[location]]\n{t}"), *why));
    for (text, why) in texts.chain(redirects).chain(places) {
        let problems = problems_of(&text);
        let line = format!("{}: ", text.lines().count());
        let is_said = |problem: &String| problem.contains(why);
        assert!(problems.iter().any(is_said), "{text}\n{problems:?}");
        let needs_line = !why.contains("either 'folder'") && !why.contains("no address");
        let has_line =
            problems.iter().any(|problem| is_said(problem) && problem.starts_with(&line));
        assert!(has_line || !needs_line, "{text}\n{problems:?}");
        assert!(problems.iter().all(|problem| !problem.starts_with("0:")), "{text}\n{problems:?}");
    }
    let problems = problems_of(
        "[[redirect]]\nfrom = '/a'\nto = '/b'\n[[location]]\nfolder = '/x'\nurl = '/a/b'\n",
    );
    assert_eq!(problems, ["6: location '/a/b' is never used: the redirect of '/a' is"]);
}

const PROVIDER: &str =
    "[oidc]\nissuer = 'https://h'\nclient-id = 'svn'\nurl = 'https://s'\nname-claim = 'sub'\n";

#[test]
fn providers_are_checked_with_their_lines() {
    let place = "[[location]]\nurl = '/a'\nfolder = '/x'\noidc = true\n";
    assert_eq!(problems_of(&format!("{PROVIDER}{place}")), [""; 0]);
    for (more, why) in [
        ("allowed-groups = ['devs']", "'groups-claim'"),
        ("session-hours = 0", "6: 'session-hours' goes from 1 to 744"),
        ("token-days = 7", "6: 'token-days' has no effect"),
        ("accounts = '/a'\ntoken-days = 400", "7: 'token-days' goes from 1"),
        ("idle-minutes = 99999", "6: 'idle-minutes'"),
        ("client-secret-file = '/nowhere'", "6: [oidc]: 'client-secret-file'"),
        ("ca = '/nowhere'", "6: [oidc]: 'ca'"),
    ] {
        let problems = problems_of(&format!("{PROVIDER}{more}\n{place}"));
        assert!(problems.len() == 1 && problems[0].contains(why), "{more}: {problems:?}");
    }
    let plain = PROVIDER.replace("https://h", "http://h");
    assert!(problems_of(&format!("{plain}{place}"))[0].starts_with("2: [oidc]: 'issuer'"));
    assert!(problems_of(PROVIDER)[0].contains("no effect"));
    let trusted = format!("{PROVIDER}{place}trusted = true\n");
    assert!(problems_of(&trusted)[0].contains("cannot be together"));
}

#[test]
fn what_is_sound() {
    for text in [
        "path = '/x'\nsvn-port = 1\nhttp-port = 0\nhttps-port = 0\nautoversioning = true\nautoversioning-wait = 60",
        "[[location]]\nurl = '/'\nfolder = '/x'",
        "[[location]]\nurl = '/a%20b/'\nfolder = '/x'\nusers = '/u'\nlogin = 'optional'\nanonymous = 'read'",
        "[[redirect]]\nfrom = '/repos/'\nto = '/svn/'\n[[redirect]]\nfrom = '/a*'\nto = 'http://h/a'",
        "[[redirect]]\nfrom = '/a/b'\nto = '/c'\n[[redirect]]\nfrom = '/a'\nto = '/d'",
        "[[location]]\nurl = '/a'\nfolder = '/x'\n[[location]]\nurl = '/a/b'\nrepository = '/x'",
    ] {
        assert_eq!(problems_of(text), [""; 0], "{text}");
    }
}

/// Every setting of the page has a line in these tables, or a file, word or flag as its value.
#[test]
fn no_setting_is_left_out() {
    const OTHERS: &[&str] = &[
        "path",
        "tls-certificate",
        "tls-key",
        "tls-client-ca",
        "backups",
        "search-folder",
        "search-skip",
        "read-only",
        "redirect-to-https",
        "log-file",
        "access-log",
        "gzip",
        "bulk-updates",
        "http-v2",
        "folder",
        "repository",
        "name",
        "plain-pages",
        "web",
        "users",
        "digest-users",
        "svnserve-users",
        "accounts",
        "directory",
        "kerberos",
        "members",
        "metrics-listen",
        "log-format",
        "authz",
        "authz-in-conf",
        "rules",
        "hooks-env",
        "autoversioning",
        "trusted",
        "url",
        "from",
        "to",
    ];
    let page = include_str!("../../../../../docs/serve.md");
    let (page, _) = page.split_once("## Users of a directory").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names = rows.flat_map(|cell| {
        cell.split('`').filter(|word| !word.is_empty() && !word.starts_with([',', ' ']))
    });
    let all = WRONG.iter().chain(WRONG_PLACES).chain(WRONG_REDIRECTS);
    for name in names {
        let is_in = |(text, _): &(&str, &str)| {
            text.lines().any(|line| line.starts_with(&format!("{name} = ")))
        };
        assert!(OTHERS.contains(&name) || all.clone().any(is_in), "{name}");
    }
}
