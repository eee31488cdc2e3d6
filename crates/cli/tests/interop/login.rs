//! Our clients prove who they are to both servers as the reference's do: with passwords that are
//! given, kept in the user's `auth` folder (which both sides read and write), or typed at a
//! terminal; and through tunnels.

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::create;
use sapwood_testkit::terminal::{Conversation, converse};
use sapwood_testkit::{Output, Programs, Server, Shape};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository that only people with a password may read.
fn guarded(at: &Path) {
    create(&Shape::new("1.10"), at);
    let general = "[general]\npassword-delay = 0\nanon-access = none\nauth-access = write\npassword-db = passwd\n\
                   realm = Behind the door\n";
    std::fs::write(at.join("conf/svnserve.conf"), general).unwrap();
    std::fs::write(at.join("conf/passwd"), "[users]\njo = secret\nal = x y\n").unwrap();
}

/// One side's client with a configuration folder of its own.
struct Client {
    programs: Programs,
    dir: PathBuf,
}

impl Client {
    fn new(programs: &Programs, dir: PathBuf) -> Self {
        std::fs::create_dir_all(&dir).unwrap();
        Self { programs: programs.clone(), dir }
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = self.programs.command(program);
        command.args(args).arg("--config-dir").arg(&self.dir);
        command
    }

