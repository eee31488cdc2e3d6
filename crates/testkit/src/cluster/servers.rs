//! The servers, the store, and the repository in it.
//!
//! Invariant: all processes end when this is dropped.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use super::net::{HUB, Net, SERVERS, STORE, address};
use super::{Kind, Plan};
use crate::{Output, Programs, Rng, patience};

/// Seconds that a server may take to begin.
const BEGIN: u64 = 120;
/// Revisions of a shard.
const SHARD: u64 = 50;

/// A process that ends with its handle.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        signal(self.0.id(), "CONT");
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process of ours, which may have ended.
pub(super) fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).output();
}

/// All of them.
#[derive(Debug)]
pub struct Servers<'a> {
    pub(super) net: &'a Net,
    pub(super) folder: PathBuf,
    address: String,
    running: [Mutex<Option<Process>>; SERVERS],
    store: Mutex<Option<Process>>,
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for server in &self.running {
            drop(server.lock().map(|mut server| server.take()));
        }
        if let Ok(Some(Process(store))) = self.store.get_mut().map(Option::as_mut) {
            // Its end of the line: the script ends its daemons.
            drop(store.stdin.take());
            let _ = patience::wait(20, || store.try_wait().is_ok_and(|ended| ended.is_some()));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl<'a> Servers<'a> {
    /// Makes a repository in a store, and starts three servers of it.
    pub(super) fn start(plan: &Plan, net: &'a Net) -> Result<Self, String> {
        fs::create_dir_all(&plan.folder).map_err(|e| format!("{}: {e}", plan.folder.display()))?;
        let folder = format!("file://{}", plan.folder.join("store").display());
        let address = match plan.kind {
            Kind::Folder => folder,
            Kind::Ceph => "s3://sapwood/cluster".to_owned(),
            Kind::Postgres => format!("postgres://svn@{HUB}:{STORE}/sapwood+{folder}"),
        };
        let servers = Self {
            net,
            folder: plan.folder.clone(),
            address,
            running: std::array::from_fn(|_| Mutex::new(None)),
            store: Mutex::new(None),
        };
        match plan.kind {
            Kind::Folder => {}
            Kind::Ceph => servers.start_store("tools/ceph.sh")?,
            Kind::Postgres => servers.start_store("tools/postgres.sh")?,
        }
        servers.make()?;
        (0..SERVERS).try_for_each(|server| servers.begin(server))?;
        Ok(servers)
    }

    /// Starts what the store is in, by a script that ends it again.
    fn start_store(&self, script: &str) -> Result<(), String> {
        let mut command = self.command(&self.net.hub(), Path::new(script));
        let ready = self.folder.join("ready");
        command.arg(self.folder.join("daemons")).arg(STORE.to_string());
        command.args(["sh", "-c", &format!("touch {}; cat", ready.display())]);
        command.env("SAPWOOD_S3_LISTEN", "0.0.0.0").env("SAPWOOD_PG_LISTEN", "*");
        let mut child =
            command.stdin(Stdio::piped()).spawn().map_err(|e| format!("{script}: {e}"))?;
        let up = patience::wait(BEGIN, || {
            ready.exists() || child.try_wait().is_ok_and(|ended| ended.is_some())
        });
        *self.store.lock().expect("the store") = Some(Process(child));
        if up && ready.exists() { Ok(()) } else { Err("the store does not start".to_owned()) }
    }

    /// The file with the number of a daemon of the store.
    pub(super) fn daemon(&self, name: &str) -> Option<u32> {
        let file = self.folder.join("daemons").join(format!("{name}.pid"));
        fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// A program in a namespace, with what it needs to find the store.
    pub(super) fn command(&self, namespace: &str, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(program);
        crate::programs::environment(&mut command);
        command.env("HOME", self.folder.join("home"));
        command
            .env("AWS_ENDPOINT_URL", format!("http://{}:{STORE}", HUB))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "AK")
            .env("AWS_SECRET_ACCESS_KEY", "SK")
            .env("PGSSLMODE", "disable");
        command
    }

    /// Runs one of our programs in a server's namespace, with a cache of its own as on a machine of its own.
    pub(super) fn ours(&self, server: usize, program: &str, args: &[&str]) -> Output {
        let path = Programs::ours().path(program);
        let mut command = self.command(&self.net.of(server), &path);
        Output::of(command.args(args).env("SAPWOOD_STORE_CACHE", self.of(server).join("cache")))
    }

    /// A server's folder.
    pub(super) fn of(&self, server: usize) -> PathBuf {
        self.folder.join(format!("server-{server}"))
    }

    /// A server's repository.
    pub(super) fn repository(&self, server: usize) -> String {
        self.of(server).join("repos/repo").display().to_string()
    }

    fn make(&self) -> Result<(), String> {
        let fail = |e: std::io::Error| e.to_string();
        fs::create_dir_all(self.folder.join("home")).map_err(fail)?;
        let plain = self.folder.join("plain");
        let text = plain.display().to_string();
        Programs::reference().run("svnadmin", ["create", &text]).expect_success("svnadmin create");
        let format = plain.join("db/format");
        let said = fs::read_to_string(&format).map_err(fail)?;
        fs::remove_file(&format).map_err(fail)?;
        fs::write(&format, said.replace("sharded 1000", &format!("sharded {SHARD}")))
            .map_err(fail)?;
        let conf = "[general]\nanon-access = read\nauth-access = write\npassword-db = passwd\n";
        fs::write(plain.join("conf/svnserve.conf"), conf).map_err(fail)?;
        let users: String = (0..64).map(|user| format!("u{user} = p\n")).collect();
        fs::write(plain.join("conf/passwd"), format!("[users]\n{users}")).map_err(fail)?;
        let hook = plain.join("hooks/pre-revprop-change");
        fs::write(&hook, "#!/bin/sh\nexit 0\n").map_err(fail)?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).map_err(fail)?;
        for server in 0..SERVERS {
            fs::create_dir_all(self.of(server).join("repos")).map_err(fail)?;
        }
        self.ours(0, "sapwood", &["store", "import", "-q", &text, &self.address])
            .expect_success("import");
        for server in 0..SERVERS {
            self.ours(
                server,
                "sapwood",
                &["store", "attach", &self.address, &self.repository(server)],
            )
            .expect_success("attach");
        }
        Ok(())
    }

    /// Starts a server, and waits until it answers.
    pub(super) fn begin(&self, server: usize) -> Result<(), String> {
        let own = self.of(server);
        let mut command = self.command(&self.net.of(server), &Programs::ours().path("sapwood"));
        let fail = |e: std::io::Error| e.to_string();
        let log =
            fs::File::options().append(true).create(true).open(own.join("output")).map_err(fail)?;
        command
            .args(["serve", "--listen", &address(server), "--port", "3690", "--http-port", "8080"])
            .arg(own.join("repos"))
            .env("SAPWOOD_STORE_CACHE", own.join("cache"))
            .stdout(log.try_clone().map_err(fail)?)
            .stderr(log);
        let child = command.spawn().map_err(|e| format!("sapwood serve: {e}"))?;
        *self.running[server].lock().expect("a server") = Some(Process(child));
        Ok(())
    }

    /// The process of a server.
    pub(super) fn process(&self, server: usize) -> Option<u32> {
        self.running[server].lock().expect("a server").as_ref().map(|process| process.0.id())
    }

    /// Whether a server has ended by itself: that is a fault of ours.
    pub(super) fn has_ended(&self, server: usize) -> bool {
        let mut running = self.running[server].lock().expect("a server");
        running.as_mut().is_some_and(|process| !matches!(process.0.try_wait(), Ok(None)))
    }

    /// Kills a server.
    pub(super) fn kill(&self, server: usize) {
        drop(self.running[server].lock().expect("a server").take());
    }

    /// Ends all that goes wrong, and waits until each server answers.
    pub(super) fn heal_all(&self, _: &mut Rng) -> Result<(), String> {
        for server in 0..SERVERS {
            self.net.heal(server)?;
            if let Some(process) = self.process(server) {
                signal(process, "CONT");
            } else {
                self.begin(server)?;
            }
        }
        for server in 0..SERVERS {
            let url = self.url(server, false);
            let answers = || {
                let svn = Programs::reference().path("svn");
                let mut command = self.command(&self.net.hub(), Path::new("timeout"));
                command.args(["-s", "KILL", "20"]).arg(svn).args(["info", &url]);
                Output::of(&mut command).code == 0
            };
            if !patience::wait(BEGIN, answers) {
                return Err(format!("server {server} does not answer in the end"));
            }
        }
        Ok(())
    }

    /// The URL of the repository at a server.
    pub(super) fn url(&self, server: usize, http: bool) -> String {
        match http {
            true => format!("http://{}:8080/repo", address(server)),
            false => format!("svn://{}/repo", address(server)),
        }
    }

    /// The store's address.
    pub(super) fn store(&self) -> &str {
        &self.address
    }
}
