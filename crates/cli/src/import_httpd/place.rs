//! One `<Location>` that mod_dav_svn serves, as a `[[location]]` of ours.

use std::path::{Path, PathBuf};

use super::parse::Directive;

/// Directives that need nothing in their place: there is one cache, commits are in memory, paths
/// are UTF-8, and reports cost no subrequests.
const NOT_NEEDED: [&str; 16] = [
    "svnactivitiesdb",
    "svncachetextdeltas",
    "svncachefulltexts",
    "svncacherevprops",
    "svncachenodeprops",
    "svnblockread",
    "svnuseutf8",
    "svnmasterversion",
    "options",
    "order",
    "allow",
    "deny",
    "sslrequiressl",
    "setoutputfilter",
    "limitxmlrequestbody",
    "authdigestdomain",
];

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

fn is_on(directive: &Directive) -> bool {
    directive.args.first().is_some_and(|word| word.eq_ignore_ascii_case("on"))
}

impl Place {
    /// Reads the directives of a location, those that it inherits first.
    pub(super) fn read<'d>(
        url: &str,
        root: &Path,
        directives: impl Iterator<Item = &'d Directive>,
    ) -> Self {
        let mut place = Self { root: root.to_owned(), ..Self::default() };
        place.lines.push(format!("url = {}", quoted(url)));
        for directive in directives {
            place.take(directive);
        }
        place.access();
        place
    }

    fn set(&mut self, name: &str, value: &str) {
        let begin = format!("{name} = ");
        self.lines.retain(|line| !line.starts_with(&begin));
        self.lines.push(begin + value);
    }

    fn note(&mut self, directive: &Directive, why: &str) {
        let args = directive.args.join(" ");
        self.notes.push(format!("{}: {} {args}: {why}", directive.place, directive.shown));
    }

    fn take(&mut self, directive: &Directive) {
        let first = directive.args.first().map_or("", String::as_str);
        let text = quoted(first);
        match directive.name.as_str() {
            "svnpath" => self.set("repository", &text),
            "svnparentpath" => self.set("folder", &text),
            "svnlistparentpath" if is_on(directive) => self.set("list", "true"),
            "svnreposname" => self.set("name", &text),
            "svnautoversioning" if is_on(directive) => self.set("autoversioning", "true"),
            "svnpathauthz" => {
                let word = first.to_ascii_lowercase().replace('_', "-");
                self.set("path-authz", &quoted(&word));
            }
            "svnhooksenv" => self.set("hooks-env", &text),
            "svnlistparentpath" | "svnautoversioning" => {}
            "svnindexxslt" => self.note(directive, "pages are HTML; 'plain-pages' is for programs"),
            "svnspecialuri" if first.trim_matches('/') == "!svn" => {}
            "svnspecialuri" => self.note(directive, "the name is '!svn'"),
            "svnmasteruri" => self.note(directive, "there is no write-through proxy"),
            "svnallowbulkupdates" => {
                self.of_server.push(("bulk-updates", quoted(&first.to_ascii_lowercase())));
            }
            "svnadvertisev2protocol" if !is_on(directive) => {
                self.of_server.push(("http-v2", "false".to_owned()));
            }
            "svnadvertisev2protocol" => {}
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
            "satisfy" => self.any = first.eq_ignore_ascii_case("any"),
            "require" => self.require(directive, first),
            _ => self.note(directive, "it is not known here"),
        }
    }

    fn require(&mut self, directive: &Directive, first: &str) {
        let limits = |name: &str| directive.within.iter().any(|s| s.name == name);
        match first.to_ascii_lowercase().as_str() {
            "valid-user" if limits("limitexcept") => self.writers_only = true,
            "valid-user" if limits("limit") => self.writers_only = true,
            "valid-user" => self.needs_user = true,
            "user" | "group" | "ldap-user" | "ldap-group" => {
                self.needs_user = true;
                self.note(
                    directive,
                    "every user of the password file may log in; rules can refuse",
                );
            }
            "all" => {
                let word = directive.args.get(1).map(|word| word.to_ascii_lowercase());
                self.denied = word.as_deref() == Some("denied");
            }
            _ => {
                self.denied = true;
                self.note(directive, "nobody is let in until this is solved otherwise");
            }
        }
    }

    /// Where no name is asked for, none counts.
    fn forget_users(&mut self) {
        self.lines.retain(|l| !l.starts_with("users = ") && !l.starts_with("digest-users = "));
    }

    /// Who may come in, of all that was said.
    fn access(&mut self) {
        if self.digest {
            for line in self.lines.iter_mut().filter(|line| line.starts_with("users = ")) {
                line.insert_str(0, "digest-");
            }
        }
        if (self.needs_user || self.writers_only) && !self.has_users {
            self.notes.push("users are asked for, but no AuthUserFile is named".to_owned());
            self.denied = true;
        }
        if self.denied && !self.needs_user {
            self.set("anonymous", "\"none\"");
            self.forget_users();
            return;
        }
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
