//! How the http servers are set up that are measured: ours, and httpd's event MPM with mod_dav_svn.
//!
//! Invariant: for the same set-up of caches both have as much memory and compress as hard as the servers
//! of svn:// have and do; what makes httpd faster and changes no answer is on from `medium` on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::axes::Caches;
use crate::programs::Programs;

/// Where httpd is looked for.
const HTTPD: [&str; 4] =
    ["/usr/sbin/apache2", "/usr/sbin/httpd", "/usr/local/apache2/bin/httpd", "/usr/bin/httpd"];
/// Where its modules are looked for.
const MODULES: [&str; 3] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/local/apache2/modules"];

/// httpd's settings for its caches.
#[must_use]
pub fn directives(caches: Caches) -> &'static [&'static str] {
    match caches {
        Caches::Slow => &[],
        Caches::Medium => &["SVNInMemoryCacheSize 262144", "SVNAllowBulkUpdates Prefer"],
        Caches::Fast => &[
            "SVNInMemoryCacheSize 1048576",
            "SVNCompressionLevel 0",
            "SVNAllowBulkUpdates Prefer",
            "SVNCacheRevProps On",
            "SVNCacheFullTexts On",
            "SVNBlockRead On",
        ],
    }
}

/// Our server's settings for its caches.
#[must_use]
pub fn settings(caches: Caches) -> &'static [&'static str] {
    match caches {
        Caches::Slow => &[],
        Caches::Medium => &["cache-megabytes = 256"],
        Caches::Fast => &["cache-megabytes = 1024", "compression = 0"],
    }
}

fn write(path: &Path, text: &str) -> SvnResult<()> {
    std::fs::write(path, text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't write '{}'", path.display())))
}

/// Our server's command and its arguments.
pub(crate) fn ours(
    programs: &Programs,
    root: &Path,
    port: u16,
    (caches, rules): (Caches, Option<&Path>),
) -> SvnResult<(Command, String)> {
    let mut text = format!("http-port = {port}\n");
    for setting in settings(caches) {
        let _ = writeln!(text, "{setting}");
    }
    let root_text = toml_text(root);
    let _ = write!(text, "[[location]]\nurl = \"/\"\nfolder = {root_text}\nlogin = \"never\"\n");
    match rules {
        None => text.push_str("anonymous = \"write\"\n"),
        Some(rules) => drop(writeln!(text, "authz = {}", toml_text(rules))),
    }
    let config = root.join("serve.toml");
    write(&config, &text)?;
    let mut command = programs.serve();
    command.arg("--config").arg(&config);
    Ok((command, settings(caches).join(", ")))
}

/// A path as TOML writes texts.
fn toml_text(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn find_module(places: &[&str]) -> Option<PathBuf> {
    places.iter().map(PathBuf::from).find(|path| path.exists())
}

/// Whether there is an httpd with mod_dav_svn.
pub(crate) fn has_httpd() -> bool {
    let module = find_module(&MODULES).map(|folder| folder.join("mod_dav_svn.so"));
    find_module(&HTTPD).is_some() && module.is_some_and(|module| module.is_file())
}

/// httpd's command and its arguments.
pub(crate) fn httpd(
    root: &Path,
    port: u16,
    (caches, rules): (Caches, Option<&Path>),
) -> SvnResult<(Command, String)> {
    let missing =
        || SvnError::new(ErrorCode::EXTERNAL_PROGRAM, "there is no httpd with mod_dav_svn");
    let program = find_module(&HTTPD).ok_or_else(missing)?;
    let modules = find_module(&MODULES).ok_or_else(missing)?;
    let folder = root.join("httpd");
    std::fs::create_dir_all(&folder)
        .map_err(|e| SvnError::io(&e, format_args!("Can't create '{}'", folder.display())))?;
    let mut text = load_modules(&modules);
    let shown = folder.display();
    let _ = write!(
        text,
        "Listen 127.0.0.1:{port}\nServerName localhost\nPidFile {shown}/pid\n\
         ErrorLog {shown}/errors\nDocumentRoot {shown}\nStartServers 1\nServerLimit 2\n\
         ThreadsPerChild 32\nMaxRequestWorkers 64\nKeepAlive On\nMaxKeepAliveRequests 0\n\
         LimitXMLRequestBody 0\n"
    );
    if rustix::process::geteuid().is_root() {
        // httpd does not serve as root; the repositories that are measured are readable for all users.
        let _ = write!(text, "User \"#65534\"\nGroup \"#65534\"\n");
    }
    // Some are for the server, others for a location, and some for both.
    let of_server = |line: &&&str| {
        line.starts_with("SVNInMemoryCacheSize") || line.starts_with("SVNCompressionLevel")
    };
    for line in directives(caches).iter().filter(of_server) {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "<Location />\nDAV svn\nSVNParentPath {}\n", root.display());
    for line in directives(caches).iter().filter(|line| !of_server(line)) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(rules) = rules {
        let _ =
            write!(text, "AuthzSVNAccessFile {}\nSVNPathAuthz short_circuit\n", rules.display());
    }
    text.push_str("Require all granted\n</Location>\n");
    let config = folder.join("conf");
    write(&config, &text)?;
    let mut command = Command::new(program);
    command.arg("-DFOREGROUND").arg("-f").arg(config);
    Ok((command, directives(caches).join(", ")))
}

/// The lines that load httpd's modules, but for those that are built in.
fn load_modules(folder: &Path) -> String {
    let modules = [
        "mpm_event",
        "unixd",
        "authn_core",
        "authz_core",
        "authz_host",
        "dav",
        "dav_svn",
        "authz_svn",
    ];
    let files = modules.map(|module| (module, folder.join(format!("mod_{module}.so"))));
    let line = |(module, file): &(&str, PathBuf)| {
        format!("LoadModule {module}_module {}\n", file.display())
    };
    files.iter().filter(|(_, file)| file.is_file()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let rules = folder.path().join("rules");
        let single = Programs::single(crate::axes::System::Sapwood, Path::new("/x"), Vec::new());
        let caches = Caches::Fast;
        let (_, told) = ours(&single, folder.path(), 1, (caches, Some(&rules))).unwrap();
        assert_eq!(told, "cache-megabytes = 1024, compression = 0");
        let text = std::fs::read_to_string(folder.path().join("serve.toml")).unwrap();
        assert!(text.contains("http-port = 1\ncache-megabytes = 1024\n"), "{text}");
        assert!(text.contains("authz = '/") && !text.contains("anonymous"), "{text}");
    }
}
