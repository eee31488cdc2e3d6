//! Problems of the configuration itself, independent of the disk.
//!
//! Invariant: a setting that has no effect, or another one than it says, is a [`Problem`].

use std::net::SocketAddr;

use sapwood_core::uri;
use sapwood_server::common::config::CertificateName;
use sapwood_server::dav::Master;
use sapwood_server::dav::settings::Redirect;
use sapwood_server::settings::Network;

use super::acme::AcmeConfig;
use super::config::{
    File, LocationConfig, LogFormat, LoginWord, MOST_DELAY, MOST_WAIT, RedirectConfig, version,
};
use super::directories;
use super::lines::Problem;
use super::notifications;
use super::servers::ServersConfig;
use super::sign_in;
use super::status::StatusConfig;

/// Most memory for caches: 1 TiB.
const MOST_MEGABYTES: usize = 1 << 20;
/// The most path components that are compared for a location.
const MOST_LEVELS: usize = 32;

type Problems = Vec<Problem>;

/// All of it.
pub(super) fn problems(file: &File) -> Problems {
    let mut found = Vec::new();
    of_numbers(file, &mut found);
    of_ports(file, &mut found);
    of_what_is_served(file, &mut found);
    of_certificates(file, &mut found);
    for (at, text) in file.trusted_proxies.iter().enumerate() {
        if Network::parse(text).is_none() {
            let why =
                format!("'trusted-proxies': '{text}' is no address and no range of addresses");
            found.push(Problem::error(format!("trusted-proxies.{at}"), why));
        }
    }
    of_contacts(file, &mut found);
    of_redirects(file, &mut found);
    of_urls(file, &mut found);
    let named: Vec<_> =
        file.location.iter().map(|place| (&*place.url, place.directory.as_deref())).collect();
    let of_root = file.users.as_ref().and_then(|users| users.directory.as_deref());
    let of_status = file.status.as_ref().and_then(|status| status.directory.as_deref());
    let others = [("users", of_root), ("status", of_status)];
    found.extend(directories::problems(&file.directory, &named, &others));
    found.extend(file.status.iter().flat_map(StatusConfig::problems));
    found.extend(file.acme.iter().flat_map(AcmeConfig::problems));
    found.extend(file.servers.iter().flat_map(ServersConfig::problems));
    found.extend(notifications::problems(file.queue_folder.as_deref(), &file.webhook, &file.mail));
    let names = |place| {
        let LocationConfig { url, oidc, trusted, accounts, .. }: &LocationConfig = place;
        let accounts = accounts.as_deref();
        sign_in::ProviderUse { url, oidc: *oidc, trusted: *trusted, accounts }
    };
    let places: Vec<_> = file.location.iter().map(names).collect();
    let others = [
        ("users.oidc", file.users.as_ref().is_some_and(|users| users.oidc)),
        ("status.oidc", file.status.as_ref().is_some_and(|status| status.oidc)),
    ];
    found.extend(sign_in::problems(file.oidc.as_ref(), &places, &others));
    for (at, place) in file.location.iter().enumerate() {
        let mut own = Vec::new();
        of_place(place, file, &mut own);
        found.extend(own.into_iter().map(|problem| Problem {
            setting: format!("location.{at}.{}", problem.setting),
            why: format!("location '{}': {}", place.url, problem.why),
            ..problem
        }));
    }
    found
}

/// Those who read `security.txt` are programs, too: each contact is a URI.
fn of_contacts(file: &File, found: &mut Problems) {
    let schemes = ["mailto:", "https://", "tel:"];
    let is_uri = |text: &String| {
        text.bytes().all(|b| b.is_ascii_graphic())
            && schemes.iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme))
    };
    for (at, text) in file.security_contact.iter().enumerate().filter(|(_, text)| !is_uri(text)) {
        let why = format!("'security-contact': '{text}' is none of mailto:, https:// and tel:");
        found.push(Problem::error(format!("security-contact.{at}"), why));
    }
}

fn of_numbers(file: &File, found: &mut Problems) {
    if file.compression.is_some_and(|level| level > 9) {
        found.push(Problem::error("compression", "'compression' goes from 0 to 9"));
    }
    if file.autoversioning_wait.is_some_and(|seconds| seconds > MOST_WAIT) {
        let why = format!("'autoversioning-wait' is at most {MOST_WAIT} seconds");
        found.push(Problem::error("autoversioning-wait", why));
    }
    if file.cache_megabytes.is_some_and(|size| size > MOST_MEGABYTES) {
        let why = format!("'cache-megabytes' is at most {MOST_MEGABYTES}");
        found.push(Problem::error("cache-megabytes", why));
    }
}

