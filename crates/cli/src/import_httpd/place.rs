//! One `<Location>` that mod_dav_svn serves, as a `[[location]]` of ours.

use std::path::{Path, PathBuf};

use super::certificates::{Certificates, Trust};
use super::parse::Directive;
use sapwood_server::dav::Master;

/// Directives that need nothing in their place: there is one cache, commits are in memory, paths
/// are UTF-8, and reports cost no subrequests.
const NOT_NEEDED: [&str; 11] = [
    "svnactivitiesdb",
    "svncachetextdeltas",
    "svncachefulltexts",
    "svncacherevprops",
    "svncachenodeprops",
    "svnblockread",
    "svnuseutf8",
    "options",
    "setoutputfilter",
    "limitxmlrequestbody",
    "authdigestdomain",
];

/// Directives that places heed where they stand in the server around them, too; of httpd's own modules those of TLS.
pub(super) const OF_PLACES: [&str; 12] = [
    "sslverifyclient",
    "sslusername",
    "ssloptions",
    "svnspecialuri",
    "svnautoversioning",
    "svnpathauthz",
    "svnlistparentpath",
    "svnallowbulkupdates",
    "svnadvertisev2protocol",
    "svnhooksenv",
    "dontdothatconfigfile",
    "dontdothatdisallowreplay",
];

/// Methods that read: a `<Limit>` that names one of them, or a `<LimitExcept>` that leaves one of them
/// out, is not about writers only.
const READING: [&str; 3] = ["GET", "PROPFIND", "REPORT"];

/// What a place says, as lines of TOML.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) lines: Vec<String>,
    /// What could not be taken over, with where it stands.
    pub(super) notes: Vec<String>,
    /// Settings of the whole server that the place asks for.
    pub(super) of_server: Vec<(&'static str, String)>,
    /// What relative names of files are relative to.
    root: PathBuf,
    has_rules: bool,
    has_users: bool,
    digest: bool,
    needs_user: bool,
    /// Only writers need a name.
    writers_only: bool,
    any: bool,
    lenient: bool,
    no_anonymous: bool,
    denied: bool,
    /// What is said of client certificates, beside all else.
    certificates: Certificates,
    /// Writers are refused, or sent to another server.
    reads_only: bool,
    /// `Order`, `Allow` and `Deny` of httpd 2.2.
    hosts: Hosts,
}

/// What is said of the addresses of clients in the words of httpd 2.2.
#[derive(Debug, Default)]
struct Hosts {
    /// Addresses that nothing is said of are refused.
    closed: bool,
    all_allowed: bool,
    some_denied: bool,
}

/// Whether a directive is about writers only.
fn of_writers(directive: &Directive) -> bool {
    let names = |args: &[String], word: &str| args.iter().any(|a| a.eq_ignore_ascii_case(word));
    directive.within.iter().any(|section| match section.name.as_str() {
        "limit" => !READING.iter().any(|word| names(&section.args, word)),
        "limitexcept" => READING.iter().all(|word| names(&section.args, word)),
        _ => false,
    })
}

/// Text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The name of a file, which may be relative, in quotes.
pub(super) fn file(root: &Path, name: &str) -> String {
    if name.starts_with("^/") || sapwood_core::uri::is_url(name) {
        return quoted(name);
    }
    quoted(&root.join(name).to_string_lossy())
}

/// What people are told of a directive.
pub(super) fn said(directive: &Directive, why: &str) -> String {
    let args = directive.args.join(" ");
    format!("{}: {} {args}: {why}", directive.place, directive.shown)
}

fn is_on(directive: &Directive) -> bool {
    directive.args.first().is_some_and(|word| word.eq_ignore_ascii_case("on"))
}

