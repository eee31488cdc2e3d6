//! Passwords in the desktop's Secret Service: what 1.14's `gnome-keyring` store keeps ours finds, and the other way
//! round, in a real keyring on a bus of its own.
//!
//! Run by hand, since it needs a build of its own and a part of a desktop: `apt-get install dbus-daemon gnome-keyring
//! libsecret-tools`, then `cargo test -p sapwood-cli --features secret-service --test it secret_service::`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use sapwood_testkit::{Programs, Server};

const REALM: &str = "a place";

/// A bus with a keyring that is unlocked, a folder of configuration, and a server that asks for passwords.
struct Desktop {
    folder: tempfile::TempDir,
    address: String,
    running: Vec<Child>,
    server: Option<Server>,
}

impl Desktop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("dbus-daemon is not installed");
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut desktop = Self { folder, address, running: vec![bus], server: None };
        for name in ["home", "runtime", "conf"] {
            fs::create_dir(desktop.folder.path().join(name)).unwrap();
        }
        let config = "[auth]\npassword-stores = gnome-keyring\n";
        fs::write(desktop.conf().join("config"), config).unwrap();
        let mut keyring = desktop.command(Command::new("gnome-keyring-daemon"));
        keyring.args(["--foreground", "--unlock", "--components=secrets"]);
        keyring.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keyring = keyring.spawn().expect("gnome-keyring is not installed");
        keyring.stdin.take().unwrap().write_all(b"master").unwrap();
        desktop.running.push(keyring);
        let there = sapwood_testkit::patience::wait(10, || {
            let mut ask = desktop.command(Command::new("dbus-send"));
            ask.args(["--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]);
            ask.args(["org.freedesktop.DBus.GetNameOwner", "string:org.freedesktop.secrets"]);
            ask.output().unwrap().status.success()
        });
        assert!(there, "the keyring does not come");
        desktop.serve();
        desktop
    }

    fn serve(&mut self) {
        let programs = Programs::reference();
        let repo = self.folder.path().join("repo");
        programs.run("svnadmin", ["create", repo.to_str().unwrap()]).expect_success("create");
        let conf = format!(
            "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\nrealm = {REALM}\n"
        );
        fs::write(repo.join("conf/svnserve.conf"), conf).unwrap();
        fs::write(repo.join("conf/passwd"), "[users]\nada = one word\nbob = zwei w\u{f6}rter\n")
            .unwrap();
        self.server = Some(Server::start(&programs, self.folder.path(), &[]));
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("conf")
    }

    fn command(&self, mut command: Command) -> Command {
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command.env("HOME", self.folder.path().join("home"));
        command.env("XDG_RUNTIME_DIR", self.folder.path().join("runtime"));
        command.env("LC_ALL", "C.UTF-8");
        command.env_remove("XDG_DATA_HOME").env_remove("DISPLAY");
        command
    }

    fn list(&self, programs: &Programs, more: &[&str]) -> Output {
        let mut svn = self.command(programs.command("svn"));
        let url = format!("svn://127.0.0.1:{}/repo", self.server.as_ref().unwrap().port());
        svn.args(["ls", "--non-interactive", &url, "--config-dir"]).arg(self.conf()).args(more);
        svn.stdin(Stdio::null()).output().unwrap()
    }

    /// The one file of kept credentials, and an end of them.
    fn take_kept(&self) -> String {
        let files = fs::read_dir(self.conf().join("auth/svn.simple")).unwrap();
        let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let text = fs::read_to_string(&files[0]).unwrap();
        fs::remove_file(&files[0]).unwrap();
        text
    }

    fn tool(&self, args: &[&str]) -> String {
        let output = self.command(Command::new("secret-tool")).args(args).output();
        let output = output.expect("libsecret-tools is not installed");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in self.running.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn succeeded(output: &Output, what: &str) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn each_finds_what_the_other_keeps() {
    let desktop = Desktop::new();
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let realm = format!("<svn://127.0.0.1:{}> {REALM}", desktop.server.as_ref().unwrap().port());
    let word = "zwei w\u{f6}rter";
    for (keeper, finder, user, password) in
        [(&reference, &ours, "ada", "one word"), (&ours, &reference, "bob", word)]
    {
        let given = ["--username", user, "--password", password];
        succeeded(&desktop.list(keeper, &given), keeper.label);
        let found = desktop.tool(&["lookup", "domain", &realm, "user", user]);
        assert_eq!(found, password, "kept by {}", keeper.label);
        succeeded(&desktop.list(finder, &[]), finder.label);
        succeeded(&desktop.list(keeper, &[]), keeper.label);
        let kept = desktop.take_kept();
        assert!(kept.contains("gnome-keyring") && !kept.contains(password), "{kept}");
    }
    // Nothing but these two attributes and the schema.
    let all = |user: &str| {
        let told = desktop.tool(&["search", "--all", "domain", &realm, "user", user]);
        let varies = ["[", "secret", "created", "modified", "attribute.user"];
        let lines = told.lines().filter(|line| !varies.iter().any(|start| line.starts_with(start)));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(all("bob"), all("ada"));
    assert!(!all("ada").is_empty());
    // A password that is new replaces the one of before.
    for programs in [&ours, &reference] {
        succeeded(
            &desktop.list(programs, &["--username", "ada", "--password", "one word"]),
            "again",
        );
    }
    assert_eq!(desktop.tool(&["search", "--all", "user", "ada"]).matches("label = ").count(), 1);

    // A keyring that is locked is none, where no person can be asked.
    desktop.tool(&["lock"]);
    let said = [&ours, &reference].map(|programs| {
        let output = desktop.list(programs, &[]);
        assert!(!output.status.success(), "{}", programs.label);
        String::from_utf8(output.stderr).unwrap()
    });
    assert_eq!(said[0], said[1]);
    desktop.take_kept();
    for programs in [&reference, &ours] {
        let given = ["--username", "ada", "--password", "one word"];
        succeeded(&desktop.list(programs, &given), programs.label);
        let kept = desktop.take_kept();
        assert!(!kept.contains("gnome-keyring") && !kept.contains("one word"), "{kept}");
    }
}

/// Without a bus there is no store, and no error.
#[test]
fn without_a_bus() {
    let mut desktop = Desktop::new();
    desktop.address = "unix:path=/nonexistent/bus".to_owned();
    let given = ["--username", "ada", "--password", "one word"];
    for programs in [&Programs::reference(), &Programs::ours()] {
        succeeded(&desktop.list(programs, &given), programs.label);
        assert!(!desktop.take_kept().contains("passtype"));
    }
}
