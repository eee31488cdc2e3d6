//! The merged httpd sections of one address, and their conversion to a `[[location]]` of ours.
//!
//! Sections are merged as each module merges its own: mod_dav_svn takes what the inner one says and keeps the rest,
//! mod_authz_svn and mod_access_compat take the inner one's as a whole, mod_authz_core as `AuthMerging` says.
//!
//! Invariant: an unknown directive closes the location ([`MergedSections::closed`]).

use std::path::{Path, PathBuf};

use super::Note;
use super::access::{Access, Level, Member, Terms};
use super::certificates::{Certificates, Trust};
use super::directory::{LdapDirectives, TomlDirectory, group_name};
use super::kerberos::{KerberosDirectives, Outcome};
use super::known;
use super::parse::{Directive, Section};
use super::words::{file, quoted};
use sapwood_accounts::GROUP_PREFIX;
use sapwood_server::dav::Master;

/// Directives of mod_dav_svn that need nothing in their place: there is one cache, commits are in memory, paths are
/// UTF-8, and reports cost no subrequests.
const NOT_NEEDED: [&str; 7] = [
    "svnactivitiesdb",
    "svncachetextdeltas",
    "svncachefulltexts",
    "svncacherevprops",
    "svncachenodeprops",
    "svnblockread",
    "svnuseutf8",
];

/// Directives of the whole server, not of a location.
pub(super) const OF_SERVER: [&str; 5] =
    ["svncompressionlevel", "svninmemorycachesize", "svnuseutf8", "customlog", "transferlog"];

fn is_on(directive: &Directive) -> bool {
    directive.args.first().is_some_and(|word| word.eq_ignore_ascii_case("on"))
}

/// Which repositories a location has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repositories {
    /// Whether it is a folder of repositories.
    pub(super) is_folder: bool,
    pub(super) path: PathBuf,
    /// The address of the section that says it.
    at: String,
}

/// The directives of mod_authz_svn in one section.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    /// The setting, and its value in quotes.
    file: Option<(&'static str, String)>,
    groups: Option<String>,
    username_case: Option<String>,
    lenient: bool,
    no_anonymous: bool,
    at: String,
}

/// How users prove their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Login {
    kind: Option<String>,
    realm: Option<String>,
    users: Option<String>,
    provider: Option<Vec<String>>,
    ldap: LdapDirectives,
    kerberos: KerberosDirectives,
}

impl Login {
    /// The setting that names the password file, if we have such a setting.
    fn users(&self) -> Option<(&'static str, &String)> {
        let name = match self.kind.as_deref()? {
            "basic" => "users",
            "digest" => "digest-users",
            _ => return None,
        };
        self.users.as_ref().filter(|_| self.asks("file")).map(|file| (name, file))
    }

    /// Whether this provider is asked about passwords, and no other than those that are there.
    fn asks(&self, provider: &str) -> bool {
        match &self.provider {
            None => provider == "file",
            Some(words) => {
                words.iter().all(|word| word == "file" || word == "ldap")
                    && words.iter().any(|word| word == provider)
            }
        }
    }

    /// Whether tickets of Kerberos count, with names as here.
    fn takes_tickets(&self) -> bool {
        self.kind.as_deref() == Some("gssapi") && self.kerberos.fits()
    }

    /// Whether a directory is asked about passwords.
    fn asks_directory(&self) -> bool {
        self.kind.as_deref() == Some("basic") && self.asks("ldap") && self.ldap.is_some()
    }
}

