//! Debian's PostgreSQL in a folder of the test's own, which ends with it.

use std::os::unix::fs::PermissionsExt as _;
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
        let socket = self.socket();
        let options = format!("-k {socket} -c listen_addresses= -c fsync=off");
        let log = format!("{socket}/log");
        self.run("pg_ctl", &["-D", &self.data(), "-o", &options, "-l", &log, "-w", "start"]);
    }

    /// Ends it at once, without a word to its clients.
    pub(crate) fn kill(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn socket(&self) -> String {
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
