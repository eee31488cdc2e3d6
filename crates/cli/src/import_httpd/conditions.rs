//! The conditions of `<IfModule>`, `<IfDefine>` and `<IfVersion>`: modules, definitions and httpd's version.
//!
//! A configuration that loads modules itself is asked first; what is built into httpd, and all else, httpd's own
//! programs are asked (`apache2ctl`, `apachectl`), or the command line says it.
//!
//! Invariant: what is not certain is [`Answer::Unknown`], never a guess.

use std::collections::{HashMap, HashSet};
use std::process::{Command, Stdio};

/// Whether something holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It is not known; why.
    Unknown(String),
}

impl Answer {
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// The other way round.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            unknown => unknown,
        }
    }
}

/// Names that are known, and whether there may be others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    known: HashSet<String>,
    /// Names that may be there or not.
    doubtful: HashSet<String>,
    /// Whether those that are not known are certainly not there.
    complete: bool,
}

impl Names {
    fn has(&self, name: &str, unknown: impl FnOnce() -> String) -> Answer {
        match () {
            () if self.known.contains(name) => Answer::Yes,
            () if self.doubtful.contains(name) || !self.complete => Answer::Unknown(unknown()),
            () => Answer::No,
        }
    }
}

/// The command line's description of httpd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpdFacts {
    /// All modules, as `apache2ctl -M` names them.
    pub(super) modules: Option<Vec<String>>,
    /// All names that httpd is started with (`-D`).
    pub(super) defines: Option<Vec<String>>,
    /// httpd's version.
    pub(super) version: Option<String>,
}

/// The knowledge about the httpd that reads a configuration, as far as it has been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    modules: Names,
    defines: Names,
    values: HashMap<String, String>,
    /// Variables whose value is not known.
    doubtful_values: HashSet<String>,
    environment: HashMap<String, String>,
    version: Option<[u32; 3]>,
}

/// Files of modules that are not named as their modules are: `mod_x.c` is usually of `x_module`.
const FILES: [(&str, &str); 8] = [
    ("core.c", "core"),
    ("http_core.c", "http"),
    ("event.c", "mpm_event"),
    ("prefork.c", "mpm_prefork"),
    ("worker.c", "mpm_worker"),
    ("util_ldap.c", "ldap"),
    ("mpm_winnt.c", "mpm_winnt"),
    ("mpm_netware.c", "mpm_netware"),
];
/// Files that no module has, though their names look like it.
const NO_FILES: [&str; 4] =
    ["mod_ldap.c", "mod_mpm_event.c", "mod_mpm_prefork.c", "mod_mpm_worker.c"];
/// Modules of httpd and of Subversion whose files are named as they are.
const USUAL: &str = "access_compat actions alias allowmethods asis auth_basic auth_digest auth_form authn_anon \
    authn_core authn_dbd authn_dbm authn_file authn_socache authnz_fcgi authnz_ldap authz_core authz_dbd authz_dbm \
    authz_groupfile authz_host authz_owner authz_svn authz_user autoindex brotli buffer cache cache_disk cache_socache \
    cern_meta cgi cgid charset_lite data dav dav_fs dav_lock dav_svn dbd deflate dialup dir dontdothat dumpio echo env \
    expires ext_filter file_cache filter headers heartbeat heartmonitor http2 ident imagemap include info \
    lbmethod_bybusyness lbmethod_byrequests lbmethod_bytraffic lbmethod_heartbeat log_config log_debug log_forensic \
    logio lua macro md mime mime_magic negotiation proxy proxy_ajp proxy_balancer proxy_connect proxy_express \
    proxy_fcgi proxy_fdpass proxy_ftp proxy_hcheck proxy_html proxy_http proxy_http2 proxy_scgi proxy_uwsgi \
    proxy_wstunnel ratelimit reflector remoteip reqtimeout request rewrite sed session session_cookie session_crypto \
    session_dbd setenvif slotmem_plain slotmem_shm so socache_dbm socache_memcache socache_redis socache_shmcb speling \
    ssl status substitute suexec unique_id unixd userdir usertrack version vhost_alias watchdog xml2enc security2 perl";

