//! Problems of the addresses that redirects and locations are for: those that no request reaches.

use sapwood_core::uri;
use sapwood_server::dav::settings::Redirect;

use super::super::config::{File, RedirectConfig};
use super::super::lines::Problem;
use super::Problems;

/// The most path components that are compared for a location.
const MOST_LEVELS: usize = 32;

/// Whether a redirect is for all that another one is for.
fn covers(outer: &str, inner: &str) -> bool {
    let outer = Redirect { from: outer.to_owned(), to: String::new(), permanent: false };
    outer.rest(inner.trim_end_matches('*')).is_some()
        && (!inner.ends_with('*') || outer.from.ends_with('*') || outer.from == inner)
}

pub(super) fn of_redirects(file: &File, found: &mut Problems) {
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

pub(super) fn of_urls(file: &File, found: &mut Problems) {
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