/// The sections of an address, merged.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedSections {
    /// mod_dav's provider, in lower case.
    provider: Option<String>,
    served: Option<Repositories>,
    /// The address of the last section that has a directive of mod_dav_svn.
    of_svn: Option<String>,
    /// Settings with their values.
    settings: Vec<(&'static str, String)>,
    rules: Option<Rules>,
    login: Login,
    access: Access,
    certificates: Certificates,
    needs_tls: Option<Note>,
    reads_only: bool,
    /// Where the last section stands, and the last requirement.
    place: String,
    required_at: String,
    /// Settings of the whole server that it asks for.
    pub(super) of_server: Vec<(&'static str, String)>,
    /// Why all access is refused.
    pub(super) closed: Vec<Note>,
    /// What else could not be converted.
    pub(super) notes: Vec<Note>,
}

/// The settings of a location, as lines of TOML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TomlPlace {
    pub(super) lines: Vec<String>,
    /// The directory that its users are in.
    pub(super) directory: Option<TomlDirectory>,
    pub(super) of_server: Vec<(&'static str, String)>,
}

/// What is known of the location's server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    /// The directory that relative file names start from.
    pub(super) root: &'a Path,
    /// The trust anchors of that server.
    pub(super) trust: &'a Trust,
    /// Our trust anchors.
    pub(super) taken: Option<&'a Trust>,
    /// Whether all connections are encrypted.
    pub(super) tls: bool,
}

impl MergedSections {
    /// The address at which it is served, if mod_dav_svn serves it, in the form of sections' addresses.
    pub(super) fn served_at(&self) -> Option<(&Repositories, &str)> {
        let served = self.served.as_ref().filter(|_| self.is_svn())?;
        Some((served, &served.at))
    }

    /// Whether mod_dav_svn answers.
    pub(super) fn is_svn(&self) -> bool {
        self.provider.as_deref() == Some("svn")
    }

    /// Takes the directives of one section, or those around all sections (`at` is empty there).
    pub(super) fn take_section(
        &mut self,
        at: &str,
        directives: &[(&Directive, &[Section])],
        root: &Path,
    ) {
        if directives.iter().any(|(d, _)| d.name.starts_with("authz") && is_of_rules(&d.name)) {
            let at = at.to_owned();
            let (lenient, no_anonymous) = (false, false);
            let (file, groups, username_case) = (None, None, None);
            self.rules = Some(Rules { file, groups, username_case, lenient, no_anonymous, at });
        }
        if let Some((first, _)) = directives.first() {
            self.place.clone_from(&first.place);
        }
        for (directive, within) in directives {
            self.take(at, directive, within, root);
        }
        self.access.end_section();
    }

    fn set(&mut self, name: &'static str, value: Option<String>) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.extend(value.map(|value| (name, value)));
    }

    fn note(&mut self, directive: &Directive, why: &str) {
        self.notes.push(Note::of(directive, why));
    }

    fn close(&mut self, directive: &Directive, why: &str) {
        self.closed.push(Note::of(directive, why));
    }

    fn take(&mut self, at: &str, directive: &Directive, within: &[Section], root: &Path) {
        let name = directive.name.as_str();
        if known::is_harmless(name) || OF_SERVER.contains(&name) {
            return;
        }
        if known::is_missed(name) {
            return self.note(directive, "it is not there");
        }
        if let Some(why) = &directive.doubt {
            self.close(directive, why);
            // The served repositories are written, and closed, so that they are seen.
            if !(name == "dav" || name.starts_with("svn")) {
                return;
            }
        }
        let is_known = |s: &Section| s.name.starts_with("limit") || s.name.starts_with("require");
        if let Some(odd) = within.iter().find(|section| !is_known(section)) {
            return self.close(directive, &format!("<{}> is not understood", odd.name));
        }
        if matches!(name, "require" | "order" | "deny") {
            self.required_at.clone_from(&directive.place);
        }
        if self.certificates.take(directive) || self.access.take(directive, within) {
            return;
        }
        match name {
            "dav" => {
                self.provider = directive.args.first().map(|word| word.to_ascii_lowercase());
            }
            _ if name.starts_with("svn") => {
                self.of_svn = Some(at.to_owned());
                self.svn(at, directive, root);
            }
            _ if is_of_rules(name) => self.take_rules(directive, root),
            _ => self.take_login(directive, root),
        }
    }