/// The module that `<IfModule>` asks for: without `_module`. `None` when that cannot be said.
fn module_of(word: &str) -> Option<String> {
    if let Some(name) = word.strip_suffix("_module") {
        return Some(name.to_owned());
    }
    if let Some((_, name)) = FILES.iter().find(|(file, _)| *file == word) {
        return Some((*name).to_owned());
    }
    if NO_FILES.contains(&word) {
        return Some(word.to_owned());
    }
    let name = word.strip_prefix("mod_")?.strip_suffix(".c")?;
    USUAL.split_whitespace().any(|usual| usual == name).then(|| name.to_owned())
}

impl Conditions {
    /// What is known before a configuration is read. `loads` says whether it loads modules itself, `is_system` whether
    /// it is the one that httpd's own programs read, too; `sets` are the names that it defines itself.
    pub(super) fn new(
        given: &HttpdFacts,
        loads: bool,
        is_system: bool,
        sets: &HashSet<String>,
    ) -> Self {
        let mut found = Self::default();
        if let Some(modules) = &given.modules {
            found.modules.known = modules.iter().map(|name| plain_module(name)).collect();
            found.modules.complete = true;
        } else if let Some(names) = if loads { built_in() } else { all_modules() } {
            found.modules = Names { known: names, complete: true, ..Names::default() };
        } else {
            found.modules.known = ["core", "http", "so"].map(str::to_owned).into();
        }
        if let Some(defines) = &given.defines {
            found.defines.known = defines.iter().cloned().collect();
            found.defines.complete = true;
        } else if let Some(names) = (!loads || is_system).then(started_with).flatten() {
            // Definitions in the files apply only from there on.
            found.defines.known = names.difference(sets).cloned().collect();
            found.defines.complete = true;
        }
        found.version = match &given.version {
            Some(text) => version(text),
            None => installed_version(),
        };
        found
    }

    /// One that knows nothing, for a first look.
    pub(super) fn unknown() -> Self {
        Self::default()
    }

    /// Takes variables of the environment that httpd is started with.
    pub(super) fn set_environment(&mut self, variables: HashMap<String, String>) {
        self.environment = variables;
    }

    /// `LoadModule`. With `doubt` it may not have been read.
    pub(super) fn load(&mut self, module: &str, doubt: bool) {
        let names = &mut self.modules;
        let names = if doubt { &mut names.doubtful } else { &mut names.known };
        names.insert(plain_module(module));
    }

    /// `Define`.
    pub(super) fn define(&mut self, name: &str, value: Option<&str>, doubt: bool) {
        if doubt {
            self.forget(name, true);
            return;
        }
        self.defines.doubtful.remove(name);
        self.doubtful_values.remove(name);
        self.defines.known.insert(name.to_owned());
        if let Some(value) = value {
            self.values.insert(name.to_owned(), value.to_owned());
        }
    }

    /// `UnDefine`.
    pub(super) fn forget(&mut self, name: &str, doubt: bool) {
        self.defines.known.remove(name);
        if doubt {
            self.defines.doubtful.insert(name.to_owned());
            self.doubtful_values.insert(name.to_owned());
        }
        self.values.remove(name);
    }

