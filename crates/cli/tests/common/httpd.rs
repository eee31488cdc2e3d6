//! An httpd with mod_dav_svn, for one test.

#![allow(dead_code, reason = "not every test needs everything")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};

const MODULES: &str = "/usr/lib/apache2/modules";

/// A running httpd.
pub(crate) struct Httpd(Child);

impl Drop for Httpd {
    fn drop(&mut self) {
        // Its first process ends the others when it is asked to.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

/// Gives what is below a folder to httpd's own user, and lets it in.
pub(crate) fn hand_over(folder: &Path) {
    let mut above = Some(folder);
    while let Some(dir) = above.filter(|dir| dir.starts_with(std::env::temp_dir())) {
        let mode = fs::metadata(dir).unwrap().permissions().mode();
        let _ = fs::set_permissions(dir, fs::Permissions::from_mode(mode | 0o055));
        above = dir.parent();
    }
    if is_root() {
        let done = Command::new("chown").args(["-R", "www-data"]).arg(folder).status().unwrap();
        assert!(done.success());
    }
}

/// The configuration of one that listens at `port`, with its files in `folder`, before what the test says.
pub(crate) fn configuration(folder: &Path, port: u16, more: &[&str]) -> String {
    let usual = [
        "mpm_event",
        "authn_core",
        "authn_file",
        "authz_core",
        "authz_user",
        "auth_basic",
        "dav",
        "dav_svn",
        "authz_svn",
    ];
    let load = |name: &&str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
    let mut conf: String = usual.iter().chain(more).map(load).collect();
    if is_root() {
        conf += "User www-data\nGroup www-data\n";
    }
    let folder = folder.display();
    conf + &format!(
        "Listen 127.0.0.1:{port}\nServerName localhost\nPidFile {folder}/pid\n\
         ErrorLog {folder}/error\nDocumentRoot {folder}\nStartServers 1\nServerLimit 1\n"
    )
}

impl Httpd {
    /// Starts it with a configuration in `folder`, and waits until it answers at `port`.
    pub(crate) fn start(folder: &Path, port: u16, conf: &str) -> Self {
        Self::start_with(folder, port, conf, |_| {})
    }

    /// The same, as a command that `change` has changed.
    pub(crate) fn start_with(
        folder: &Path,
        port: u16,
        conf: &str,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        assert!(
            Path::new(MODULES).join("mod_authz_svn.so").exists(),
            "httpd is needed (package 'libapache2-mod-svn')"
        );
        let file = folder.join("httpd.conf");
        fs::write(&file, conf).unwrap();
        let mut command = Command::new("/usr/sbin/apache2");
        change(&mut command);
        let httpd = Self(command.arg("-f").arg(file).arg("-DFOREGROUND").spawn().unwrap());
        let is_up =
            sapwood_testkit::patience::wait(10, || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let error = fs::read_to_string(folder.join("error")).unwrap_or_default();
        assert!(is_up, "httpd does not answer: {error}");
        httpd
    }
}
