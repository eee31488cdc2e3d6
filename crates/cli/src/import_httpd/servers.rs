//! httpd's servers: the main one and its virtual hosts, and at which addresses each is reached.
//!
//! Invariant: an uncertain address or port is never opened.

use super::Note;
use super::parse::{Directive, Section};

/// `Listen`, or the address of a virtual host. Without an address it is all of them, without a port any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    /// Whether `Listen` says that it speaks https.
    is_tls: bool,
}

impl Socket {
    fn parse(text: &str, protocol: Option<&str>) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // An address of IPv6 without a port.
            Some(_) if text.starts_with('[') && text.ends_with(']') => (text, None),
            Some((host, "*")) => (host, None),
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => match text.parse() {
                Ok(port) => ("*", Some(port)),
                Err(_) => (text, None),
            },
        };
        let host = host.trim_matches(['[', ']']);
        let any = ["*", "_default_", "0.0.0.0", "::", ""];
        let is_tls = match protocol {
            Some(word) => word.eq_ignore_ascii_case("https"),
            None => port == Some(443),
        };
        let host = (!any.contains(&host)).then(|| host.to_ascii_lowercase());
        Some(Self { host, port, is_tls })
    }

    /// The addresses that match both, if any.
    fn and(&self, listen: &Self) -> Option<Self> {
        let port = match (self.port, listen.port) {
            (Some(own), Some(other)) if own != other => return None,
            (own, other) => own.or(other),
        };
        let host = match (&self.host, &listen.host) {
            (Some(own), Some(other)) if own != other => return None,
            (own, other) => own.clone().or_else(|| other.clone()),
        };
        Some(Self { host, port, is_tls: listen.is_tls })
    }

    /// Whether all that `other` means is in it.
    fn covers(&self, other: &Self) -> bool {
        (self.host.is_none() || self.host == other.host)
            && (self.port.is_none() || self.port == other.port)
    }
}

/// The main server, or a virtual host.
#[derive(Clone, Debug)]
pub(super) struct Server<'d> {
    /// The section, if it is a virtual host's.
    section: Option<&'d Section>,
    /// Where it stands, or nothing for the main server.
    pub(super) place: String,
    pub(super) names: Vec<String>,
    /// Where it is reached; empty where that is not known.
    pub(super) sockets: Vec<Socket>,
    /// Whether it is reached at all.
    pub(super) is_reached: bool,
    /// All that counts for it, that of the main server first.
    pub(super) directives: Vec<&'d Directive>,
}

fn host_of(directive: &Directive) -> Option<&Section> {
    directive.within.iter().find(|section| section.name == "virtualhost")
}

impl<'d> Server<'d> {
    /// The directives outside of all other sections.
    pub(super) fn outside(&self) -> impl Iterator<Item = &'d Directive> {
        let outside = |directive: &&&'d Directive| {
            directive.within.iter().all(|section| section.name == "virtualhost")
        };
        self.directives.iter().filter(outside).copied()
    }

    /// The last directive of a name outside of sections.
    pub(super) fn last(&self, name: &str) -> Option<&'d Directive> {
        self.outside().filter(|directive| directive.name == name).last()
    }

    /// Whether a connection to one of its sockets is encrypted.
    fn speaks_tls(&self, socket: &Socket) -> bool {
        match self.last("sslengine").and_then(|directive| directive.args.first()) {
            Some(word) => word.eq_ignore_ascii_case("on"),
            None => socket.is_tls,
        }
    }

    /// Whether all its connections are encrypted; not where it is not known where it listens.
    pub(super) fn is_tls_only(&self) -> bool {
        let engine = self.last("sslengine").and_then(|directive| directive.args.first());
        let all = self.sockets.iter().all(|socket| self.speaks_tls(socket));
        match self.sockets.is_empty() {
            true => engine.is_some_and(|word| word.eq_ignore_ascii_case("on")),
            false => all,
        }
    }

    /// Whether another one is reached at one of its sockets, by another name.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.sockets.iter().any(|socket| other.sockets.contains(socket))
    }

    /// Whether a name, with or without a port, means it.
    pub(super) fn is_named(&self, wanted: &str) -> bool {
        let name = wanted.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let (name, port) = name.map_or((wanted, None), |(name, port)| (name, port.parse().ok()));
        let at_port = port.is_none_or(|port| self.sockets.iter().any(|s| s.port == Some(port)));
        at_port && self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Its name in messages.
    pub(super) fn display_name(&self) -> String {
        match (self.section, self.names.first()) {
            (None, _) => "the main server".to_owned(),
            (_, Some(name)) => name.clone(),
            (Some(_), None) => format!("the virtual host of {}", self.place),
        }
    }
}