    /// The value of `${NAME}`, if it is known.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        if self.doubtful_values.contains(name) {
            return None;
        }
        self.values.get(name).or_else(|| self.environment.get(name)).map(String::as_str)
    }

    /// Whether a condition holds: its section's name in lower case, and arguments.
    pub(super) fn ask(&self, section: &str, args: &[String]) -> Answer {
        let first = args.first().map_or("", String::as_str);
        let (not, word) = match first.strip_prefix('!') {
            Some(word) => (true, word),
            None => (false, first),
        };
        let answer = match section {
            "ifmodule" => self.has_module(word),
            "ifdefine" => self.defines.has(word, || {
                format!(
                    "it is not known whether httpd is started with -D {word} (--defines says it)"
                )
            }),
            "ifversion" => self.has_version(word, args.get(1).map(String::as_str)),
            _ => Answer::Unknown("such conditions are not asked".to_owned()),
        };
        if not { answer.negated() } else { answer }
    }

    fn has_module(&self, word: &str) -> Answer {
        let unknown =
            || format!("it is not known whether httpd has the module {word} (--modules says it)");
        match module_of(word) {
            Some(name) => self.modules.has(&name, unknown),
            None => Answer::Unknown(unknown()),
        }
    }

    fn has_version(&self, first: &str, second: Option<&str>) -> Answer {
        let unknown =
            || Answer::Unknown("httpd's version is not known (--httpd-version says it)".to_owned());
        let (operator, wanted) = match second {
            Some(wanted) => (first, wanted),
            None => ("=", first),
        };
        let Some((own, wanted)) = self.version.zip(version(wanted)) else { return unknown() };
        Answer::of(match operator {
            "=" | "==" => own == wanted,
            ">" => own > wanted,
            ">=" => own >= wanted,
            "<" => own < wanted,
            "<=" => own <= wanted,
            _ => return unknown(),
        })
    }
}

fn plain_module(name: &str) -> String {
    name.trim().trim_end_matches("_module").to_owned()
}

/// `2.4.62`; missing numbers are zero.
fn version(text: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split('.');
    for (number, part) in numbers.iter_mut().zip(&mut parts) {
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The output of one of httpd's programs, the first of `programs` that answers.
fn said_by(programs: &[&str], args: &[&str]) -> Option<String> {
    programs.iter().find_map(|program| {
        let mut command = Command::new(program);
        let done = command.args(args).stdin(Stdio::null()).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    })
}

/// Those that read the configuration of the machine's httpd, with its environment.
const CONTROLS: [&str; 4] =
    ["apache2ctl", "apachectl", "/usr/sbin/apache2ctl", "/usr/sbin/apachectl"];
/// Those that say what is built in, too.
const PROGRAMS: [&str; 8] = [
    "apache2ctl",
    "apachectl",
    "/usr/sbin/apache2ctl",
    "/usr/sbin/apachectl",
    "apache2",
    "httpd",
    "/usr/sbin/apache2",
    "/usr/sbin/httpd",
];

/// Modules in the form of `apache2ctl -M`.
pub(super) fn listed_modules(text: &str) -> Vec<String> {
    let words = text.lines().filter_map(|line| line.split_whitespace().next());
    words.filter(|word| word.ends_with("_module")).map(str::to_owned).collect()
}

fn all_modules() -> Option<HashSet<String>> {
    let listed = listed_modules(&said_by(&CONTROLS, &["-M"])?);
    (!listed.is_empty()).then(|| listed.iter().map(|name| plain_module(name)).collect())
}

fn built_in() -> Option<HashSet<String>> {
    let text = said_by(&PROGRAMS, &["-l"])?;
    let names: HashSet<String> = text.lines().filter_map(|line| module_of(line.trim())).collect();
    (!names.is_empty()).then_some(names)
}

fn started_with() -> Option<HashSet<String>> {
    let text = said_by(&CONTROLS, &["-t", "-D", "DUMP_RUN_CFG"])?;
    let names = text.lines().filter_map(|line| line.strip_prefix("Define: "));
    let names = names.filter_map(|line| line.split('=').next()).map(|name| name.trim().to_owned());
    text.contains("ServerRoot").then(|| names.filter(|name| name != "DUMP_RUN_CFG").collect())
}

fn installed_version() -> Option<[u32; 3]> {
    let text = said_by(&PROGRAMS, &["-v"])?;
    let (_, rest) = text.split_once("Apache/")?;
    version(rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?)
}

/// The variables that a file of `export NAME=VALUE` lines sets, as Debian's `envvars` is. What a shell would have to
/// work out is left out.
pub(super) fn exported(text: &str) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    for line in text.lines().map(str::trim) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { continue };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let value = value.trim();
        let literal = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
        let value = match literal {
            Some(literal) => Some(literal.to_owned()),
            None => expanded(value.trim_matches('"'), &found),
        };
        match value {
            Some(value) => found.insert(name.to_owned(), value),
            None => found.remove(name),
        };
    }
    found
}

