//! What a start says: the addresses of what is served, and commands to try.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sapwood_core::uri;
use sapwood_server::Listener;
use sapwood_server::dav::settings::Location;
use sapwood_server::svn::DEFAULT_PORT;

use super::listed::MAX_LISTED;

/// The command for our `svn` in a shell: its name where that is ours or another one, or our own program's.
fn svn_command() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    match () {
        () if is_there("svn") => "svn".to_owned(),
        () if is_there("sapwood") => "sapwood svn".to_owned(),
        () => {
            let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("sapwood"));
            let own = own.to_string_lossy();
            let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
            match own.chars().all(plain) {
                true => format!("{own} svn"),
                false => format!("'{}' svn", own.replace('\'', "'\\''")),
            }
        }
    }
}

/// Host and port as a URL has them.
pub(super) fn authority(address: Option<SocketAddr>, usual: u16) -> String {
    let port = address.map_or(usual, |a| a.port());
    let host = match address.map(|a| a.ip()) {
        Some(ip) if !ip.is_unspecified() && ip.is_ipv6() => format!("[{ip}]"),
        Some(ip) if !ip.is_unspecified() => ip.to_string(),
        _ => "localhost".to_owned(),
    };
    if port == usual { host } else { format!("{host}:{port}") }
}

/// What is served, when that is nothing but locations, by the addresses of the server.
pub(super) fn hello_places(bases: &[String], places: &[Location]) -> String {
    let mut text = String::from("Serving:\n");
    for place in places.iter().take(MAX_LISTED) {
        for base in bases {
            text.push_str(&format!("  {base}/{}\n", uri::encode(&place.prefix)));
        }
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}

/// What is served, with commands to try.
pub(super) fn hello(
    listener: &Listener,
    bases: &[String],
    root: &Path,
    repositories: &[PathBuf],
    is_demo: bool,
) -> String {
    let svn = format!("svn://{}", authority(listener.address(), DEFAULT_PORT));
    let name = |repository: &PathBuf| {
        let name = repository.strip_prefix(root).unwrap_or(repository).to_string_lossy();
        uri::encode(&name).into_owned()
    };
    let urls: Vec<String> = repositories.iter().map(|r| format!("{svn}/{}", name(r))).collect();
    let of = |r| bases.iter().map(|base| format!("  {base}/{}\n", name(r))).collect();
    let pages: Vec<String> = repositories.iter().map(of).collect();
    let mut text = String::from("Serving:\n");
    for (url, page) in urls.iter().zip(&pages).take(MAX_LISTED) {
        text.push_str(&format!("  {url}\n{page}"));
    }
    if urls.len() > MAX_LISTED {
        text.push_str("  ... and more\n");
    }
    if let Some(url) = urls.first() {
        text.push_str("\nTry:\n");
        if let Some(page) = pages.first().and_then(|pages| pages.lines().next()) {
            // The web pages, which a configuration may have switched off.
            let pages = if is_demo { "-/" } else { "" };
            text.push_str(&format!("{page}/{pages} in a browser\n"));
        }
        let svn = svn_command();
        text.push_str(&format!(
            "  {svn} log -v {url}\n  {svn} ls -R {url}\n  {svn} checkout {url}\n"
        ));
        if is_demo {
            let user = "--username demo --password demo";
            text.push_str(&format!(
                "  {svn} mkdir -m 'Something new.' {user} {url}/branches/new\n"
            ));
        }
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}
