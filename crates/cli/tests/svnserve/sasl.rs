//! `use-sasl`: the reference's client, which has Cyrus SASL, against our server; our client against
//! both servers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// Our server with a folder of SASL's configuration.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start(repo: &Repository) -> Self {
        Self::start_of(&Programs::ours(), repo)
    }

    pub(super) fn start_of(programs: &Programs, repo: &Repository) -> Self {
        let port = free_port();
        let child = programs
            .command("svnserve")
            .args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"])
            .arg(port.to_string())
            .arg("-r")
            .arg(repo.parent())
            .env("SASL_CONF_PATH", repo.parent())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { child, port };
        let is_up = sapwood_testkit::patience::wait(20, || {
            assert!(server.child.try_wait().unwrap().is_none(), "svnserve does not start");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(is_up, "svnserve does not listen");
        server
    }

    pub(super) fn svn(&self, command: &[&str], user: &str, password: &str) -> Output {
        let url = format!("svn://127.0.0.1:{}/repo/trunk/README", self.port);
        let mut args: Vec<&str> = command.to_vec();
        args.extend([&*url, "--non-interactive", "--no-auth-cache"]);
        if !user.is_empty() {
            args.extend(["--username", user, "--password", password]);
        }
        Programs::reference().run("svn", args)
    }
}

/// The database in which Cyrus SASL itself keeps passwords.
pub(super) fn sasldb(at: &Path) {
    let script = "use DB_File; tie %h, 'DB_File', $ARGV[0], O_RDWR|O_CREAT, 0600, $DB_HASH or die; \
                  $h{\"ada\\0A place\\0userPassword\"} = $ARGV[1]; untie %h";
    let made = Command::new("perl").args(["-e", script]).arg(at).arg(PASSWORD).status().unwrap();
    assert!(made.success(), "perl with DB_File is needed");
}

/// Lists of mechanisms: none, or one.
const LISTS: [&str; 8] = [
    "",
    "SCRAM-SHA-512",
    "SCRAM-SHA-256",
    "SCRAM-SHA-1",
    "DIGEST-MD5",
    "CRAM-MD5",
    "LOGIN",
    "PLAIN",
];

#[test]
fn our_client_proves_who_it_is_to_both_servers() {
    let clients = [Programs::reference(), Programs::ours()];
    for server in &clients {
        let repo = Repository::scripted(&Shape::few()[0]);
        let db = repo.parent().join("sasldb");
        sasldb(&db);
        // Cyrus SASL reads its configuration once.
        let start = || Server::start_of(server, &repo);
        let dump = |server: &Server, client: &Programs, user: &str, password: &str| {
            let url = format!("svn://127.0.0.1:{}/repo", server.port);
            let mut args = vec!["dump", "-q", "-r", "0", &*url];
            args.extend(["--non-interactive", "--no-auth-cache"]);
            if !user.is_empty() {
                args.extend(["--username", user, "--password", password]);
            }
            client.run("svnrdump", args)
        };
        let plugin = format!("auxprop_plugin: sasldb\nsasldb_path: {}\n", db.display());
        for list in LISTS {
            let list = if list.is_empty() { String::new() } else { format!("mech_list: {list}\n") };
            configure(&repo, "[sasl]\nuse-sasl = true\n", &format!("{plugin}{list}"));
            let server = start();
            for (user, password, right) in [
                ("ada", PASSWORD, true),
                ("ada", "wrong", false),
                ("nobody", PASSWORD, false),
                ("", "", false),
            ] {
                let [wanted, found] = clients.each_ref().map(|c| dump(&server, c, user, password));
                let what = format!("{list} {user} {password}");
                assert_eq!(found.code == 0, right, "{what}: {}", found.stderr_text());
                if list.is_empty() {
                    // Which mechanism is the strongest that both sides know may differ.
                    assert_eq!(wanted.code, found.code, "{what}");
                } else {
                    assert_same(&what, &wanted, &found);
                }
            }
        }
        // A mechanism that is not ours, and none that takes a password.
        configure(&repo, "[sasl]\nuse-sasl = true\n", &format!("{plugin}mech_list: NTLM\n"));
        let refused = dump(&start(), &clients[1], "ada", PASSWORD);
        assert_eq!(refused.code, 1);
        let open = "anon-access = read\n[sasl]\nuse-sasl = true\n";
        configure(&repo, open, &plugin);
        dump(&start(), &clients[1], "", "").expect_success("anonymous");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn configure(repo: &Repository, more: &str, sasl: &str) {
    let conf = repo.path().join("conf");
    let general = "[general]\npassword-delay = 0\nanon-access = none\npassword-db = passwd\nrealm = A place\n";
    fs::write(conf.join("svnserve.conf"), format!("{general}{more}")).unwrap();
    fs::write(conf.join("passwd"), "[users]\nada = s\u{e4}cret, with = signs\nbob = \n").unwrap();
    fs::write(repo.parent().join("svn.conf"), sasl).unwrap();
}

pub(super) const PASSWORD: &str = "s\u{e4}cret, with = signs";

#[test]
fn mechanisms_of_cyrus() {
    let repo = Repository::scripted(&Shape::few()[0]);
    let server = Server::start(&repo);
    let on = "[sasl]\nuse-sasl = true\n";
    // Without a list the client chooses the strongest that it has.
    for list in LISTS {
        let list = if list.is_empty() { String::new() } else { format!("mech_list: {list}\n") };
        configure(&repo, on, &list);
        for user in ["ada", "ada@A place"] {
            let cat = server.svn(&["cat"], user, PASSWORD).expect_success(&list);
            assert!(cat.stdout_text().starts_with("Read me."), "{list}");
        }
        let lock = server.svn(&["lock"], "ada", PASSWORD).expect_success(&list);
        assert!(lock.stdout_text().contains("locked by user 'ada'"), "{list}");
        server.svn(&["unlock"], "ada", PASSWORD).expect_success(&list);
        for (user, password) in
            [("ada", "wrong"), ("nobody", PASSWORD), ("ada@elsewhere", PASSWORD), ("", "")]
        {
            let refused = server.svn(&["cat"], user, password);
            assert_eq!(refused.code, 1, "{list} {user} {password}");
            assert!(refused.stderr_text().contains("E170001"), "{}", refused.stderr_text());
        }
    }
    // Nothing that encrypts, unless it is named: a demand for it leaves nothing.
    for (more, sasl) in [
        ("[sasl]\nuse-sasl = true\nmin-encryption = 128\n", ""),
        (on, "mech_list: NTLM\n"),
        (on, "pwcheck_method: alwaystrue\n"),
    ] {
        configure(&repo, more, sasl);
        let refused = server.svn(&["cat"], "ada", PASSWORD).stderr_text();
        let words = "E170001: Could not obtain the list of SASL mechanisms";
        assert!(refused.contains(words), "{refused}");
    }
    // Reading needs no name where anonymous users may.
    let open = "auth-access = write\n[sasl]\nuse-sasl = true\nmax-encryption = 0\n";
    configure(&repo, &format!("anon-access = read\n{open}"), "");
    server.svn(&["cat"], "", "").expect_success("anonymous");
    assert_eq!(server.svn(&["lock"], "", "").code, 1);
    server.svn(&["lock"], "ada", PASSWORD).expect_success("after being anonymous");
}

#[test]
fn passwords_that_another_daemon_knows() {
    let repo = Repository::scripted(&Shape::few()[0]);
    let socket = repo.parent().join("mux");
    let server = Server::start(&repo);
    let sasl = format!("pwcheck_method: saslauthd\nsaslauthd_path: {}\n", socket.display());
    configure(&repo, "[sasl]\nuse-sasl = true\n", &sasl);
    assert_eq!(server.svn(&["cat"], "ada", PASSWORD).code, 1, "nobody there to ask");
    let daemon = saslauthd(&socket);
    server.svn(&["cat"], "grace", "hopper").expect_success("PLAIN");
    assert_eq!(server.svn(&["cat"], "ada", PASSWORD).code, 1, "password-db is not asked");
    drop(server);
    drop(daemon);
}

/// Answers as `saslauthd` does, for one user, until the test's process ends.
fn saslauthd(socket: &Path) -> std::thread::JoinHandle<()> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut strings = Vec::new();
            for _ in 0..4 {
                let mut len = [0; 2];
                stream.read_exact(&mut len).unwrap();
                let mut string = vec![0; usize::from(u16::from_be_bytes(len))];
                stream.read_exact(&mut string).unwrap();
                strings.push(String::from_utf8(string).unwrap());
            }
            let right = strings == ["grace", "hopper", "svn", "A place"];
            stream.write_all(if right { b"\0\x02OK" } else { b"\0\x02NO" }).unwrap();
        }
    })
}