/// A value with `$NAME` and `${NAME}` replaced; `None` where more than that is needed.
fn expanded(value: &str, known: &HashMap<String, String>) -> Option<String> {
    if value.contains(['`', ';', '&', '|', '"', '\'', '\\', ' ']) || value.contains("$(") {
        return None;
    }
    let mut parts = value.split('$');
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{') {
            Some(part) => part.split_once('}')?,
            None => {
                let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                part.split_at_checked(end.unwrap_or(part.len()))?
            }
        };
        out.push_str(known.get(name)?);
        out.push_str(rest);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(modules: &[&str], defines: &[&str], version: &str) -> HttpdFacts {
        let list = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
        HttpdFacts {
            modules: list(modules),
            defines: list(defines),
            version: Some(version.to_owned()),
        }
    }

    #[test]
    fn conditions() {
        let mut known = Conditions::new(
            &facts(&["ssl_module", "ldap"], &["A"], "2.4.10"),
            true,
            false,
            &HashSet::new(),
        );
        let ask = |known: &Conditions, text: &str| {
            let args: Vec<String> = text.split(' ').map(str::to_owned).collect();
            known.ask(&args[0], &args[1..])
        };
        for (text, holds) in [
            ("ifmodule ssl_module", true),
            ("ifmodule mod_ssl.c", true),
            ("ifmodule !mod_ssl.c", false),
            ("ifmodule util_ldap.c", true),
            ("ifmodule mod_ldap.c", false),
            ("ifmodule prefork.c", false),
            ("ifdefine A", true),
            ("ifdefine !B", true),
            ("ifversion >= 2.4", true),
            ("ifversion 2.4.10", true),
            ("ifversion !> 2.4.9", false),
            ("ifversion < 2.4.9", false),
        ] {
            assert_eq!(ask(&known, text), Answer::of(holds), "{text}");
        }
        for text in ["ifmodule own.c", "ifversion ~ 2.4", "iffile /x", "ifdirective X"] {
            assert!(matches!(ask(&known, text), Answer::Unknown(_)), "{text}");
        }
        known.load("dav_svn_module", false);
        known.define("V", Some("1"), false);
        assert_eq!(ask(&known, "ifmodule mod_dav_svn.c"), Answer::Yes);
        assert_eq!((known.value("V"), known.value("W")), (Some("1"), None));
        known.define("V", Some("2"), true);
        assert!(matches!(ask(&known, "ifdefine V"), Answer::Unknown(_)));
        assert_eq!(known.value("V"), None);
        assert!(matches!(ask(&Conditions::unknown(), "ifdefine X"), Answer::Unknown(_)));
    }

    #[test]
    fn environments() {
        let text = "unset HOME\nif [ x ] ; then\n\tSUFFIX=\"-${A##/etc/apache2-}\"\nelse\n\tSUFFIX=\nfi\n\
                    export APACHE_LOG_DIR=/var/log/apache2$SUFFIX\nexport A='x y'\nexport B=`date`\n# C=1\n";
        let found = exported(text);
        assert_eq!(found["APACHE_LOG_DIR"], "/var/log/apache2");
        assert_eq!(found["A"], "x y");
        assert!(!found.contains_key("B") && !found.contains_key("C"));
    }

    #[test]
    fn lists_of_modules() {
        let text = "Loaded Modules:\n core_module (static)\n dav_svn_module (shared)\n";
        assert_eq!(listed_modules(text), ["core_module", "dav_svn_module"]);
    }
}