fn of_ports(file: &File, found: &mut Problems) {
    let svn = file.svn_port.filter(|_| file.path.is_some());
    let ports = [("svn-port", svn), ("http-port", file.http_port), ("https-port", file.https_port)];
    for (at, (name, port)) in ports.iter().enumerate() {
        let mut before = ports.iter().take(at);
        // 0 is any port that is free.
        let other = before.find(|(_, other)| other == port && port.is_some_and(|port| port != 0));
        if let Some((other, _)) = other {
            found.push(Problem::error(*name, format!("'{name}' is the same as '{other}'")));
        }
    }
    if let Some(Err(why)) = file.metrics_listen.as_deref().map(metrics_address) {
        found.push(Problem::error("metrics-listen", why));
    }
    if file.listen.as_ref().is_some_and(|host| host.trim().is_empty()) {
        found.push(Problem::error("listen", "'listen' is empty"));
    }
}

/// Where metrics are answered.
///
/// # Errors
/// Why a text is no such address.
pub(super) fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    let why =
        || format!("'metrics-listen': '{text}' is no address with a port, as 127.0.0.1:9117 is");
    text.trim().parse().map_err(|_| why())
}

/// Settings that have no effect without `path` or another one.
fn of_what_is_served(file: &File, found: &mut Problems) {
    let without_path = [
        ("svn-port", file.svn_port.is_some()),
        ("autoversioning", file.autoversioning),
        (
            "svnserve-conf",
            file.svnserve_conf.is_some() && file.location.iter().all(LocationConfig::has_access),
        ),
    ];
    for (name, is_set) in without_path {
        if is_set && file.path.is_none() {
            found.push(Problem::warning(name, format!("'{name}' has no effect without 'path'")));
        }
    }
    of_root_users(file, found);
    let is_json = file.log_format == Some(LogFormat::Json);
    if is_json && file.access_log_form.is_some() {
        let why = "'access-log-form' has no effect: 'log-format' is json";
        found.push(Problem::warning("access-log-form", why));
    }
    if file.log_format.is_some() && file.access_log.is_none() && file.log_file.is_none() {
        let why = "'log-format' has no effect without 'log-file' and 'access-log'";
        found.push(Problem::warning("log-format", why));
    }
    if file.access_log.is_none() && file.access_log_form.is_some() {
        let why = "'access-log-form' has no effect without 'access-log'";
        found.push(Problem::warning("access-log-form", why));
    }
}

/// Users of repositories that `svnserve.conf` files configure, where there are no such repositories or no such users.
fn of_root_users(file: &File, found: &mut Problems) {
    let Some(users) = &file.users else { return };
    if file.path.is_none() && file.location.iter().all(LocationConfig::has_access) {
        let why = "'[users]' has no effect: no svnserve.conf says who may do what";
        found.push(Problem::warning("users", why));
    }
    if users.plain_over_svn && users.accounts.is_none() && users.directory.is_none() {
        let why = "'plain-over-svn' has no effect without 'accounts' or 'directory'";
        found.push(Problem::warning("users.plain-over-svn", why));
    }
    if users.plain_over_svn && file.path.is_none() {
        let why = "'plain-over-svn' has no effect without 'path'";
        found.push(Problem::warning("users.plain-over-svn", why));
    }
}

/// Certificates of clients are looked at where the file says whose they are to be.
fn of_certificates(file: &File, found: &mut Problems) {
    if file.tls_client_ca.is_none() {
        let wants = [
            ("tls-client-crl", file.tls_client_crl.is_some()),
            ("require-certificate", file.require_certificate),
        ];
        for (name, _) in wants.iter().filter(|(_, is_set)| *is_set) {
            found.push(Problem::error(*name, format!("'{name}' needs 'tls-client-ca'")));
        }
    }
}

/// Whether a redirect is for all that another one is for.
fn covers(outer: &str, inner: &str) -> bool {
    let outer = Redirect { from: outer.to_owned(), to: String::new(), permanent: false };
    outer.rest(inner.trim_end_matches('*')).is_some()
        && (!inner.ends_with('*') || outer.from.ends_with('*') || outer.from == inner)
}

