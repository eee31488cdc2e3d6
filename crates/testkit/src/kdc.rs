//! A realm of Kerberos for one test: MIT's KDC on this machine, with files and a port of its own.
//!
//! Needs `krb5-kdc`, `krb5-admin-server` and `krb5-user`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::server::free_port;

/// The realm's name.
pub const REALM: &str = "TEST.EXAMPLE";

/// A running KDC; it ends when this is dropped.
#[derive(Debug)]
pub struct Kdc {
    folder: tempfile::TempDir,
    child: Child,
}

impl Kdc {
    /// Starts one, with these services in its key table and these users with their passwords.
    ///
    /// # Panics
    /// When a program is missing or fails.
    #[must_use]
    pub fn start(services: &[&str], users: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        write_configuration(folder.path(), port);
        let admin = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            with_realm(&mut command, folder.path());
            let output = command.args(args).output().expect(program);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {args:?}: {said}");
        };
        admin("/usr/sbin/kdb5_util", &["create", "-s", "-P", "master", "-r", REALM]);
        let ask = |query: &str| admin("/usr/sbin/kadmin.local", &["-r", REALM, "-q", query]);
        for (user, password) in users {
            ask(&format!("addprinc -pw {password} {user}"));
        }
        for service in services {
            ask(&format!("addprinc -randkey {service}"));
            ask(&format!("ktadd -k {} {service}", folder.path().join("keytab").display()));
        }
        // A server that runs as another user reads them, too.
        for (path, mode) in [("", 0o755), ("krb5.conf", 0o644), ("keytab", 0o644)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(folder.path().join(path), mode).expect("permissions");
        }
        let mut command = Command::new("/usr/sbin/krb5kdc");
        with_realm(&mut command, folder.path());
        let child = command.arg("-n").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut kdc = Self { folder, child: child.expect("krb5kdc is needed") };
        let is_up = crate::patience::wait(20, || {
            assert!(kdc.child.try_wait().expect("krb5kdc").is_none(), "krb5kdc does not start");
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(is_up, "krb5kdc does not listen");
        kdc
    }

    /// The cache of tickets of one user, who has logged in.
    ///
    /// # Panics
    /// When `kinit` fails.
    #[must_use]
    pub fn tickets(&self, user: &str, password: &str) -> PathBuf {
        let cache = self.folder.path().join(format!("tickets-{user}"));
        let mut command = Command::new("kinit");
        with_realm(&mut command, self.folder.path());
        let mut kinit = command
            .env("KRB5CCNAME", &cache)
            .arg(user)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("kinit is needed");
        let mut stdin = kinit.stdin.take().expect("a pipe");
        writeln!(stdin, "{password}").expect("kinit reads");
        drop(stdin);
        assert!(kinit.wait().expect("kinit").success(), "kinit {user}");
        cache
    }

    /// The key table of all services.
    #[must_use]
    pub fn keytab(&self) -> PathBuf {
        self.folder.path().join("keytab")
    }

    /// Makes a program one of a server of this realm, with all its services.
    pub fn serve<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        with_realm(command, self.folder.path());
        command.env("KRB5_KTNAME", self.folder.path().join("keytab")).env("KRB5RCACHETYPE", "none")
    }

    /// Makes a program one of a user with these tickets.
    pub fn visit<'c>(&self, command: &'c mut Command, tickets: &Path) -> &'c mut Command {
        with_realm(command, self.folder.path());
        command.env("KRB5CCNAME", tickets)
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_realm(command: &mut Command, folder: &Path) {
    command
        .env("KRB5_CONFIG", folder.join("krb5.conf"))
        .env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
}

fn write_configuration(folder: &Path, port: u16) {
    let at = folder.display();
    let krb5 = format!(
        "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n \
         dns_canonicalize_hostname = false\n rdns = false\n ignore_acceptor_hostname = true\n\
         [realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n\
         [logging]\n kdc = FILE:{at}/kdc.log\n admin_server = FILE:{at}/admin.log\n default = FILE:{at}/log\n"
    );
    let kdc = format!(
        "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
         [realms]\n {REALM} = {{\n  database_name = {at}/principal\n  key_stash_file = {at}/stash\n  \
         acl_file = {at}/acl\n  max_life = 1h\n }}\n"
    );
    fs::write(folder.join("krb5.conf"), krb5).expect("a file");
    fs::write(folder.join("kdc.conf"), kdc).expect("a file");
}
