//! The Debian packages that the interoperation tests need.
//!
//! Invariant: nothing is installed when all programs are there, so a machine without network or
//! without root works once it is set up.

use std::process::{Command, Stdio};

/// One package, and a command that succeeds when it is installed.
struct Package {
    name: &'static str,
    probe: &'static [&'static str],
}

/// The reference's programs are the oracle of most tests; git-svn is a client, slapd a directory of users, exim a mail server,
/// Chromium shows the web pages,
/// ip and iptables make networks that fail, strace stops programs before a system call, valgrind counts what a request costs, and
/// prometheus has the checks of metrics and alarms, systemd those of units; what has krb5, gssapi or clang in its name is for
/// the feature `kerberos`, whose bindings are made for the lints too.
const NEEDED: [Package; 30] = [
    Package { name: "subversion", probe: &["svnserve", "--version", "--quiet"] },
    Package { name: "apache2-utils", probe: &["sh", "-c", "command -v htpasswd"] },
    Package { name: "chromium", probe: &["test", "-x", "/usr/bin/chromium"] },
    Package { name: "exim4-daemon-light", probe: &["test", "-x", "/usr/sbin/exim4"] },
    Package { name: "curl", probe: &["curl", "--version"] },
    Package { name: "openssl", probe: &["openssl", "version"] },
    Package { name: "git", probe: &["git", "--version"] },
    Package { name: "git-svn", probe: &["git", "svn", "--version"] },
    Package { name: "iproute2", probe: &["sh", "-c", "command -v ip"] },
    Package { name: "iptables", probe: &["sh", "-c", "command -v iptables"] },
    Package { name: "groff", probe: &["groff", "--version"] },
    Package {
        name: "libapache2-mod-svn",
        probe: &["test", "-e", "/usr/lib/apache2/modules/mod_authz_svn.so"],
    },
    Package { name: "krb5-admin-server", probe: &["test", "-x", "/usr/sbin/kadmin.local"] },
    Package { name: "krb5-kdc", probe: &["test", "-x", "/usr/sbin/krb5kdc"] },
    Package { name: "krb5-user", probe: &["sh", "-c", "command -v kinit"] },
    Package {
        name: "libapache2-mod-auth-gssapi",
        probe: &["test", "-e", "/usr/lib/apache2/modules/mod_auth_gssapi.so"],
    },
    Package { name: "libclang1-14", probe: &["sh", "-c", "ls /usr/lib/*/libclang-14.so*"] },
    Package {
        name: "libclang-common-14-dev",
        probe: &["test", "-d", "/usr/lib/llvm-14/lib/clang/14.0.6/include"],
    },
    Package { name: "libkrb5-dev", probe: &["test", "-e", "/usr/include/gssapi/gssapi.h"] },
    Package {
        name: "libsasl2-modules-gssapi-mit",
        probe: &["sh", "-c", "ls /usr/lib/*/sasl2/libgssapiv2.so"],
    },
    Package { name: "pkg-config", probe: &["pkg-config", "--version"] },
    Package { name: "litmus", probe: &["test", "-e", "/usr/libexec/litmus/props"] },
    Package { name: "prometheus", probe: &["promtool", "--version"] },
    Package { name: "python3", probe: &["python3", "--version"] },
    Package { name: "svnkit", probe: &["jsvn", "--version", "--quiet"] },
    Package { name: "liblz4-java", probe: &["test", "-e", "/usr/share/java/lz4-java.jar"] },
    Package { name: "slapd", probe: &["test", "-x", "/usr/sbin/slapd"] },
    Package { name: "strace", probe: &["strace", "--version"] },
    Package { name: "systemd", probe: &["systemd-analyze", "--version"] },
    Package { name: "valgrind", probe: &["valgrind", "--version"] },
];

/// Installs what is missing when we are root; otherwise says which packages are missing.
///
/// Missing packages are not an error here when we are not root: the tests that need them fail, and
/// say so by name.
pub(crate) fn ensure() -> Result<(), String> {
    let missing: Vec<&str> = NEEDED.iter().filter(|p| !succeeds(p.probe)).map(|p| p.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() {
        eprintln!(
            "xtask: these Debian packages are missing, and the tests that need them will fail: {}\n\
             xtask: install them with: sudo apt-get install {}",
            missing.join(" "),
            missing.join(" ")
        );
        return Ok(());
    }
    eprintln!("xtask: installing {}", missing.join(" "));
    let install = |names: &[&str]| {
        Command::new("apt-get")
            .args(["install", "-y", "-q", "--no-install-recommends"])
            .args(names)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    if install(&missing) {
        return Ok(());
    }
    // The package lists of a fresh machine may be empty or old.
    let _ = Command::new("apt-get").args(["update", "-q"]).stdin(Stdio::null()).status();
    if install(&missing) {
        Ok(())
    } else {
        Err(format!("apt-get could not install {}", missing.join(" ")))
    }
}

fn succeeds(command: &[&str]) -> bool {
    let Some((program, args)) = command.split_first() else { return false };
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

fn is_root() -> bool {
    let Ok(out) = Command::new("id").arg("-u").output() else { return false };
    out.stdout.trim_ascii() == b"0"
}