/// All servers of a configuration: the main one first.
pub(super) fn servers(all: &[Directive]) -> Vec<Server<'_>> {
    let listens: Vec<Socket> = all
        .iter()
        .filter(|d| d.name == "listen" && d.doubt.is_none())
        .filter_map(|d| Socket::parse(d.args.first()?, d.args.get(1).map(String::as_str)))
        .collect();
    let mut hosts: Vec<(&Section, &str)> = Vec::new();
    for directive in all {
        if let Some(host) = host_of(directive).filter(|h| !hosts.iter().any(|(k, _)| k == h)) {
            hosts.push((host, &directive.place));
        }
    }
    let own = |number: Option<usize>| {
        all.iter().filter(move |d| host_of(d).map(|section| section.number) == number)
    };
    let names = |directives: &[&Directive]| -> Vec<String> {
        let named = directives.iter().filter(|d| matches!(&*d.name, "servername" | "serveralias"));
        named.flat_map(|d| &d.args).map(|name| plain_name(name)).collect()
    };
    let mut found = Vec::new();
    let mut covering = Vec::new();
    for (section, place) in hosts {
        let addresses: Vec<Socket> =
            section.args.iter().filter_map(|arg| Socket::parse(arg, None)).collect();
        let own: Vec<&Directive> = own(Some(section.number)).collect();
        let mut sockets: Vec<Socket> = Vec::new();
        for address in &addresses {
            match listens.is_empty() {
                true => sockets.extend(address.port.map(|_| address.clone())),
                false => sockets.extend(listens.iter().filter_map(|l| address.and(l))),
            }
        }
        let names = names(&own);
        let is_reached = listens.is_empty() || !sockets.is_empty();
        covering.extend(addresses);
        // The main server's directives apply, too, and first.
        let directives = all.iter().filter(|d| host_of(d).is_none()).chain(own).collect();
        let (section, place) = (Some(section), place.to_owned());
        found.push(Server { section, place, names, sockets, is_reached, directives });
    }
    let directives: Vec<&Directive> = own(None).collect();
    let covered = |listen: &&Socket| !covering.iter().any(|address| address.covers(listen));
    let sockets: Vec<Socket> = listens.iter().filter(covered).cloned().collect();
    let is_reached = !sockets.is_empty() || listens.is_empty();
    let names = names(&directives);
    let main =
        Server { section: None, place: String::new(), names, sockets, is_reached, directives };
    found.insert(0, main);
    found
}

/// A name without scheme and port.
fn plain_name(name: &str) -> String {
    let name = name.rsplit_once("://").map_or(name, |(_, name)| name);
    name.split(':').next().unwrap_or(name).to_ascii_lowercase()
}

/// Where ours is to listen, of the servers that are taken over: settings, and what could not be taken over.
pub(super) fn listening(servers: &[&Server<'_>]) -> (Vec<(&'static str, String)>, Vec<Note>) {
    let mut notes = Vec::new();
    let mut sockets: Vec<(&Socket, bool)> = Vec::new();
    for server in servers {
        for socket in server.sockets.iter().filter(|socket| socket.port.is_some()) {
            let new = (socket, server.speaks_tls(socket));
            if !sockets.contains(&new) {
                sockets.push(new);
            }
        }
    }
    // https first: where there can be one address only, it is that one's.
    let chosen = sockets.iter().find(|(_, tls)| *tls).or(sockets.first()).copied();
    let Some((first, _)) = chosen else {
        let tls = servers.iter().any(|server| server.is_tls_only());
        return (tls.then(|| ("https-port", "8443".to_owned())).into_iter().collect(), notes);
    };
    let mut set =
        vec![("listen", super::words::quoted(first.host.as_deref().unwrap_or("0.0.0.0")))];
    for (socket, tls) in &sockets {
        let name = if *tls { "https-port" } else { "http-port" };
        let Some(port) = socket.port.map(|port| port.to_string()) else { continue };
        if socket.host == first.host && !set.iter().any(|(known, _)| *known == name) {
            set.push((name, port));
        } else if !(socket.host == first.host && set.contains(&(name, port.clone()))) {
            let at = format!("{}:{port}", socket.host.as_deref().unwrap_or("*"));
            let why = format!(
                "{at} is left out: there is one address, with one port for each of http and https"
            );
            notes.push(Note::new("", "Listen", &why));
        }
    }
    (set, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets() {
        let parse = |text: &str| {
            let socket = Socket::parse(text, None).unwrap();
            (socket.host, socket.port, socket.is_tls)
        };
        let host = |name: &str| Some(name.to_owned());
        assert_eq!(parse("80"), (None, Some(80), false));
        assert_eq!(parse("*:443"), (None, Some(443), true));
        assert_eq!(parse("_default_:443"), (None, Some(443), true));
        assert_eq!(parse("10.0.0.1"), (host("10.0.0.1"), None, false));
        assert_eq!(parse("[::1]:80"), (host("::1"), Some(80), false));
        assert_eq!(parse("[::1]"), (host("::1"), None, false));
        assert_eq!(parse("*"), (None, None, false));
        assert!(Socket::parse("24080", Some("https")).unwrap().is_tls);
        assert!(Socket::parse("a:b", None).is_none());
    }
}