    /// Directives of mod_dav_svn.
    fn svn(&mut self, at: &str, directive: &Directive, root: &Path) {
        let first = directive.args.first().map_or("", String::as_str);
        let flag = is_on(directive).then(|| "true".to_owned());
        match directive.name.as_str() {
            "svnpath" | "svnparentpath" => {
                let is_folder = directive.name == "svnparentpath";
                self.served =
                    Some(Repositories { is_folder, path: root.join(first), at: at.to_owned() });
            }
            "svnlistparentpath" => self.set("list", flag),
            "svnautoversioning" => self.set("autoversioning", flag),
            "svnreposname" => self.set("name", Some(quoted(first))),
            "svnpathauthz" => {
                let word = first.to_ascii_lowercase().replace('_', "-");
                match word.as_str() {
                    "on" | "off" | "short-circuit" => self.set("path-authz", Some(quoted(&word))),
                    _ => self.close(directive, "that word is not known"),
                }
            }
            "svnhooksenv" => self.set("hooks-env", Some(quoted(first))),
            "svnspecialuri" if first.trim_matches('/') == "!svn" => {}
            "svnspecialuri" => self.note(directive, "the name is '!svn'"),
            "svnmasteruri" => {
                self.reads_only = Master::new(first, None, None).is_err();
                if self.reads_only {
                    self.set("master", None);
                    self.note(directive, "that is no URL of a master: the place is read only");
                } else {
                    self.set("master", Some(quoted(first)));
                }
            }
            "svnmasterversion" => self.set("master-version", Some(quoted(first))),
            "svnallowbulkupdates" => {
                self.set_of_server("bulk-updates", Some(quoted(&first.to_ascii_lowercase())));
            }
            "svnadvertisev2protocol" => {
                let off = (!is_on(directive)).then(|| "false".to_owned());
                self.set_of_server("http-v2", off);
            }
            name if NOT_NEEDED.contains(&name) => {}
            _ => self.close(directive, "it is not known here"),
        }
    }

    /// A setting of the whole server, or none, in place of what was said before.
    fn set_of_server(&mut self, name: &'static str, value: Option<String>) {
        self.of_server.retain(|(known, _)| *known != name);
        self.of_server.extend(value.map(|value| (name, value)));
    }

    /// Directives of mod_authz_svn.
    fn take_rules(&mut self, directive: &Directive, root: &Path) {
        let Some(mut rules) = self.rules.take() else { return };
        let first = directive.args.first().map_or("", String::as_str);
        match directive.name.as_str() {
            "authzsvnaccessfile" => rules.file = Some(("authz", file(root, first))),
            "authzsvnreposrelativeaccessfile" => {
                let name = if first.starts_with("^/") { "authz" } else { "authz-in-conf" };
                rules.file = Some((name, quoted(first)));
            }
            "authzsvngroupsfile" => rules.groups = Some(file(root, first)),
            "authzsvnanonymous" => rules.no_anonymous = !is_on(directive),
            "authzsvnnoauthwhenanonymousallowed" => rules.lenient = is_on(directive),
            "authzforceusernamecase" => {
                let word = first.to_ascii_lowercase();
                match word.as_str() {
                    "upper" | "lower" => rules.username_case = Some(quoted(&word)),
                    _ => self.close(directive, "that word is not known"),
                }
            }
            "authzsvnauthoritative" if is_on(directive) => {}
            "authzsvnauthoritative" => {
                self.note(directive, "what the rules refuse, nothing else allows");
            }
            _ => self.close(directive, "it is not known here"),
        }
        self.rules = Some(rules);
    }

    /// Takes a directive about tickets; whether it is one.
    fn take_kerberos(&mut self, directive: &Directive) -> bool {
        let Some(taken) = self.login.kerberos.take(directive, is_on(directive)) else {
            return false;
        };
        match taken {
            Outcome::Nothing => {}
            Outcome::Say(why) => self.note(directive, &why),
            Outcome::NeedsTls => self.need_tls(directive),
            Outcome::Closes => self.close(directive, "it is not known here"),
        }
        true
    }

    fn need_tls(&mut self, directive: &Directive) {
        let why = "https alone is not known to be spoken here";
        self.needs_tls = Some(Note::of(directive, why));
    }