impl Place {
    /// Reads the directives of a location, those that it inherits first. `trust` is whose certificates the
    /// server around it takes, and whose are taken by ours.
    pub(super) fn read<'d>(
        url: &str,
        root: &Path,
        trust: (&Trust, Option<&Trust>),
        directives: impl Iterator<Item = &'d Directive>,
    ) -> Self {
        let mut place = Self { root: root.to_owned(), ..Self::default() };
        place.lines.push(format!("url = {}", quoted(url)));
        for directive in directives {
            place.take(directive);
        }
        place.access(trust);
        place
    }

    fn set(&mut self, name: &str, value: &str) {
        let begin = format!("{name} = ");
        self.lines.retain(|line| !line.starts_with(&begin));
        self.lines.push(begin + value);
    }

    /// A setting that is `false` where nothing is said of it. A place may take back what one above it says.
    fn flag(&mut self, name: &str, directive: &Directive) {
        let begin = format!("{name} = ");
        self.lines.retain(|line| !line.starts_with(&begin));
        if is_on(directive) {
            self.set(name, "true");
        }
    }

    /// A setting of the whole server, or none, in place of what was said before.
    fn set_of_server(&mut self, name: &'static str, value: Option<String>) {
        self.of_server.retain(|(known, _)| *known != name);
        self.of_server.extend(value.map(|value| (name, value)));
    }

    fn note(&mut self, directive: &Directive, why: &str) {
        self.notes.push(said(directive, why));
    }

    fn take(&mut self, directive: &Directive) {
        let first = directive.args.first().map_or("", String::as_str);
        let text = quoted(first);
        match directive.name.as_str() {
            "svnpath" => self.set("repository", &text),
            "svnparentpath" => self.set("folder", &text),
            "svnlistparentpath" => self.flag("list", directive),
            "svnreposname" => self.set("name", &text),
            "svnautoversioning" => self.flag("autoversioning", directive),
            "svnpathauthz" => {
                let word = first.to_ascii_lowercase().replace('_', "-");
                self.set("path-authz", &quoted(&word));
            }
            "svnhooksenv" => self.set("hooks-env", &text),
            "svnindexxslt" => self.note(directive, "pages are HTML; 'plain-pages' is for programs"),
            "svnspecialuri" if first.trim_matches('/') == "!svn" => {}
            "svnspecialuri" => self.note(directive, "the name is '!svn'"),
            "svnmasteruri" => match Master::new(first, None, None) {
                Ok(_) => self.set("master", &text),
                Err(_) => {
                    self.reads_only = true;
                    self.note(directive, "that is no URL of a master: the place is read only");
                }
            },
            "svnmasterversion" => self.set("master-version", &text),
            "svnallowbulkupdates" => {
                self.set_of_server("bulk-updates", Some(quoted(&first.to_ascii_lowercase())));
            }
            "svnadvertisev2protocol" => {
                let off = (!is_on(directive)).then(|| "false".to_owned());
                self.set_of_server("http-v2", off);
            }
            name if name.starts_with("authzsvn") || name == "authzforceusernamecase" => {
                self.rules(directive, first);
            }
            "dontdothatconfigfile" | "dontdothatdisallowreplay" => {
                self.note(directive, "reports are not refused by their cost");
            }
            _ => self.login(directive, first),
        }
    }

    fn rules(&mut self, directive: &Directive, first: &str) {
        match directive.name.as_str() {
            "authzsvnaccessfile" => {
                self.has_rules = true;
                self.set("authz", &file(&self.root, first));
            }
            "authzsvnreposrelativeaccessfile" => {
                self.has_rules = true;
                let in_tree = first.starts_with("^/");
                self.set(if in_tree { "authz" } else { "authz-in-conf" }, &quoted(first));
            }
            "authzsvngroupsfile" => self.set("groups", &file(&self.root, first)),
            "authzsvnanonymous" => self.no_anonymous = !is_on(directive),
            "authzsvnnoauthwhenanonymousallowed" => self.lenient = is_on(directive),
            "authzforceusernamecase" => {
                self.set("username-case", &quoted(&first.to_ascii_lowercase()));
            }
            "authzsvnauthoritative" if is_on(directive) => {}
            "authzsvnauthoritative" => {
                self.note(directive, "what the rules refuse, nothing else allows");
            }
            _ => self.note(directive, "it is not known"),
        }
    }

    fn login(&mut self, directive: &Directive, first: &str) {
        match directive.name.as_str() {
            "dav" => {}
            name if NOT_NEEDED.contains(&name) => {}
            "authname" => self.set("realm", &quoted(first)),
            "authuserfile" => {
                self.has_users = true;
                self.set("users", &file(&self.root, first));
            }
            "authtype" if first.eq_ignore_ascii_case("basic") => {}
            "authtype" if first.eq_ignore_ascii_case("digest") => self.digest = true,
            "authtype" => self.note(directive, "only Basic and Digest are there"),
            "authbasicprovider" | "authdigestprovider" if first.eq_ignore_ascii_case("file") => {}
            "authbasicprovider" | "authdigestprovider" => {
                self.note(directive, "only password files are there")
            }
            "sslrequiressl" => self.note(directive, "leave out 'http-port', if it is set"),
            "order" => {
                self.hosts.closed = first.to_ascii_lowercase().starts_with("allow,")
                    || first.eq_ignore_ascii_case("mutual-failure");
            }
            "allow" | "deny" => self.hosts(directive),
            "satisfy" => self.any = first.eq_ignore_ascii_case("any"),
            "require" => self.require(directive, first),
            _ if self.certificates.take(directive) => {}
            _ => self.note(directive, "it is not known here"),
        }
    }

    fn require(&mut self, directive: &Directive, first: &str) {
        match first.to_ascii_lowercase().as_str() {
            "valid-user" if of_writers(directive) => self.writers_only = true,
            "valid-user" => self.needs_user = true,
            "user" | "group" | "ldap-user" | "ldap-group" => {
                self.needs_user = true;
                self.note(
                    directive,
                    "every user of the password file may log in; rules can refuse",
                );
            }
            "ssl-verify-client" => self.certificates.need(),
            "all" => {
                let word = directive.args.get(1).map(|word| word.to_ascii_lowercase());
                match word.as_deref() == Some("denied") {
                    true if of_writers(directive) => self.reads_only = true,
                    is_denied => self.denied = is_denied,
                }
            }
            _ => {
                self.denied = true;
                self.note(directive, "nobody is let in until this is solved otherwise");
            }
        }
    }

    /// `Allow from`, `Deny from`.
    fn hosts(&mut self, directive: &Directive) {
        let is_all = directive.args.get(1).is_some_and(|word| word.eq_ignore_ascii_case("all"));
        match directive.name.as_str() {
            "allow" if is_all => self.hosts.all_allowed = true,
            "deny" if of_writers(directive) => self.reads_only = true,
            name => {
                self.hosts.some_denied |= name == "deny";
                self.note(directive, "addresses are not looked at");
            }
        }
    }

    /// Where no name is asked for, none counts.
    fn forget_users(&mut self) {
        self.lines.retain(|l| !l.starts_with("users = ") && !l.starts_with("digest-users = "));
    }

    /// Who may come in, of all that was said.
    fn access(&mut self, trust: (&Trust, Option<&Trust>)) {
        if self.digest {
            for line in self.lines.iter_mut().filter(|line| line.starts_with("users = ")) {
                line.insert_str(0, "digest-");
            }
        }
        if (self.needs_user || self.writers_only) && !self.has_users {
            self.notes.push("users are asked for, but no AuthUserFile is named".to_owned());
            self.denied = true;
        }
        self.denied |= self.hosts.some_denied || (self.hosts.closed && !self.hosts.all_allowed);
        let has_passwords = (self.needs_user || self.writers_only) && self.has_users;
        let certificates = std::mem::take(&mut self.certificates).settle(trust, has_passwords);
        self.notes.extend(certificates.notes);
        if certificates.is_shut || (self.denied && !self.needs_user) {
            self.set("anonymous", "\"none\"");
            self.forget_users();
            return;
        }
        self.of_server.extend(certificates.of_server);
        self.logins();
        for (name, value) in certificates.own {
            self.set(name, &value);
        }
        if !self.lines.iter().any(|line| line.starts_with("master = ")) {
            self.lines.retain(|line| !line.starts_with("master-version"));
        }
        if self.reads_only {
            self.no_writers();
        }
    }

    /// What may be done at most is to read.
    fn no_writers(&mut self) {
        let has = |begin: &str| self.lines.iter().any(|line| line.starts_with(begin));
        let asks = has("login = \"required\"");
        let users = has("users = ") || has("digest-users = ") || has("certificate-user = ");
        if users {
            self.set("authenticated", "\"read\"");
        }
        if !asks {
            self.set("anonymous", "\"read\"");
        }
    }

    /// Who logs in, where the place is open.
    fn logins(&mut self) {
        let optional = if self.lenient { "\"lenient\"" } else { "\"optional\"" };
        match (self.needs_user, self.writers_only) {
            (true, _) if self.any && !self.no_anonymous => self.set("login", optional),
            (true, _) => self.set("login", "\"required\""),
            (false, true) => {
                self.set("login", optional);
                self.set("anonymous", "\"read\"");
            }
            (false, false) => {
                self.forget_users();
                if !self.has_rules {
                    self.set("anonymous", "\"write\"");
                }
            }
        }
    }
}
