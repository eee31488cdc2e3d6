//! Cyrus SASL's own configuration of the service `svn`: `svn.conf`, lines of `option: value`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The file's name, in the first directory that has it.
const FILE: &str = "svn.conf";
/// The limit of bytes that are read.
const MAX_FILE: u64 = 1 << 20;
/// The default socket of `saslauthd`.
const SASLAUTHD: &str = "/run/saslauthd/mux";

/// The options that are used; others are for mechanisms that are not implemented here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaslOptions {
    /// The only mechanisms to offer, in upper case; all if the option is missing.
    pub(super) mechanisms: Option<Vec<String>>,
    /// Whether the password file is used.
    pub(super) auxprop: bool,
    /// The socket of `saslauthd`, when it is to be asked.
    pub(super) saslauthd: Option<PathBuf>,
}

impl Default for SaslOptions {
    fn default() -> Self {
        Self { mechanisms: None, auxprop: true, saslauthd: None }
    }
}

impl SaslOptions {
    /// Reads the file from the first of `folders` that has it. A file that cannot be read is
    /// treated as missing.
    pub(super) fn read(folders: &[PathBuf]) -> Self {
        let read = |folder: &PathBuf| {
            let mut text = String::new();
            File::open(folder.join(FILE)).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
            Some(text)
        };
        folders.iter().find_map(read).map_or_else(Self::default, |text| Self::parse(&text))
    }

    /// Parses the file's text.
    pub(super) fn parse(text: &str) -> Self {
        let mut options = Self::default();
        let (mut methods, mut path) = (None, SASLAUTHD);
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.trim() {
                "mech_list" => {
                    let words = value.split_ascii_whitespace();
                    options.mechanisms = Some(words.map(str::to_ascii_uppercase).collect());
                }
                "pwcheck_method" => methods = Some(value),
                "saslauthd_path" => path = value,
                _ => {}
            }
        }
        if let Some(methods) = methods {
            let has = |method| methods.split_ascii_whitespace().any(|m| m == method);
            options.auxprop = has("auxprop");
            options.saslauthd = has("saslauthd").then(|| Path::new(path).to_owned());
        }
        options
    }

    /// Whether the mechanism `name` may be offered.
    pub(super) fn allows(&self, name: &str) -> bool {
        self.mechanisms.as_ref().is_none_or(|list| list.iter().any(|m| m == name))
    }

    /// Whether the mechanism `name` is listed, not only not excluded.
    pub(super) fn names(&self, name: &str) -> bool {
        self.mechanisms.is_some() && self.allows(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let options = SaslOptions::parse(
            "# a comment\nmech_list: plain SCRAM-SHA-256\n pwcheck_method: saslauthd auxprop\n\
             saslauthd_path: /tmp/mux\nlog_level: 7\nnonsense\n",
        );
        assert!(options.allows("PLAIN") && options.allows("SCRAM-SHA-256"));
        assert!(!options.allows("LOGIN"));
        assert!(options.names("PLAIN") && !options.names("LOGIN"));
        assert!(!SaslOptions::default().names("PLAIN"));
        assert!(options.auxprop);
        assert_eq!(options.saslauthd.as_deref(), Some(Path::new("/tmp/mux")));
        assert_eq!(SaslOptions::parse(""), SaslOptions::default());
        let other = SaslOptions::parse("pwcheck_method: saslauthd");
        assert_eq!((other.auxprop, other.saslauthd), (false, Some(SASLAUTHD.into())));
        assert!(!SaslOptions::parse("pwcheck_method: alwaystrue").auxprop);
    }

    #[test]
    fn the_first_folder_that_has_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let folders = [dir.path().join("none"), dir.path().to_owned()];
        assert_eq!(SaslOptions::read(&folders), SaslOptions::default());
        std::fs::write(dir.path().join(FILE), "mech_list: PLAIN").unwrap();
        assert!(!SaslOptions::read(&folders).allows("LOGIN"));
    }
}