    fn take_login(&mut self, directive: &Directive, root: &Path) {
        if self.take_kerberos(directive) {
            return;
        }
        let first = directive.args.first().map_or("", String::as_str);
        let words = || directive.args.iter().map(|word| word.to_ascii_lowercase()).collect();
        match directive.name.as_str() {
            "authname" => self.login.realm = Some(first.to_owned()),
            "authuserfile" => self.login.users = Some(file(root, first)),
            "authtype" => {
                self.login.kind = Some(first.to_ascii_lowercase());
                let kinds = ["basic", "digest", "gssapi", "none"];
                if !kinds.contains(&&*first.to_ascii_lowercase()) {
                    self.note(directive, "only Basic, Digest and GSSAPI are there");
                }
            }
            "authbasicprovider" | "authdigestprovider" => {
                self.login.provider = Some(words());
                let is_known = |word: &String| word == "file" || word == "ldap";
                if self.login.provider.as_ref().is_some_and(|words| !words.iter().all(is_known)) {
                    self.note(directive, "only password files and LDAP are there");
                }
            }
            // Without effect here, since there is no login method beside the password file.
            "authbasicauthoritative"
            | "authgroupfile"
            | "authdigestdomain"
            | "authdigestnoncelifetime" => {}
            "authdigestalgorithm" if first.eq_ignore_ascii_case("md5") => {}
            "authdigestqop" if first.eq_ignore_ascii_case("auth") => {}
            "sslrequiressl" => self.need_tls(directive),
            "requestheader" if directive.args.last().is_none_or(|word| word != "early") => {}
            name if name.starts_with("authldap") => {
                if let Err(why) = self.login.ldap.take(directive) {
                    self.note(directive, why);
                }
            }
            // Directives of login methods that do not exist here.
            name if name.starts_with("authdb") || name.starts_with("authform") => {
                self.note(directive, "it is not known here");
            }
            _ => self.close(directive, "it is not known here"),
        }
    }

    /// Closes the location where its settings cannot be converted; `at` is its address.
    pub(super) fn check(&mut self, at: &str, around: &Around<'_>) {
        let tail = "says it for another address than that where the repositories are";
        let mut odd = Vec::new();
        if self.of_svn.as_deref().is_some_and(|of| of != at) {
            odd.push(format!("mod_dav_svn's section {tail}"));
        }
        if self.rules.as_ref().is_some_and(|rules| rules.at != at) {
            odd.push(format!("mod_authz_svn's section {tail}"));
        }
        self.closed.extend(odd.iter().map(|why| Note::new(&self.place, "Location", why)));
        if let Some(note) = self.needs_tls.take().filter(|_| !around.tls) {
            self.closed.push(note);
        }
    }