fn of_redirects(file: &File, found: &mut Problems) {
    for (at, moved) in file.redirect.iter().enumerate() {
        let RedirectConfig { from, to, .. } = moved;
        let from_setting = format!("redirect.{at}.from");
        if !from.starts_with('/') {
            let why = format!("redirect: '{from}' does not begin with a slash");
            found.push(Problem::error(from_setting.clone(), why));
        } else if from.contains(['?', '#', ' ']) || from.trim_end_matches('*').contains('*') {
            let why = format!("redirect: '{from}' is no beginning of a path (a space is %20)");
            found.push(Problem::error(from_setting.clone(), why));
        }
        let setting = format!("redirect.{at}.to");
        if !(to.starts_with('/') || uri::is_url(to)) || to.contains(char::is_whitespace) {
            let why =
                format!("redirect: '{to}' is neither a path that begins with a slash nor a URL");
            found.push(Problem::error(setting, why));
        } else if covers(from, to) {
            let why = format!("redirect: '{to}' leads to '{from}' again");
            found.push(Problem::warning(setting, why));
        }
        if let Some(before) =
            file.redirect.iter().take(at).find(|before| covers(&before.from, from))
        {
            let why =
                format!("redirect: '{from}' is never used: '{}' stands before it", before.from);
            found.push(Problem::warning(from_setting, why));
        }
    }
}

/// Why no request is ever for an address, if none is.
fn unreachable(url: &str) -> Option<String> {
    let Some(decoded) = uri::decode_utf8(url) else {
        return Some(format!("'{url}' is no path of a URL"));
    };
    let inner = decoded.trim_matches('/');
    let odd = |name: &str| matches!(name, "" | "." | "..") || name.contains('\0');
    let is_odd = !inner.is_empty() && inner.split('/').any(odd);
    match () {
        () if url.contains(['?', '#']) => {
            Some(format!("'{url}' has a '?' or '#' (in a path %3F and %23)"))
        }
        () if is_odd || inner.split('/').count() >= MOST_LEVELS => {
            Some(format!("no request is for '{url}'"))
        }
        () => None,
    }
}

/// The locations' paths, as the server compares them.
fn prefix(url: &str) -> String {
    let url = url.trim_matches('/');
    uri::decode_utf8(url).unwrap_or_else(|| url.to_owned())
}

fn of_urls(file: &File, found: &mut Problems) {
    for (at, place) in file.location.iter().enumerate() {
        let setting = format!("location.{at}.url");
        let url = &place.url;
        if let Some(why) = unreachable(url) {
            found.push(Problem::error(setting, format!("location: {why}")));
            continue;
        }
        let mut before = file.location.iter().take(at);
        if before.any(|before| prefix(&before.url) == prefix(url)) {
            let why = format!("location '{url}': there is one at this 'url' already");
            found.push(Problem::error(setting.clone(), why));
        }
        let path = format!("/{}", uri::encode(&prefix(url)));
        if let Some(moved) = file.redirect.iter().find(|moved| covers(&moved.from, &path)) {
            let why =
                format!("location '{url}' is never used: the redirect of '{}' is", moved.from);
            found.push(Problem::warning(setting, why));
        }
    }
}

/// The problems of one location. Their settings are named without it.
fn of_place(place: &LocationConfig, file: &File, found: &mut Problems) {
    if place.folder.is_some() == place.repository.is_some() {
        let setting = if place.folder.is_some() { "repository" } else { "url" };
        found.push(Problem::error(setting, "either 'folder' or 'repository' is needed"));
    }
    if place.repository.is_some() && place.list.is_some() {
        found.push(Problem::warning("list", "'list' is for a folder of repositories"));
    }
    if place.repository.is_some() && place.flat {
        found.push(Problem::warning("flat", "'flat' is for a folder of repositories"));
    }
    of_rules(place, found);
    of_master(place, found);
    of_login(place, file, found);
    if place.password_delay.is_some_and(|seconds| seconds > MOST_DELAY) {
        let why = format!("'password-delay' is at most {MOST_DELAY} seconds");
        found.push(Problem::error("password-delay", why));
    }
    if place
        .realm
        .as_deref()
        .is_some_and(|realm| realm.contains(|c: char| c.is_control() || "\"\\".contains(c)))
    {
        found
            .push(Problem::error("realm", "'realm' has quotes, backslashes or control characters"));
    }
}

