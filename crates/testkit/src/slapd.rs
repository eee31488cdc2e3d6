//! OpenLDAP's server, `slapd`, with entries of a test, on free ports.
//!
//! Invariant: it ends with the test that started it, also when the test fails.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::patience::wait;
use crate::server::free_port;

/// The entry below which all entries are.
pub const SUFFIX: &str = "dc=example";
/// The account that may read everything but passwords, and its password.
pub const READER: (&str, &str) = ("cn=reader,dc=example", "reads all");

/// What `slapd` needs to know; `FOLDER` is the server's. Binds without a password succeed, as they do at servers of other
/// makes, and what Active Directory keeps of users and groups is known.
const CONFIG: &str = r"include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.146 NAME 'objectSid' EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.98 NAME 'primaryGroupID' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
allow bind_anon_cred
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile FOLDER/pid
TLS
database mdb
suffix SUFFIX
directory FOLDER/db
maxsize 10485760
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact=READER read by * none
";

/// A running server.
#[derive(Debug)]
pub struct Slapd {
    folder: tempfile::TempDir,
    child: Child,
    port: u16,
    tls_port: Option<u16>,
}

impl Slapd {
    /// Starts one with these entries (LDIF) below [`SUFFIX`]. With the files of a certificate and its key it also listens
    /// for `ldaps`.
    ///
    /// # Panics
    /// If it does not listen within 20 seconds; the message has the name of the Debian package.
    #[must_use]
    pub fn start(entries: &str, certificate: Option<(&Path, &Path)>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        fs::create_dir(at.join("db")).expect("the database's folder");
        let tls = certificate.map_or(String::new(), |(certificate, key)| {
            let (certificate, key) = (certificate.display(), key.display());
            format!("TLSCertificateFile {certificate}\nTLSCertificateKeyFile {key}\n")
        });
        let config = CONFIG
            .replace("FOLDER", &at.display().to_string())
            .replace("TLS\n", &tls)
            .replace("SUFFIX", &format!("\"{SUFFIX}\""))
            .replace("READER", &format!("\"{}\"", READER.0));
        fs::write(at.join("conf"), config).expect("the configuration");
        let top = format!(
            "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\no: x\n\n\
             dn: cn=reader,{SUFFIX}\nobjectClass: person\nsn: x\nuserPassword: {}\n\n",
            READER.1
        );
        fs::write(at.join("entries"), top + entries).expect("the entries");
        let added = Command::new(program("slapadd"))
            .args(["-f", "conf", "-l", "entries"])
            .current_dir(at)
            .output()
            .unwrap_or_else(|e| panic!("slapadd: {e}: apt-get install slapd"));
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        let port = free_port();
        let tls_port = certificate.map(|_| free_port());
        let child = spawn(at, port, tls_port);
        let mut server = Self { folder, child, port, tls_port };
        server.wait();
        server
    }

    /// Its URL without encryption.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// Its URL with encryption.
    ///
    /// # Panics
    /// If it has no certificate.
    #[must_use]
    pub fn tls_url(&self) -> String {
        format!("ldaps://127.0.0.1:{}", self.tls_port.expect("a certificate"))
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again on the same ports, with the same entries.
    pub fn start_again(&mut self) {
        self.kill();
        self.child = spawn(self.folder.path(), self.port, self.tls_port);
        self.wait();
    }

    /// Stops it, so that it accepts connections and answers nothing; or lets it go on. It has stopped when this returns.
    ///
    /// # Panics
    /// If it has ended.
    pub fn hang(&self, stopped: bool) {
        let signal =
            if stopped { rustix::process::Signal::STOP } else { rustix::process::Signal::CONT };
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the server");
        // Its threads stop one after the other.
        let tasks = format!("/proc/{}/task", self.pid());
        let is_stopped = || {
            let threads = fs::read_dir(&tasks).expect("the server's threads");
            let mut states = threads.filter_map(|thread| {
                let status = fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
                Some(status.contains("\nState:\tT"))
            });
            states.all(|is_stopped| is_stopped)
        };
        assert!(!stopped || wait(20, is_stopped), "slapd does not stop");
    }

    /// Changes entries, by LDIF with `changetype`, as the administrator of the database.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn change(&mut self, changes: &str) {
        self.kill();
        let at = self.folder.path();
        fs::write(at.join("changes"), changes).expect("the changes");
        let changed = Command::new(program("slapmodify"))
            .args(["-f", "conf", "-l", "changes"])
            .current_dir(at)
            .output()
            .unwrap_or_else(|e| panic!("slapmodify: {e}: apt-get install slapd"));
        assert!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
        self.start_again();
    }

    fn wait(&mut self) {
        let port = self.port;
        let mut ended = false;
        let listens = wait(20, || {
            ended = self.child.try_wait().expect("the server's state").is_some();
            ended || TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(listens && !ended, "slapd does not start in {}", self.folder.path().display());
    }
}

/// A program of the package, which is beside those of administrators.
fn program(name: &str) -> PathBuf {
    Path::new("/usr/sbin").join(name)
}

fn spawn(folder: &Path, port: u16, tls_port: Option<u16>) -> Child {
    let mut urls = format!("ldap://127.0.0.1:{port}/");
    if let Some(port) = tls_port {
        urls += &format!(" ldaps://127.0.0.1:{port}/");
    }
    // With a level of debugging it stays in the foreground.
    Command::new(program("slapd"))
        .args(["-f", "conf", "-d", "0", "-h", &urls])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("slapd: {e}: apt-get install slapd"))
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.kill();
    }
}
