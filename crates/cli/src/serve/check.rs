//! Problems of the configuration itself, independent of the disk.
//!
//! Invariant: a setting that has no effect, or another one than it says, is a [`Problem`].

mod addresses;
mod location;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use sapwood_server::settings::Network;

use self::addresses::{of_redirects, of_urls};
use self::location::of_place;
use super::acme::AcmeConfig;
use super::config::{File, LocationConfig, LogFormat, MOST_WAIT};
use super::directories;
use super::lines::Problem;
use super::notifications;
use super::servers::ServersConfig;
use super::sign_in;
use super::status::StatusConfig;

/// Most memory for caches: 1 TiB.
const MOST_MEGABYTES: usize = 1 << 20;

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
