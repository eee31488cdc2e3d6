//! `sapwood import-httpd-conf FILE`: the configuration of `sapwood serve` that does what httpd's
//! does for mod_dav_svn, mod_authz_svn and mod_dontdothat, on standard output; and on standard error what
//! could not be taken over. `docs/serve.md` has the table of all directives.

mod certificates;
#[cfg(test)]
mod directives;
mod parse;
mod place;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::{output, report};
use certificates::Trust;
use parse::{Directive, Reader, Section};
use place::{OF_PLACES, Place, file, quoted, said};

const HELP: &str = "\
usage: sapwood import-httpd-conf FILE

Reads the configuration of an Apache httpd that serves repositories with mod_dav_svn, with what it
includes, and writes a configuration for 'sapwood serve --config' to standard output. What could not be
taken over is said on standard error, with its place. Look at both before you use it, and try
'sapwood serve --config NEW --check'.

Options:
  -h [--help]        show this help
";

/// Kilobytes of httpd's cache below which ours stays as it is.
const USUAL_CACHE: u64 = 256 << 10;

/// Directives of TLS that need nothing in their place, or that places heed: versions and ciphers are the library's.
const NOT_NEEDED: [&str; 22] = [
    "sslengine",
    "sslprotocol",
    "sslciphersuite",
    "sslhonorcipherorder",
    "sslsessioncache",
    "sslsessioncachetimeout",
    "sslsessiontickets",
    "sslrandomseed",
    "sslusestapling",
    "sslstaplingcache",
    "sslcompression",
    "sslinsecurerenegotiation",
    "sslcryptodevice",
    "sslmutex",
    "sslpassphrasedialog",
    "sslcertificatefile",
    "sslverifyclient",
    "sslusername",
    "ssloptions",
    "sslcacertificatefile",
    "sslcarevocationfile",
    "sslcarevocationcheck",
];

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let path = match args.as_slice() {
        [word] if word == "-h" || word == "--help" => {
            return output::print("sapwood import-httpd-conf", HELP);
        }
        [path] => Path::new(path),
        _ => {
            report::stderr("sapwood import-httpd-conf: one FILE is needed\n");
            report::stderr("Type 'sapwood import-httpd-conf --help' for usage.\n");
            return ExitCode::FAILURE;
        }
    };
    match import(path) {
        Ok((text, notes)) => {
            for note in notes {
                report::stderr(&format!("sapwood import-httpd-conf: {note}\n"));
            }
            output::print("sapwood import-httpd-conf", &text)
        }
        Err(error) => {
            report::exit_error(&error, "sapwood import-httpd-conf: ");
            ExitCode::FAILURE
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    let (usage, text) = HELP.split_once("\n\n").unwrap_or((HELP, ""));
    crate::manual::Manual {
        synopsis: usage.lines().map(|l| l.trim_start_matches("usage:").trim().to_owned()).collect(),
        laid_out: text.to_owned(),
        ..crate::manual::Manual::default()
    }
}

/// The new configuration, and what could not be taken over.
fn import(path: &Path) -> SvnResult<(String, Vec<String>)> {
    let mut reader = Reader::default();
    reader.read(path, 0)?;
    let all = &reader.directives;
    let root = reader.root.as_deref().or_else(|| path.parent()).unwrap_or(Path::new("/"));
    let mut notes = Vec::new();
    let mut places = Vec::new();
    // The authorities of client certificates are for the whole server here.
    let mut trusts = served(all).map(|at| Trust::of(root, of_host(all, at)));
    let taken = trusts.find(Trust::is_some);
    for at in served(all) {
        let own = section_of(at).map(|section| section.number);
        let url = section_of(at).and_then(|section| section.args.first().cloned());
        let Some((url, own)) = url.zip(own) else { continue };
        if section_of(at).is_some_and(|section| section.name == "locationmatch") {
            notes.push(format!("{}: <LocationMatch {url}>: patterns are not there", at.place));
            continue;
        }
        let here = all.iter().filter(|directive| {
            section_of(directive).is_some_and(|section| {
                section.number == own || (is_above(section, &url) && same_host(directive, at))
            })
        });
        let above = of_host(all, at).filter(|above| OF_PLACES.contains(&above.name.as_str()));
        let trust = (&Trust::of(root, of_host(all, at)), taken.as_ref());
        places.push((url.clone(), Place::read(&url, root, trust, above.chain(here))));
    }
    // Places within places only say more of who may do what.
    for inner in all.iter().filter(|d| d.name == "require") {
        let Some(section) = section_of(inner) else { continue };
        let Some(url) = section.args.first() else { continue };
        let of_place = |(top, _): &&(String, Place)| top == url;
        let is_within = places.iter().any(|(top, _)| {
            let rest = url.strip_prefix(top.trim_end_matches('/'));
            top != url && rest.is_some_and(|rest| rest.starts_with('/'))
        });
        if is_within && !places.iter().any(|place| of_place(&place)) {
            notes.push(format!(
                "{}: <Location {url}>: a place within a repository has no logins of its own; say it \
                 in the rules (authz)",
                inner.place
            ));
        }
    }
    if places.is_empty() {
        let message = format!("'{}' has no <Location> with 'DAV svn'", path.display());
        return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
    }
    let mut text = format!("# Made by 'sapwood import-httpd-conf' of {}\n", path.display());
    of_server((all, root), &places, &mut text, &mut notes);
    for (_, place) in &mut places {
        let _ = write!(text, "\n[[location]]\n{}\n", place.lines.join("\n"));
        for note in std::mem::take(&mut place.notes) {
            // What stands around places is told once.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    redirects(all, &mut text, &mut notes);
    Ok((text, notes))
}

/// The directives that say that mod_dav_svn serves a place.
fn served(all: &[Directive]) -> impl Iterator<Item = &Directive> {
    all.iter().filter(|directive| {
        directive.name == "dav"
            && directive.args.first().is_some_and(|word| word.eq_ignore_ascii_case("svn"))
    })
}

/// What the server around a place says, outside of all places.
fn of_host<'d>(all: &'d [Directive], at: &'d Directive) -> impl Iterator<Item = &'d Directive> {
    all.iter().filter(move |above| section_of(above).is_none() && same_host(above, at))
}

/// The location that a directive stands in.
fn section_of(directive: &Directive) -> Option<&Section> {
    directive.within.iter().rfind(|s| s.name == "location" || s.name == "locationmatch")
}

/// Whether a location's settings are for `url`, too, as one above it.
fn is_above(section: &Section, url: &str) -> bool {
    let Some(top) = section.args.first() else { return false };
    let rest = url.strip_prefix(top.trim_end_matches('/'));
    section.name == "location" && top != url && rest.is_some_and(|rest| rest.starts_with('/'))
}

fn same_host(a: &Directive, b: &Directive) -> bool {
    let host = |directive: &Directive| {
        directive.within.iter().find(|s| s.name == "virtualhost").map(|s| s.number)
    };
    host(a).is_none() || host(a) == host(b)
}

/// The settings of the whole server.
fn of_server(
    (all, root): (&[Directive], &Path),
    places: &[(String, Place)],
    text: &mut String,
    notes: &mut Vec<String>,
) {
    let mut set: Vec<(&str, String)> = Vec::new();
    let mut put = |directive: Option<&Directive>, name: &'static str, value: String| match set
        .iter()
        .find(|(known, _)| *known == name)
    {
        Some((_, known)) if *known == value => {}
        Some(_) => notes.push(match directive {
            Some(d) => {
                format!("{}: {} {}: there can be one only", d.place, d.shown, d.args.join(" "))
            }
            None => format!("{name} = {value}: all places have one setting"),
        }),
        None => set.push((name, value)),
    };
    let mut told = Vec::new();
    for directive in all.iter().filter(|d| section_of(d).is_none()) {
        let first = directive.args.first().map_or("", String::as_str);
        match directive.name.as_str() {
            "listen" => {
                let port: Option<u16> = first.rsplit(':').next().and_then(|p| p.parse().ok());
                let is_tls = port == Some(443)
                    || directive.args.get(1).is_some_and(|a| a.eq_ignore_ascii_case("https"));
                let name = if is_tls { "https-port" } else { "http-port" };
                if let Some(port) = port {
                    put(Some(directive), name, port.to_string());
                }
                let host = first.rsplit_once(':').map_or("0.0.0.0", |(host, _)| host);
                put(Some(directive), "listen", quoted(host.trim_matches(['[', ']'])));
            }
            "sslcertificatefile" => put(Some(directive), "tls-certificate", file(root, first)),
            "sslcertificatekeyfile" => put(Some(directive), "tls-key", file(root, first)),
            "customlog" if first.starts_with('|') => {}
            "customlog" => {
                put(Some(directive), "access-log", file(root, first));
                if directive.args.get(1).is_some_and(|form| form == "common") {
                    put(Some(directive), "access-log-form", quoted("common"));
                }
            }
            "svncompressionlevel" => put(Some(directive), "compression", first.to_owned()),
            "svninmemorycachesize" => {
                if let Some(size) = first.parse::<u64>().ok().filter(|size| *size > USUAL_CACHE) {
                    put(Some(directive), "cache-megabytes", (size >> 10).to_string());
                }
            }
            name if name.starts_with("ssl") && !NOT_NEEDED.contains(&name) => {
                told.push(said(directive, "it is not known here"));
            }
            _ => {}
        }
    }
    for (name, value) in places.iter().flat_map(|(_, place)| &place.of_server) {
        put(None, name, value.clone());
    }
    notes.append(&mut told);
    if !set.iter().any(|(name, _)| *name == "tls-certificate") {
        set.retain(|(name, _)| *name != "https-port" && !name.starts_with("tls-client-"));
    }
    for (name, value) in set {
        let _ = writeln!(text, "{name} = {value}");
    }
}

/// Addresses that have moved.
fn redirects(all: &[Directive], text: &mut String, notes: &mut Vec<String>) {
    for directive in all {
        let args: Vec<&str> = directive.args.iter().map(String::as_str).collect();
        let name = directive.name.as_str();
        let (permanent, rest) = match (name, args.as_slice()) {
            ("redirectpermanent", rest) | (_, ["permanent" | "301", rest @ ..]) => (true, rest),
            (_, ["temp" | "302", rest @ ..] | rest) => (false, rest),
        };
        let moved = match (name, rest) {
            ("redirect" | "redirectpermanent", [from, to]) => Some(((*from).to_owned(), *to)),
            ("redirectmatch", [from, to]) => begins(from, to),
            ("redirect" | "redirectmatch" | "redirecttemp", _) => None,
            _ => continue,
        };
        let Some((from, to)) = moved else {
            let args = args.join(" ");
            notes.push(format!(
                "{}: {} {args}: a redirect here is by the beginning of the path",
                directive.place, directive.shown
            ));
            continue;
        };
        let (from, to) = (quoted(&from), quoted(to));
        let _ = write!(text, "\n[[redirect]]\nfrom = {from}\nto = {to}\npermanent = {permanent}\n");
    }
}

/// What a pattern says that is nothing but a beginning and the rest: `^/x(.*)$` and `/svn$1`.
fn begins<'t>(from: &str, to: &'t str) -> Option<(String, &'t str)> {
    let begin = from.strip_prefix('^')?.strip_suffix("(.*)$")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '%');
    let to = to.strip_suffix("$1").filter(|to| !to.contains('$'))?;
    (begin.starts_with('/') && begin.chars().all(plain)).then(|| (format!("{begin}*"), to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        std::fs::write(&path, text).unwrap();
        let (text, notes) = import(&path).unwrap();
        (text.split_once('\n').unwrap().1.to_owned(), notes)
    }

    #[test]
    fn a_whole_configuration() {
        let (text, notes) = imported(
            "Listen 80\nListen 443\nSVNCompressionLevel 3\nSVNInMemoryCacheSize 1048576\n\
             <VirtualHost *:443>\nSSLCertificateFile /c.pem\nSSLCertificateKeyFile /k.pem\n\
             <Location /svn>\nDAV svn\nSVNParentPath \"/srv/s v\"\nSVNListParentPath on\n\
             AuthType Basic\nAuthName \"Our \\\"best\\\"\"\nAuthUserFile /u\nRequire valid-user\n\
             AuthzSVNAccessFile /a\nSVNAllowBulkUpdates Prefer\nSVNCacheRevProps on\n\
             SVNIndexXSLT /x.xsl\nAuthLDAPURL ldap://x\n</Location>\n\
             <Location /svn/secret>\nRequire user joe\n</Location>\n</VirtualHost>\n\
             Redirect permanent /old /svn\nRedirectMatch ^/x-(.*)$ /svn/$1\n\
             RedirectMatch ^/[ab](.*)$ /svn$1\n",
        );
        let expected = "http-port = 80\nlisten = \"0.0.0.0\"\nhttps-port = 443\ncompression = 3\n\
             cache-megabytes = 1024\ntls-certificate = \"/c.pem\"\ntls-key = \"/k.pem\"\n\
             bulk-updates = \"prefer\"\n\n\
             [[location]]\nurl = \"/svn\"\nfolder = \"/srv/s v\"\nlist = true\n\
             realm = \"Our \\\"best\\\"\"\nusers = \"/u\"\nauthz = \"/a\"\nlogin = \"required\"\n\n\
             [[redirect]]\nfrom = \"/old\"\nto = \"/svn\"\npermanent = true\n\n\
             [[redirect]]\nfrom = \"/x-*\"\nto = \"/svn/\"\npermanent = false\n";
        assert_eq!(text, expected);
        let told = notes.join("\n");
        for word in ["SVNIndexXSLT", "AuthLDAPURL", "/svn/secret", "RedirectMatch"] {
            assert!(told.contains(word), "{word}: {told}");
        }
        assert_eq!(notes.len(), 4, "{told}");
    }

    #[test]
    fn who_may_come_in() {
        let place = |inner: &str| {
            let (text, notes) = imported(&format!(
                "<Location />\nAuthUserFile /u\n</Location>\n\
                 <Location /s>\nDAV svn\nSVNPath /r\n{inner}\n</Location>\n"
            ));
            let says = |line: &&str| {
                ["anonymous", "login", "authz"].iter().any(|word| line.starts_with(word))
            };
            let lines: Vec<&str> = text.lines().filter(says).collect();
            (lines.join(", "), notes.len())
        };
        let of = |text: &str| (text.to_owned(), 0);
        assert_eq!(place("Require all granted").0, "anonymous = \"write\"");
        assert_eq!(place("Require all granted\nAuthzSVNAccessFile /a"), of("authz = \"/a\""));
        assert_eq!(place("Require valid-user\nSatisfy Any").0, "login = \"optional\"");
        assert_eq!(
            place("Require valid-user\nSatisfy Any\nAuthzSVNAnonymous Off").0,
            "login = \"required\""
        );
        assert_eq!(
            place("Require valid-user\nSatisfy Any\nAuthzSVNNoAuthWhenAnonymousAllowed On").0,
            "login = \"lenient\""
        );
        assert_eq!(
            place("<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire valid-user\n</LimitExcept>")
                .0,
            "login = \"optional\", anonymous = \"read\""
        );
        assert_eq!(place("Require ip 10.0.0.0/8"), ("anonymous = \"none\"".to_owned(), 1));
    }

    #[test]
    fn what_guards_a_place_is_never_lost() {
        let import = |server: &str, inner: &str| {
            let (text, notes) = imported(&format!(
                "{server}\n<Location /s>\nDAV svn\nSVNPath /r\n{inner}\n</Location>\n"
            ));
            let words = [
                "anonymous",
                "authenticated",
                "login",
                "users",
                "require-c",
                "certificate-",
                "master",
            ];
            let says = |line: &&str| words.iter().any(|word| line.starts_with(word));
            let lines: Vec<&str> = text.lines().filter(says).collect();
            (lines.join(", "), notes.join("\n"))
        };
        const LOGIN: &str = "AuthUserFile /u\nRequire valid-user";
        let none = "anonymous = \"none\"";
        let cases = [
            ("SSLVerifyClient require", "", none, "SSLVerifyClient"),
            ("SSLVerifyClient require", LOGIN, none, "SSLVerifyClient"),
            ("", "SSLVerifyClient require", none, "SSLVerifyClient"),
            ("", "SSLRequire %{SSL_CLIENT_S_DN_O} eq \"x\"", none, "SSLRequire"),
            ("SSLVerifyClient require", "SSLVerifyClient none", "anonymous = \"write\"", ""),
            ("SSLVerifyClient optional", "", "anonymous = \"write\"", "SSLVerifyClient"),
            ("SSLCACertificateFile /ca", "", "anonymous = \"write\"", ""),
            ("", "SSLRequireSSL", "anonymous = \"write\"", "SSLRequireSSL"),
            ("", "SVNMasterURI http://m/s", "master = \"http://m/s\", anonymous = \"write\"", ""),
            ("", "SVNMasterURI file:///s", "anonymous = \"read\"", "SVNMasterURI"),
            ("", "Order deny,allow\nDeny from all", none, "Deny from all"),
            ("", "Order allow,deny\nAllow from 10.0.0.0/8", none, "Allow from 10"),
            ("", "Order allow,deny\nAllow from all", "anonymous = \"write\"", ""),
            (
                "",
                "<LimitExcept GET PROPFIND OPTIONS REPORT>\nDeny from all\n</LimitExcept>",
                "anonymous = \"read\"",
                "",
            ),
            (
                "",
                "<LimitExcept GET PROPFIND OPTIONS REPORT>\nRequire all denied\n</LimitExcept>",
                "anonymous = \"read\"",
                "",
            ),
        ];
        for (server, inner, expected, told) in cases {
            let (text, notes) = import(server, inner);
            assert_eq!(text, expected, "{server}; {inner}");
            assert!(notes.contains(told), "{server}; {inner}: {notes}");
            assert!(!told.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
        }
        let mirror = format!("{LOGIN}\nSVNMasterURI x\nSVNMasterVersion 1.8.0");
        let login = "users = \"/u\", login = \"required\"";
        assert_eq!(import("", &mirror).0, format!("{login}, authenticated = \"read\""));
        let mirror = "SVNMasterURI https://m/s\nSVNMasterVersion 1.8.0";
        let lines = "master = \"https://m/s\", master-version = \"1.8.0\", anonymous = \"write\"";
        assert_eq!(import("", mirror).0, lines);
        // Only readers are asked: a user who is asked to read is asked to write, too.
        let readers =
            LOGIN.replace("Require", "<Limit GET PROPFIND REPORT>\nRequire") + "\n</Limit>";
        assert_eq!(import("", &readers).0, login);
    }

    #[test]
    fn certificates_of_clients() {
        let import = |server: &str, inner: &str| {
            let (text, notes) = imported(&format!(
                "<VirtualHost *:443>\nSSLCertificateFile /c\nSSLCertificateKeyFile /k\n{server}\n\
                 <Location /s>\nDAV svn\nSVNPath /r\nAuthUserFile /u\n{inner}\n</Location>\n\
                 </VirtualHost>\n"
            ));
            let (first, place) = text.split_once("\n[[location]]\n").unwrap();
            let first: Vec<&str> = first.lines().filter(|l| l.starts_with("tls-client-")).collect();
            let place: Vec<&str> = place.lines().skip(2).collect();
            (first.join(", "), place.join(", "), notes.join("\n"))
        };
        const CA: &str = "SSLCACertificateFile /ca";
        const NAME: &str = "SSLUserName SSL_CLIENT_S_DN_CN";
        const LISTS: &str = "SSLCARevocationFile /crl\nSSLCARevocationCheck chain";
        let ca = "tls-client-ca = \"/ca\"";
        let needed = "require-certificate = true";
        let open = format!("anonymous = \"write\", {needed}");
        let user = "certificate-user = \"CN\"";
        let login = format!("users = \"/u\", login = \"required\", {needed}");
        for (server, inner, settings, place, told) in [
            (format!("{CA}\nSSLVerifyClient require"), String::new(), ca, &*open, ""),
            (CA.to_owned(), "SSLVerifyClient require".to_owned(), ca, &open, ""),
            (
                CA.to_owned(),
                "SSLVerifyClient optional\nRequire ssl-verify-client".to_owned(),
                ca,
                &open,
                "",
            ),
            (
                CA.to_owned(),
                format!("SSLVerifyClient require\n{NAME}"),
                ca,
                &format!("{open}, {user}"),
                "",
            ),
            (
                format!("{CA}\nSSLVerifyClient optional\n{NAME}"),
                String::new(),
                ca,
                &format!("anonymous = \"write\", {user}"),
                "",
            ),
            (
                format!("{CA}\n{LISTS}\nSSLVerifyClient require"),
                String::new(),
                "tls-client-ca = \"/ca\", tls-client-crl = \"/crl\"",
                &open,
                "",
            ),
            // The password says who it is.
            (
                format!("{CA}\nSSLVerifyClient require\n{NAME}"),
                "Require valid-user".to_owned(),
                ca,
                &login,
                "",
            ),
            // What cannot be taken over leaves the place closed.
            (
                CA.to_owned(),
                "SSLVerifyClient require\nSSLUserName SSL_CLIENT_S_DN".to_owned(),
                "",
                "anonymous = \"none\"",
                "SSLUserName",
            ),
            (
                CA.to_owned(),
                "SSLVerifyClient require\nSSLOptions +FakeBasicAuth".to_owned(),
                "",
                "anonymous = \"none\"",
                "FakeBasicAuth",
            ),
            (
                format!("{CA}\nSSLCARevocationCheck chain\nSSLVerifyClient require"),
                String::new(),
                "",
                "anonymous = \"none\"",
                "SSLCARevocationFile only",
            ),
            (
                String::new(),
                "Require ssl-verify-client".to_owned(),
                "",
                "anonymous = \"none\"",
                "not asked for",
            ),
        ] {
            let (found, lines, notes) = import(&server, &inner);
            assert_eq!(found, settings, "{server}; {inner}");
            assert_eq!(lines, place, "{server}; {inner}");
            assert!(notes.contains(told), "{server}; {inner}: {notes}");
            assert!(!told.is_empty() || notes.is_empty(), "{server}; {inner}: {notes}");
        }
    }

    #[test]
    fn nothing_to_import() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c");
        std::fs::write(&file, "Listen 80\n").unwrap();
        assert!(import(&file).unwrap_err().message().contains("no <Location>"));
    }
}
