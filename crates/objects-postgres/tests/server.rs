//! Debian's PostgreSQL in a folder of the test's own, which ends with it.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_objects_postgres::Settings;
use tempfile::TempDir;

/// A running server.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
}

/// Where Debian has the programs of the newest version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.expect("PostgreSQL is missing: apt-get install postgresql");
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.unwrap().path().join("bin")).collect();
    found.sort();
    found.retain(|path| path.join("initdb").is_file());
    found.pop().expect("PostgreSQL is missing: apt-get install postgresql")
}

impl Server {
    pub(crate) fn start() -> Self {
        // The socket's path may not be long.
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), everybody).unwrap();
        let server = Self { folder, programs: programs() };
        let data = server.data();
        let init = ["--auth=trust", "--username=svn", "--no-sync", "--encoding=UTF8", "-D", &data];
        server.run("initdb", &init);
        server.begin();
        server.run("createdb", &["-h", &server.socket(), "-U", "svn", "sapwood"]);
        server
    }

    /// Starts the server, again after [`Self::kill`].
    pub(crate) fn begin(&self) {
        self.begin_with("-c listen_addresses=");
    }

    fn begin_with(&self, options: &str) {
        let socket = self.socket();
        let options = format!("-k {socket} -c fsync=off {options}");
        let log = format!("{socket}/log");
        self.run("pg_ctl", &["-D", &self.data(), "-o", &options, "-l", &log, "-w", "start"]);
    }

    /// Starts it anew at a port of this machine too, where it wants the password `a:secret` of the user `svn`; with a certificate and its
    /// key only in TLS.
    pub(crate) fn listen(&self, port: u16, tls: Option<(&Path, &Path)>) {
        let sql = "ALTER USER svn PASSWORD 'a:secret'";
        self.run("psql", &["-h", &self.socket(), "-U", "svn", "-c", sql, "sapwood"]);
        self.run("pg_ctl", &["-D", &self.data(), "-m", "fast", "-w", "stop"]);
        let mut lines = format!("listen_addresses = '127.0.0.1'\nport = {port}\n");
        if let Some((certificate, key)) = tls {
            lines.push_str("ssl = on\n");
            // The server wants files of its own that others cannot read.
            for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
                let bytes = std::fs::read_to_string(from).unwrap();
                self.write(name, &bytes);
            }
        }
        let kind = if tls.is_some() { "hostssl" } else { "host" };
        self.write("postgresql.auto.conf", &lines);
        self.write("pg_hba.conf", &format!("{kind} all all 127.0.0.1/32 scram-sha-256\n"));
        self.begin_with("");
    }

    /// Writes a file in the server's folder, in the place of one of the server's user.
    fn write(&self, name: &str, text: &str) {
        let path = Path::new(&self.data()).join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let owner = std::fs::metadata(self.data()).unwrap();
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }

    /// Ends it at once, without a word to its clients.
    pub(crate) fn kill(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    pub(crate) fn socket(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// A program, as a user that the server accepts: it does not run as root.
    fn run(&self, program: &str, args: &[&str]) {
        let path = self.programs.join(program);
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let mut command = match is_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(path);
                command
            }
            false => Command::new(path),
        };
        command.args(args).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{program} {args:?}");
    }

    /// An address with objects in a folder.
    pub(crate) fn address(&self, objects: &Path) -> String {
        format!("postgres:///sapwood+file://{}", objects.display())
    }

    pub(crate) fn settings(&self) -> Settings {
        let pairs = [("PGHOST", self.socket()), ("PGUSER", "svn".to_owned())];
        Settings { variables: pairs.map(|(name, value)| (name.to_owned(), value)).to_vec() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
