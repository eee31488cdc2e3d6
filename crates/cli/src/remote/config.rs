//! The user's configuration: `config` and `servers`, those of the system below those of the user,
//! and `--config-option` above both.

use std::path::{Path, PathBuf};

use sapwood_core::config::{Case, Config};
use sapwood_core::{ErrorCode, SvnResult};

use crate::report;
use crate::usage::usage_error;

use super::config_names::{self, ConfigOption};

/// The two files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) config: Config,
    pub(crate) servers: Config,
}

/// Where the whole system is configured.
const SYSTEM_DIR: &str = "/etc/subversion";

/// `~/.subversion`.
pub(crate) fn user_dir() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).map(|h| h.join(".subversion"))
}

/// The system's name of the user.
pub(crate) fn system_user() -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    // Users of a directory service are in no file; their session names them.
    listed.or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
}

/// How a program treats a user configuration that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It goes on without any, after a warning.
    Warns,
    /// It ends.
    Fails,
}

/// Reads the files. `given` are values of `--config-option` that [`check`] has passed.
///
/// # Errors
/// Files that cannot be read or make no sense; what may not be read only where `unreadable` says so.
pub(crate) fn load(
    dir: Option<&Path>,
    given: &[String],
    prefix: &str,
    unreadable: Unreadable,
) -> SvnResult<Files> {
    const EACCES: ErrorCode = ErrorCode(13);
    const ENOTDIR: ErrorCode = ErrorCode(20);
    let mut files = match read_all(dir) {
        Err(error)
            if unreadable == Unreadable::Warns && [EACCES, ENOTDIR].contains(&error.code()) =>
        {
            report::warning(&error, prefix);
            none()
        }
        read => read?,
    };
    for text in given {
        apply(&mut files, text, prefix);
    }
    Ok(files)
}

fn none() -> Files {
    Files { config: Config::new(Case::INSENSITIVE), servers: Config::new(Case::INSENSITIVE) }
}

fn read_all(dir: Option<&Path>) -> SvnResult<Files> {
    let mut files = none();
    let folders = [Some(Path::new(SYSTEM_DIR)), dir];
    for (name, into) in [("servers", &mut files.servers), ("config", &mut files.config)] {
        for folder in folders.into_iter().flatten() {
            if let Some(read) = read(&folder.join(name))? {
                into.merge(&read);
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> SvnResult<Option<Config>> {
    let shown = path.display();
    // A folder can be opened, but not read: the parser of the reference finds that.
    let bytes = crate::input::contents_if_there(path).map_err(|e| match e.code() {
        ErrorCode(21) => e.context(format!("Error while parsing config file: {shown}:")),
        _ => e,
    })?;
    bytes.map(|bytes| Config::parse_file(&shown.to_string(), &bytes, Case::INSENSITIVE)).transpose()
}

/// Checks the form of a `--config-option`, and warns of unknown names.
pub(crate) fn check(text: &str, program: &str) -> SvnResult<()> {
    let named = ConfigOption::parse(text);
    if let Some(warning) = named.and_then(config_names::warning) {
        report::warning(&warning, &format!("{program}: "));
    }
    match named {
        Some(named) if !named.option.contains(':') => Ok(()),
        _ => Err(usage_error("Invalid syntax of argument of --config-option")),
    }
}

fn apply(files: &mut Files, text: &str, prefix: &str) {
    let Some(ConfigOption { file, section, option, value }) = ConfigOption::parse(text) else {
        return;
    };
    match file {
        "config" => files.config.set(section, option, value.as_bytes()),
        "servers" => files.servers.set(section, option, value.as_bytes()),
        _ => {
            let error = usage_error("Unrecognized file in argument of --config-option");
            report::warning(&error, prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_taken_apart() {
        let parts =
            |text| ConfigOption::parse(text).map(|n| (n.file, n.section, n.option, n.value));
        assert_eq!(parts("servers:global:a=b=c"), Some(("servers", "global", "a", "b=c")));
        assert_eq!(parts("config:x:y="), Some(("config", "x", "y", "")));
        for bad in
            ["", "config", "config:x", "config:x:y", ":x:y=z", "a::y=z", "a:b:=z", "a:b:c:d=e"]
        {
            assert!(check(bad, "svn").is_err(), "{bad}");
        }
    }

    #[test]
    fn files_of_the_user_and_options() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config"), "[tunnels]\na = one\nb = two\n").unwrap();
        let given = ["config:tunnels:b=three".to_owned()];
        let files = load(Some(dir.path()), &given, "svn: ", Unreadable::Warns).unwrap();
        assert_eq!(files.config.get("tunnels", "a").as_deref(), Some("one"));
        assert_eq!(files.config.get("tunnels", "b").as_deref(), Some("three"));
        std::fs::write(dir.path().join("servers"), "[broken\n").unwrap();
        assert!(load(Some(dir.path()), &[], "svn: ", Unreadable::Warns).is_err());
    }
}