fn of_rules(place: &LocationConfig, found: &mut Problems) {
    if place.authz.is_some() && place.authz_in_conf.is_some() {
        found.push(Problem::error("authz-in-conf", "either 'authz' or 'authz-in-conf', not both"));
    }
    if !place.has_access() {
        let alone = [
            ("realm", place.realm.is_some()),
            ("groups", place.groups.is_some()),
            ("username-case", place.username_case.is_some()),
            ("path-authz", place.path_authz.is_some()),
            ("hooks-env", place.hooks_env.is_some()),
            ("password-delay", place.password_delay.is_some()),
        ];
        for (name, _) in alone.into_iter().filter(|(_, is_set)| *is_set) {
            found.push(Problem::error(
                name,
                format!(
                    "'{name}' without 'login', 'users', 'anonymous' or 'authz': the repositories' own \
                     files say who may do what here"
                ),
            ));
        }
        return;
    }
    let of_rules = [
        ("groups", place.groups.is_some()),
        ("username-case", place.username_case.is_some()),
        ("path-authz", place.path_authz.is_some()),
    ];
    for (name, _) in of_rules.into_iter().filter(|(_, is_set)| *is_set && !place.has_authz()) {
        let why = format!("'{name}' has no effect without 'authz' or 'authz-in-conf'");
        found.push(Problem::error(name, why));
    }
}

fn of_master(place: &LocationConfig, found: &mut Problems) {
    let of_master = [
        ("master-version", place.master_version.is_some()),
        ("master-ca", place.master_ca.is_some()),
    ];
    if let Some((name, _)) = of_master.iter().find(|(_, is_set)| *is_set && place.master.is_none())
    {
        let why = "'master-version' and 'master-ca' need 'master'";
        found.push(Problem::error(*name, why));
    }
    if let Some(text) = place.master_version.as_deref().filter(|text| version(text).is_none()) {
        let why = format!("'master-version': '{text}' is no release, as 1.14 is");
        found.push(Problem::error("master-version", why));
    }
    if let Some(Err(error)) = place.master.as_ref().map(|url| Master::new(url, None, None)) {
        found.push(Problem::error("master", format!("'master': {}", error.message())));
    }
}

fn of_login(place: &LocationConfig, file: &File, found: &mut Problems) {
    let words = CertificateName::WORDS.map(|(word, _)| word);
    if let Some(word) = place.certificate_user.as_deref().filter(|word| !words.contains(word)) {
        let why = format!("'certificate-user' is one of {}, not '{word}'", words.join(", "));
        found.push(Problem::error("certificate-user", why));
    }
    let wants = [
        ("require-certificate", place.require_certificate),
        ("certificate-user", place.certificate_user.is_some()),
    ];
    for (name, _) in wants.into_iter().filter(|(_, is_set)| *is_set && file.tls_client_ca.is_none())
    {
        found.push(Problem::error(name, format!("'{name}' needs 'tls-client-ca'")));
    }
    if place.kerberos && !sapwood_kerberos::IS_BUILT_IN {
        let why = "'kerberos': this program was built without the feature 'kerberos'";
        found.push(Problem::error("kerberos", why));
    }
    if place.digest_users.is_some() && place.realm.is_none() {
        let why = "'digest-users' needs 'realm': the file says whose users they are";
        found.push(Problem::error("digest-users", why));
    }
    if let Some(header) = &place.user_header {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if header.is_empty() || !header.chars().all(is_name) {
            let why = format!("'user-header': '{header}' is no name of a header");
            found.push(Problem::error("user-header", why));
        }
        if file.trusted_proxies.is_empty() {
            let why = "'user-header' needs 'trusted-proxies': no other peer is believed";
            found.push(Problem::warning("user-header", why));
        }
    }
    let can_login = place.can_login();
    match place.login {
        Some(LoginWord::Never) if can_login => {
            found.push(Problem::error("login", "users are named, but 'login' is 'never'"));
        }
        Some(LoginWord::Never) | None => {}
        Some(_) if can_login => {}
        Some(_) => {
            let why = "'login' needs 'users', 'digest-users', 'svnserve-users', 'accounts', \
                       'directory', 'kerberos', 'oidc', 'user-header' or 'certificate-user'";
            found.push(Problem::error("login", why));
        }
    }
    if !place.members.is_empty() && !can_login {
        let why = "'members' has no effect: there is no way to log in";
        found.push(Problem::error("members", why));
    }
    if place.authenticated.is_some() && !can_login {
        let why = "'authenticated' has no effect: there is no way to log in";
        found.push(Problem::warning("authenticated", why));
    }
    if place.anonymous.is_some() && place.is_login_required() {
        let why = "'anonymous' has no effect: all users have to log in ('login' may say otherwise)";
        found.push(Problem::warning("anonymous", why));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::*;

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
        (
            "acme.folder = '/x'\nacme.terms-agreed = true\nacme.domains = ['*.example']",
            "needs dns-01",
        ),
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
            assert!(
                problems.iter().all(|problem| !problem.starts_with("0:")),
                "{text}\n{problems:?}"
            );
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
        let page = include_str!("../../../../docs/serve.md");
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
}