    /// Whether two addresses are served alike, but for their repositories.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let of = |m: &Self| {
            let access = (m.access.clone(), m.login.clone(), m.rules.clone(), m.provider.clone());
            let served = (m.served.clone(), m.of_svn.clone(), m.settings.clone());
            (access, served, m.certificates.clone(), m.reads_only, m.needs_tls.is_some())
        };
        of(self) == of(other) && self.closed.len() == other.closed.len()
    }

    /// Whether it differs from the enclosing location in access only, and not in what is served.
    pub(super) fn differs_by_access(&self, other: &Self) -> bool {
        (&self.served, &self.of_svn, &self.settings, &self.provider)
            == (&other.served, &other.of_svn, &other.settings, &other.provider)
            && self.rules == other.rules
    }

    /// The conditions beside requirements and addresses.
    fn terms(&self, around: &Around<'_>) -> Terms {
        let has_type = self.login.kind.as_deref().is_some_and(|kind| kind != "none");
        let rules = self.rules.as_ref();
        let asks = rules.is_some_and(|rules| rules.file.is_some() && !rules.no_anonymous);
        let by_members = self.access.members().is_some();
        Terms { tls: around.tls, has_type, by_members, looks_at_passwords: asks && has_type }
    }

    /// Whether some user may do more than with `other`.
    pub(super) fn is_wider_than(&self, other: &Self, around: &Around<'_>) -> bool {
        let level = |all: &Self, is_user: bool| all.access.level(is_user, all.terms(around));
        // Of two lists of users, neither is known to have all of the other.
        let (own, others) = (self.access.members(), other.access.members());
        let is_for_others = others.is_some() && own != others && level(self, true) > Level::None;
        is_for_others
            || [false, true].into_iter().any(|is_user| level(self, is_user) > level(other, is_user))
    }

    /// Our form of the location at `url`, if its settings allow that.
    pub(super) fn written(
        &mut self,
        url: &str,
        served: &Repositories,
        around: &Around<'_>,
    ) -> TomlPlace {
        let mut written = TomlPlace { lines: first_lines(url, served), ..TomlPlace::default() };
        let rules = self.rules.clone().filter(|rules| rules.file.is_some());
        let (members, groups) = self.members();
        let directory = self.login.asks_directory().then(|| self.login.ldap.written(&groups));
        let directory = directory.flatten();
        let has_users =
            self.login.users().is_some() || directory.is_some() || self.login.takes_tickets();
        let terms = self.terms(around);
        let anonymous = self.access.level(false, terms);
        // A group of a directory has members only where the directory is asked.
        let are_known = groups.is_empty() || directory.is_some();
        let known =
            if has_users && are_known { self.access.level(true, terms) } else { Level::None };
        let wants_users = self.access.asks_for_users(terms);
        if wants_users && !has_users {
            let why = self.why_without_users();
            self.closed.extend(
                (anonymous == Level::None).then(|| Note::new(&self.required_at, "Require", why)),
            );
        }
        let asks = has_users && (known > anonymous || (rules.is_some() && anonymous > Level::None));
        let certificates = std::mem::take(&mut self.certificates)
            .close((around.trust, around.taken), asks && known > anonymous);
        if !certificates.is_closed {
            self.notes.extend(certificates.notes);
        } else {
            self.closed.extend(certificates.notes);
        }
        let is_closed = anonymous == Level::None && known == Level::None;
        if is_closed && self.closed.is_empty() && !self.access.is_denied(terms) {
            let why = "httpd lets some users in by what is not looked at here (names, addresses, expressions)";
            self.closed.push(Note::new(&self.required_at, "Require", why));
        }
        if is_closed || !self.closed.is_empty() {
            return closed(url, served);
        }
        self.put_settings(served, rules.is_some(), &mut written.lines);
        if asks {
            self.put_login(&members, directory, &mut written);
        }
        let lines = &mut written.lines;
        if let Some(rules) = &rules {
            put_rules(rules, lines);
        }
        self.put_access(asks, (anonymous, known), rules.as_ref(), lines);
        written.of_server.clone_from(&self.of_server);
        written.of_server.extend(certificates.of_server);
        lines.extend(certificates.own.into_iter().map(|(name, value)| format!("{name} = {value}")));
        written
    }

    /// Why users are asked for, and none can be known.
    fn why_without_users(&self) -> &'static str {
        match self.login.users {
            None if self.login.kind.as_deref() == Some("gssapi") => {
                "names of users have their realm ('GssapiLocalName' is not on), and here they have none"
            }
            None if !self.login.ldap.is_some() => {
                "users are asked for, but no AuthUserFile is named"
            }
            _ => "users are asked for, and what says who they are is not there",
        }
    }

    /// The users and groups that are let in, as a list of TOML has them, and the names of the groups with their entries.
    fn members(&self) -> (Vec<String>, Vec<(String, String)>) {
        let (mut members, mut groups) = (Vec::new(), Vec::new());
        for member in self.access.members().into_iter().flatten() {
            let name = match member {
                Member::User(name) => name,
                Member::Group(entry) => {
                    let name = group_name(&entry, &groups);
                    groups.push((name.clone(), entry));
                    format!("{GROUP_PREFIX}{name}")
                }
            };
            members.push(quoted(&name));
        }
        (members, groups)
    }

    /// Writes what says who users are, and which of them are let in.
    fn put_login(
        &mut self,
        members: &[String],
        directory: Option<TomlDirectory>,
        written: &mut TomlPlace,
    ) {
        let lines = &mut written.lines;
        lines.extend(self.login.realm.as_ref().map(|realm| format!("realm = {}", quoted(realm))));
        lines.extend(self.login.users().map(|(name, file)| format!("{name} = {file}")));
        lines.extend(self.login.takes_tickets().then(|| "kerberos = true".to_owned()));
        if !members.is_empty() {
            lines.push(format!("members = [{}]", members.join(", ")));
        }
        if let Some(directory) = directory {
            let note = |why: &String| Note::new(&self.required_at, "AuthLDAPURL", why);
            self.notes.extend(directory.notes.iter().map(note));
            written.directory = Some(directory);
        }
    }

    fn put_settings(&self, served: &Repositories, has_rules: bool, lines: &mut Vec<String>) {
        let has_master = self.settings.iter().any(|(name, _)| *name == "master");
        for (name, value) in &self.settings {
            let fits = match *name {
                "list" => served.is_folder,
                "master-version" => has_master,
                "path-authz" => has_rules,
                _ => true,
            };
            if fits {
                lines.push(format!("{name} = {value}"));
            }
        }
    }

    /// Writes the login methods, and the most that users may do.
    fn put_access(
        &self,
        asks: bool,
        (anonymous, known): (Level, Level),
        rules: Option<&Rules>,
        lines: &mut Vec<String>,
    ) {
        let most = if self.reads_only { Level::Read } else { Level::Write };
        let (anonymous, known) = (anonymous.min(most), known.min(most));
        let word = |level: Level| match level {
            Level::None => "\"none\"",
            Level::Read => "\"read\"",
            Level::Write => "\"write\"",
        };
        let has_rules = rules.is_some();
        let no_anonymous = asks && rules.is_some_and(|rules| rules.no_anonymous);
        let lenient = rules.is_some_and(|rules| rules.lenient);
        if asks {
            let login = match anonymous {
                Level::None => "required",
                _ if no_anonymous => "required",
                _ if lenient => "lenient",
                _ => "optional",
            };
            lines.push(format!("login = \"{login}\""));
            if known < Level::Write {
                lines.push(format!("authenticated = {}", word(known)));
            }
            if login == "required" {
                return;
            }
        }
        // Without a setting all users may do what the rules say, and without rules they may read.
        if anonymous < Level::Write || !has_rules {
            lines.push(format!("anonymous = {}", word(anonymous)));
        }
    }
}

