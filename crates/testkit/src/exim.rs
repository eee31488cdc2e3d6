//! Debian's mail server, `exim4`, on free ports: it takes mail only over TLS, after a login, and keeps it.
//!
//! Invariant: it ends with the test that started it, also when the test fails; no mail leaves it.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::patience::wait;
use crate::server::free_port;

/// The user who may send, and the password.
pub const LOGIN: (&str, &str) = ("svn", "hush");

const PROGRAM: &str = "/usr/sbin/exim4";

/// What `exim4` needs to know; `FOLDER` is the server's.
const CONFIG: &str = r"spool_directory = FOLDER/spool
log_file_path = FOLDER/log/%slog
pid_file_path = FOLDER/pid
primary_hostname = localhost
local_interfaces = 127.0.0.1
daemon_smtp_ports = PORT : WRAPPED
tls_on_connect_ports = WRAPPED
tls_advertise_hosts = *
tls_certificate = FOLDER/certificate
tls_privatekey = FOLDER/key
auth_advertise_hosts = ${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_mail = check
acl_smtp_rcpt = check
queue_only
host_lookup =
rfc1413_query_timeout = 0s
keep_environment =
begin acl
check:
  deny message = no encryption
       !encrypted = *
  deny message = no login
       !authenticated = *
  accept
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = ${if and{{eq{$auth2}{USER}}{eq{$auth3}{PASSWORD}}}}
  server_set_id = $auth2
";

/// A running server.
#[derive(Debug)]
pub struct Exim {
    folder: tempfile::TempDir,
    child: Child,
    port: u16,
    wrapped: u16,
}

impl Exim {
    /// Starts one with the files of a certificate and its key.
    ///
    /// # Panics
    /// If it does not listen within 20 seconds; the message has the name of the Debian package.
    #[must_use]
    pub fn start(certificate: &Path, key: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (at, port, wrapped) = (folder.path(), free_port(), free_port());
        for name in ["spool", "log"] {
            fs::create_dir(at.join(name)).expect("a folder");
        }
        fs::copy(certificate, at.join("certificate")).expect("the certificate");
        fs::copy(key, at.join("key")).expect("its key");
        let config = CONFIG
            .replace("FOLDER", &at.display().to_string())
            .replace("PORT", &port.to_string())
            .replace("WRAPPED", &wrapped.to_string())
            .replace("USER", LOGIN.0)
            .replace("PASSWORD", LOGIN.1);
        fs::write(at.join("conf"), config).expect("the configuration");
        // Started by root, it goes on as a user of its own.
        for name in ["", "spool", "log"] {
            open_for_all(&at.join(name), 0o777);
        }
        for name in ["certificate", "key", "conf"] {
            open_for_all(&at.join(name), 0o644);
        }
        let child = Command::new(PROGRAM)
            .arg("-C")
            .arg(at.join("conf"))
            .arg("-bdf")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{PROGRAM}: {e}: apt-get install exim4-daemon-light"));
        let mut server = Self { folder, child, port, wrapped };
        server.wait();
        server
    }

    /// The port where TLS is begun by STARTTLS.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The port where TLS comes first.
    #[must_use]
    pub const fn wrapped_port(&self) -> u16 {
        self.wrapped
    }

    /// The mail that it has taken: what it notes of each, with the head, and the body.
    ///
    /// # Panics
    /// If its files cannot be read.
    #[must_use]
    pub fn mail(&self) -> Vec<String> {
        let queue = self.folder.path().join("spool/input");
        let entries = fs::read_dir(&queue).into_iter().flatten().map(|entry| entry.expect("mail"));
        let mut ids: Vec<String> = entries
            .filter_map(|entry| {
                // This file comes last, and whole.
                Some(entry.file_name().to_str()?.strip_suffix("-H")?.to_owned())
            })
            .collect();
        ids.sort();
        let read = |name: String| fs::read_to_string(queue.join(name)).expect("the mail");
        ids.iter().map(|id| read(format!("{id}-H")) + &read(format!("{id}-D"))).collect()
    }

    fn wait(&mut self) {
        let ports = [self.port, self.wrapped];
        let mut ended = false;
        let listens = wait(20, || {
            ended = self.child.try_wait().expect("the server's state").is_some();
            ended || ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
        });
        assert!(listens && !ended, "exim4 does not start in {}", self.folder.path().display());
    }
}

fn open_for_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its rights");
}

impl Drop for Exim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