    /// What a run prints, and the files of credentials that there are then.
    fn run(&self, program: &str, args: &[&str], input: &str) -> (Output, BTreeMap<String, String>) {
        let mut command = self.command(program, args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may be gone before it reads.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let out = child.wait_with_output().unwrap();
        let code = out.status.code().unwrap_or(-1);
        (Output { code, stdout: out.stdout, stderr: out.stderr }, self.kept())
    }

    fn kept(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for kind in ["svn.simple", "svn.username"] {
            let Ok(folder) = std::fs::read_dir(self.dir.join("auth").join(kind)) else { continue };
            for file in folder {
                let file = file.unwrap();
                let name = format!("{kind}/{}", file.file_name().into_string().unwrap());
                found.insert(name, std::fs::read_to_string(file.path()).unwrap());
            }
        }
        found
    }
}

/// Options, what is on standard input.
const STEPS: &[(&[&str], &str)] = &[
    (&[], ""),
    (&["--username", "jo", "--password", "wrong"], ""),
    (&["--username", "nobody", "--password", "secret"], ""),
    (&["--username", "jo", "--password", "secret", "--no-auth-cache"], ""),
    (&["--username", "jo", "--password", "secret"], ""),
    (&[], ""),
    (&["--password", "secret"], ""),
    (
        &[
            "--username",
            "jo",
            "--password",
            "secret",
            "--config-option",
            "servers:global:store-plaintext-passwords=yes",
        ],
        "",
    ),
    (
        &[
            "--username",
            "al",
            "--password-from-stdin",
            "--config-option",
            "servers:global:store-plaintext-passwords=yes",
        ],
        "x y\nmore\n",
    ),
    (&[], ""),
    (&["--username", "al"], ""),
    (&["--username", "jo"], ""),
    (&["--username", "jo", "--password", "secret", "--no-auth-cache"], ""),
    (
        &[
            "--username",
            "jo",
            "--password",
            "secret",
            "--config-option",
            "servers:global:store-passwords=no",
        ],
        "",
    ),
    (
        &[
            "--username",
            "al",
            "--password",
            "x y",
            "--config-option",
            "servers:global:store-auth-creds=no",
        ],
        "",
    ),
    (
        &[
            "--username",
            "al",
            "--password",
            "x y",
            "--config-option",
            "config:auth:store-auth-creds=no",
        ],
        "",
    ),
    (
        &[
            "--username",
            "al",
            "--password",
            "x y",
            "--config-option",
            "config:auth:store-passwords=no",
        ],
        "",
    ),
    (
        &[
            "--password",
            "secret",
            "--config-option",
            "servers:global:username=jo",
            "--config-option",
            "servers:global:store-plaintext-passwords=yes",
        ],
        "",
    ),
    (
        &[
            "--username",
            "jo",
            "--password",
            "secret",
            "--config-option",
            "servers:groups:here=127.0.0.*",
            "--config-option",
            "servers:here:store-plaintext-passwords=yes",
        ],
        "",
    ),
    (&[], ""),
    (
        &[
            "--username",
            "jo",
            "--password",
            "secret",
            "--config-option",
            "servers:global:store-plaintext-passwords=perhaps",
        ],
        "",
    ),
    (
        &[
            "--username",
            "al",
            "--password",
            "x y",
            "--config-option",
            "servers:global:store-plaintext-passwords=perhaps",
        ],
        "",
    ),
];

/// Hands over each server in turn, the URL of a repository that wants passwords, and both clients,
/// which know none yet.
fn with_both_servers(work: impl Fn(&Server, &str, &[Client; 2])) {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let scratch = tempfile::tempdir().unwrap();
    guarded(&scratch.path().join("r"));
    for server in [&reference, &ours] {
        let server = Server::start(server, scratch.path(), &[]);
        let url = server.url("r");
        let folder = tempfile::tempdir().unwrap();
        let clients = [&reference, &ours].map(|p| Client::new(p, folder.path().join(p.label)));
        work(&server, &url, &clients);
    }
}

#[test]
fn passwords_given_and_kept() {
    with_both_servers(|server, url, clients| {
        for (options, input) in STEPS {
            let args = [&["dump", "-q", "-r", "0", "--non-interactive", url][..], options].concat();
            let [wanted, found] = clients.each_ref().map(|c| c.run("svnrdump", &args, input));
            let what = format!("{} {}", server.label, args.join(" "));
            assert_same(&what, &wanted.0, &found.0);
            assert_eq!(wanted.1, found.1, "{what}");
        }
        // Each finds what the other one kept.
        for (from, to) in [(0, 1), (1, 0)] {
            let other = Client::new(&clients[to].programs, clients[from].dir.clone());
            let args = ["dump", "-q", "-r", "0", "--non-interactive", url];
            let (out, _) = other.run("svnrdump", &args, "");
            out.expect_success("with what the other side kept");
        }
    });
}

/// Questions, and what a person types.
type Answers = &'static [(&'static str, &'static str)];

/// Options, and the conversation that follows.
const TALKS: &[(&[&str], Answers)] = &[
    // The name of the system's user, and two more tries with names.
    (
        &[],
        &[
            ("Password for 'root': ", "nothing"),
            ("Username: ", "jo"),
            ("Password for 'jo': ", "wrong"),
            ("Username: ", "jo"),
            ("Password for 'jo': ", "secret"),
            ("(yes/no)? ", "no"),
        ],
    ),
    (&["--username", "al"], &[("Password for 'al': ", "x y"), ("(yes/no)? ", "yes")]),
    (&[], &[]),
    (&["--no-auth-cache", "--username", "jo"], &[("Password for 'jo': ", "secret")]),
    (
        &["--username", "jo"],
        &[
            ("Password for 'jo': ", "a"),
            ("Username: ", "b"),
            ("Password for 'b': ", ""),
            ("Username: ", "c"),
            ("Password for 'c': ", "d"),
        ],
    ),
];

#[test]
fn passwords_typed_at_a_terminal() {
    with_both_servers(|server, url, clients| {
        for (options, answers) in TALKS {
            let args = [&["info", url][..], options].concat();
            let [wanted, found] = clients.each_ref().map(|client| {
                let Conversation { screen, code } =
                    converse(&client.command("svnsync", &args), answers);
                // Stars for what is typed are not ours. The warning about passwords that are kept
                // unencrypted has words of its own.
                let mut shown = screen.replace('*', "").replace("': \n\n", "': \n");
                let warning = shown.find("\n----").or_else(|| shown.find("\nThe password for"));
                if let (Some(from), Some(to)) = (warning, shown.find("Store password")) {
                    shown.replace_range(from..to, "\n(warning)\n");
                    shown = shown.replace("\n\n", "\n");
                }
                (shown, code, client.kept())
            });
            assert_eq!(wanted, found, "{} {}", server.label, args.join(" "));
        }
    });
}

/// What stands in for ssh: notes how it was called, and is the server.
fn stand_in(at: &Path, server: &Programs, root: &Path) {
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> '{}.log'\necho 'Welcome to the (stand-in) host!'\n\
         exec '{}' -t --tunnel-user guest -r '{}'\n",
        at.display(),
        server.path("svnserve").display(),
        root.display()
    );
    std::fs::write(at, text).unwrap();
    std::fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn tunnels_lead_to_servers() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    for server in [&reference, &ours] {
        let told = [&reference, &ours].map(|client| {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path().join("root");
            std::fs::create_dir(&root).unwrap();
            guarded(&root.join("r"));
            let ssh = scratch.path().join("my ssh");
            stand_in(&ssh, server, &root);
            let config = format!(
                "[tunnels]\nvar = $NOT_SET \"{0}\" -x\nplain = \"{0}\"\nset = $STAND_IN other\n\
                 nothing = $NOT_SET\nempty =\n",
                ssh.display()
            );
            let run = |program: &str, args: &[&str]| {
                let client = Client::new(client, scratch.path().join("config"));
                std::fs::write(client.dir.join("config"), &config).unwrap();
                let quoted = format!("\"{}\" -q", ssh.display());
                let mut command = client.command(program, args);
                command.env("SVN_SSH", &quoted).env("STAND_IN", &quoted);
                let out = Output::of(&mut command)
                    .replacing(scratch.path().to_str().unwrap(), "SCRATCH")
                    .without_times();
                // What the server itself says, when it is given the time.
                let text = out.stderr_text();
                let kept = text.split_inclusive('\n').filter(|l| !l.starts_with("svnserve: "));
                Output { stderr: kept.collect::<String>().into_bytes(), ..out }
            };
            let mut told = Vec::new();
            let urls = [
                "svn+ssh://me@host/r",
                "svn+ssh://host:2222/r",
                "svn+var://host/r",
                "svn+plain://h_o-s.t/r",
                "svn+set://[::1]:22/r",
                "svn+nothing://host/r",
                "svn+empty://host/r",
                "svn+unknown://host/r",
                "svn+ssh://-oProxyCommand=x/r",
                "svn+ssh://host/none",
            ];
            for url in urls {
                told.push(run(
                    "svnmucc",
                    &["-mm", "--non-interactive", "mkdir", &format!("{url}/{}", told.len())],
                ));
                told.push(run("svnsync", &["info", "--non-interactive", url]));
            }
            // Who committed, and how the stand-in was called.
            let log = std::fs::read_to_string(scratch.path().join("my ssh.log")).unwrap();
            let authors = Programs::reference()
                .run("svn", ["log", "-q", &format!("file://{}", root.join("r").display())]);
            told.push(authors.without_times());
            (told, log)
        });
        let [(wanted, wanted_log), (found, found_log)] = told;
        for (n, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            assert_same(&format!("{} run {n}", server.label), wanted, found);
        }
        assert_eq!(wanted_log, found_log);
    }
}