/// Whether a directive is mod_authz_svn's.
fn is_of_rules(name: &str) -> bool {
    name.starts_with("authzsvn") || name == "authzforceusernamecase"
}

fn put_rules(rules: &Rules, lines: &mut Vec<String>) {
    let Some((name, file)) = &rules.file else { return };
    lines.push(format!("{name} = {file}"));
    lines.extend(rules.groups.as_ref().map(|groups| format!("groups = {groups}")));
    lines.extend(rules.username_case.as_ref().map(|case| format!("username-case = {case}")));
}

fn first_lines(url: &str, served: &Repositories) -> Vec<String> {
    let kind = if served.is_folder { "folder" } else { "repository" };
    let address = if url.is_empty() { "/" } else { url };
    let path = quoted(&served.path.to_string_lossy());
    let mut lines = vec![
        format!("url = {}", quoted(&sapwood_core::uri::encode(address))),
        format!("{kind} = {path}"),
    ];
    // As httpd, which looks no further.
    lines.extend(served.is_folder.then(|| "flat = true".to_owned()));
    lines
}

/// A location without access.
pub(super) fn closed(url: &str, served: &Repositories) -> TomlPlace {
    let mut lines = first_lines(url, served);
    lines.push("anonymous = \"none\"".to_owned());
    TomlPlace { lines, ..TomlPlace::default() }
}

impl Repositories {
    /// One repository of a folder.
    pub(super) fn inner(&self, name: &str) -> Self {
        Self { is_folder: false, path: self.path.join(name), at: self.at.clone() }
    }
}
