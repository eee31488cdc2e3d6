//! Settings of the whole server: where it listens, certificates, logs, caches, and addresses that have moved.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::parse::Directive;
use super::sections::ImportedPlace;
use super::servers::{Server, listening};
use super::words::file;
use super::words::quoted;
use super::{Note, known};

/// Kilobytes of httpd's cache below which ours stays as it is.
const USUAL_CACHE: u64 = 256 << 10;

/// Settings, each once.
#[derive(Default)]
struct ServerSettings {
    settings: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

impl ServerSettings {
    fn put(&mut self, directive: Option<&Directive>, name: &'static str, value: String) {
        match self.settings.iter().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == value => {}
            Some(_) => self.note(match directive {
                Some(directive) => Note::of(directive, "there can be one only"),
                None => Note::new("", name, "all places have one setting"),
            }),
            None => self.settings.push((name, value)),
        }
    }

    fn note(&mut self, note: Note) {
        let text = note.text();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn has(&self, name: &str) -> bool {
        self.settings.iter().any(|(known, _)| *known == name)
    }
}

/// Writes the settings of the whole server.
pub(super) fn settings(
    (servers, root): (&[&Server<'_>], &Path),
    places: &BTreeMap<String, ImportedPlace>,
    text: &mut String,
    notes: &mut Vec<String>,
) {
    let mut set = ServerSettings::default();
    let (sockets, left_out) = listening(servers);
    sockets.into_iter().for_each(|(name, value)| set.put(None, name, value));
    left_out.into_iter().for_each(|note| set.note(note));
    for server in servers {
        let logs = if own_logs(server) { "virtualhost" } else { "" };
        for directive in server.outside() {
            let is_inner = directive.within.iter().any(|section| section.name == "virtualhost");
            if is_log(directive) && !logs.is_empty() && !is_inner {
                continue;
            }
            take(directive, root, &mut set);
        }
    }
    if set.has("tls-certificate") && !set.has("tls-key") {
        // One file may have both.
        let both = set.settings.iter().find(|(name, _)| *name == "tls-certificate");
        if let Some((_, both)) = both.cloned() {
            set.put(None, "tls-key", both);
        }
    }
    if !set.has("https-port") {
        set.settings.retain(|(name, _)| !matches!(*name, "tls-certificate" | "tls-key"));
    } else if !set.has("tls-certificate") {
        set.note(Note::new(
            "",
            "SSLCertificateFile",
            "none is named: https does not start without",
        ));
    }
    for (name, value) in places.values().flat_map(|place| &place.written.of_server) {
        if name.starts_with("tls-client-") && !set.has("https-port") {
            continue;
        }
        set.put(None, name, value.clone());
    }
    for (name, value) in &set.settings {
        let _ = writeln!(text, "{name} = {value}");
    }
    notes.append(&mut set.notes);
}

fn is_log(directive: &Directive) -> bool {
    matches!(&*directive.name, "customlog" | "transferlog")
}

/// Whether a virtual host has logs of its own, in place of the main server's.
fn own_logs(server: &Server<'_>) -> bool {
    server.outside().any(|d| is_log(d) && d.within.iter().any(|s| s.name == "virtualhost"))
}

fn take(directive: &Directive, root: &Path, set: &mut ServerSettings) {
    let first = directive.args.first().map_or("", String::as_str);
    let name = directive.name.as_str();
    let taken = [
        "sslcertificatefile",
        "sslcertificatekeyfile",
        "customlog",
        "transferlog",
        "svncompressionlevel",
        "svninmemorycachesize",
    ];
    if let Some(why) = directive.doubt.as_ref().filter(|_| taken.contains(&name)) {
        return set.note(Note::of(directive, why));
    }
    match name {
        "sslcertificatefile" => set.put(Some(directive), "tls-certificate", file(root, first)),
        "sslcertificatekeyfile" => set.put(Some(directive), "tls-key", file(root, first)),
        "customlog" | "transferlog" => log(directive, root, set),
        "svncompressionlevel" => set.put(Some(directive), "compression", first.to_owned()),
        "svninmemorycachesize" => {
            if let Some(size) = first.parse::<u64>().ok().filter(|size| *size > USUAL_CACHE) {
                set.put(Some(directive), "cache-megabytes", (size >> 10).to_string());
            }
        }
        _ if known::is_missed(name) => set.note(Note::of(directive, "it is not there")),
        _ => {}
    }
}

/// `CustomLog`, `TransferLog`: logs of all requests in one of the two usual forms.
fn log(directive: &Directive, root: &Path, set: &mut ServerSettings) {
    let first = directive.args.first().map_or("", String::as_str);
    if first.starts_with('|') {
        return set.note(Note::of(directive, "logs are not handed to programs"));
    }
    let form = match directive.args.get(1).map(String::as_str) {
        None if directive.name == "transferlog" => "common",
        Some("common") => "common",
        Some("combined" | "vhost_combined") => "combined",
        _ => {
            return set.note(Note::of(directive, "logs have the form 'combined' or 'common' only"));
        }
    };
    if directive.args.len() > 2 {
        return set.note(Note::of(directive, "all requests are logged, or none"));
    }
    let had = set.has("access-log");
    set.put(Some(directive), "access-log", file(root, first));
    if form == "common" && !had {
        set.put(None, "access-log-form", quoted("common"));
    }
}

/// A redirect that our server can do: from, to, and whether it is permanent.
pub(super) fn moved(directive: &Directive) -> Option<(String, &str, bool)> {
    let args: Vec<&str> = directive.args.iter().map(String::as_str).collect();
    let name = directive.name.as_str();
    let (permanent, rest) = match (name, args.as_slice()) {
        ("redirectpermanent", rest) | (_, ["permanent" | "301", rest @ ..]) => (true, rest),
        (_, ["temp" | "302", rest @ ..] | rest) => (false, rest),
    };
    let (from, to) = match (name, rest) {
        ("redirect" | "redirectpermanent" | "redirecttemp", [from, to]) => {
            ((*from).to_owned(), *to)
        }
        ("redirectmatch", [from, to]) => begins(from, to)?,
        _ => return None,
    };
    let is_target = to.starts_with('/') || sapwood_core::uri::is_url(to);
    (from.starts_with('/') && is_target).then_some((from, to, permanent))
}

/// Parses a pattern that is only a prefix and the rest: `^/x(.*)$` and `/svn$1`.
fn begins<'t>(from: &str, to: &'t str) -> Option<(String, &'t str)> {
    let begin = from.strip_prefix('^')?.strip_suffix("(.*)$")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '%');
    let to = to.strip_suffix("$1").filter(|to| !to.contains('$'))?;
    (begin.starts_with('/') && begin.chars().all(plain)).then(|| (format!("{begin}*"), to))
}

/// Writes the addresses that have moved.
pub(super) fn write_redirects(servers: &[&Server<'_>], text: &mut String, notes: &mut Vec<String>) {
    let mut written = Vec::new();
    for directive in servers.iter().flat_map(|server| server.outside()) {
        if !directive.name.starts_with("redirect") || directive.name == "redirectrelative" {
            continue;
        }
        match moved(directive).filter(|_| directive.doubt.is_none()) {
            Some(moved) if written.contains(&moved) => {}
            Some(moved) => written.push(moved),
            None => {
                let why = "a redirect here is by the beginning of the path";
                let line = Note::of(directive, why).text();
                if !notes.contains(&line) {
                    notes.push(line);
                }
            }
        }
    }
    for (from, to, permanent) in written {
        let (from, to) = (quoted(&from), quoted(to));
        let _ = write!(text, "\n[[redirect]]\nfrom = {from}\nto = {to}\npermanent = {permanent}\n");
    }
}
