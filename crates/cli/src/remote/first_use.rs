//! The user's configuration folder, as the first program that runs makes it: folders for kept
//! credentials, and files in which everything is commented out.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

const README: &str = "\
This folder belongs to the programs that work with Subversion repositories.

  config    how the programs behave
  servers   how they reach servers, and which credentials they keep
  auth/     the credentials that they keep; nobody else should be able to read it

Settings for all users of a machine are in files of the same names in /etc/subversion. Those here
come first, and the option --config-option of a command line comes before both.
All of it can be deleted: what is missing is made anew, with nothing set.
";

const CONFIG: &str = "\
### How the programs behave. A line that begins with '#' sets nothing.

[auth]
### Where passwords may be kept encrypted, tried in this order; empty: nowhere.
# password-stores = gnome-keyring,kwallet,gpg-agent

[helpers]
# editor-cmd = editor
# diff-cmd = diff
# diff-extensions = -u
# diff3-cmd = diff3
# merge-tool-cmd = merge-tool

[tunnels]
### Commands that lead to a server. URLs that begin with svn+NAME:// use the tunnel NAME. The host
### and 'svnserve -t' are appended. A variable of the environment, when it is set, comes before the
### command behind it.
# ssh = $SVN_SSH ssh -q --

[miscellany]
# global-ignores = *.o *~ .*.swp
# log-encoding = UTF-8
# use-commit-times = yes
# no-unlock = yes
# enable-auto-props = yes
# interactive-conflicts = no
### Megabytes for the cache of repositories that are opened by a file:// URL.
# memory-cache-size = 64

[auto-props]
# *.sh = svn:eol-style=native;svn:executable

[working-copy]
# exclusive-locking = true
# busy-timeout = 10000
";

const SERVERS: &str = "\
### How servers are reached. A line that begins with '#' sets nothing.

[groups]
### Names of groups, each with patterns of host names. A section with the group's name then sets
### options for these servers, above those of [global].
# ours = *.example.org, svn.example.net

[global]
# username = name
### Whether names and passwords are kept at all, whether passwords are, and whether that may be
### unencrypted (yes, no, or ask).
# store-auth-creds = yes
# store-passwords = yes
# store-plaintext-passwords = ask
# http-proxy-host = proxy.example.org
# http-proxy-port = 8080
# http-timeout = 60
# http-compression = auto
# ssl-authority-files = /path/to/ca.pem
# ssl-trust-default-ca = yes
";

/// Makes what is missing. What cannot be made stays missing: no command needs it to be there.
pub(super) fn ensure(dir: &Path) {
    let _ = std::fs::create_dir(dir);
    if !dir.is_dir() {
        return;
    }
    let auth = dir.join("auth");
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&auth);
    for kind in ["svn.simple", "svn.username", "svn.ssl.server", "svn.ssl.client-passphrase"] {
        let _ = std::fs::create_dir(auth.join(kind));
    }
    for (name, text) in [("README.txt", README), ("config", CONFIG), ("servers", SERVERS)] {
        let made = std::fs::File::create_new(dir.join(name));
        let _ = made.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn created_once() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("new");
        ensure(&dir);
        let mode = std::fs::metadata(dir.join("auth")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(dir.join("auth/svn.simple").is_dir());
        std::fs::write(dir.join("servers"), "[global]\n").unwrap();
        std::fs::remove_file(dir.join("config")).unwrap();
        ensure(&dir);
        assert_eq!(std::fs::read_to_string(dir.join("servers")).unwrap(), "[global]\n");
        let files = super::super::config::load(
            Some(&dir),
            &[],
            "svn: ",
            super::super::config::Unreadable::Fails,
        )
        .unwrap();
        assert_eq!(files.config.get("miscellany", "memory-cache-size"), None);
        // Not below what is not there, and not in place of a file.
        ensure(&scratch.path().join("a/b"));
        assert!(!scratch.path().join("a").exists());
    }
}
