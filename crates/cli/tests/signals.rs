//! A program that is interrupted cleans up and then dies of the signal, whatever it waits for: so a
//! shell's loop, cron and systemd see it. And at the first signal.

use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sapwood_testkit::{Programs, Repository, Server, Shape, patience, terminal};

const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];
/// Seconds that any of them may take to die: it takes two, or ten with a lock to give up.
const LIMIT: u64 = 40;

/// A program of ours that is started with its signals as they are by default, whatever runs the test.
fn start(line: &str, folder: &Path, url: &str) -> (String, Child) {
    start_with(line, folder, url, &[])
}

fn start_with(
    line: &str,
    folder: &Path,
    url: &str,
    variables: &[(&str, &Path)],
) -> (String, Child) {
    let programs = Programs::ours();
    let mut words = line.split(' ').map(|w| {
        let here = folder.display().to_string();
        w.replace("FILE", &format!("file://{here}")).replace("MUTE", url).replace("HERE", &here)
    });
    let mut command = Command::new("env");
    sapwood_testkit::programs::environment(&mut command);
    command.envs(variables.iter().copied());
    command.arg("--default-signal").arg(programs.path(&words.next().unwrap())).args(words);
    command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Nothing ever comes, and there is no end.
    command.stdin(Stdio::piped());
    (line.to_owned(), command.spawn().unwrap())
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until every program sleeps, waiting for what does not come.
fn until_they_wait(children: &[(String, Child)]) {
    for (_, child) in children {
        patience::wait(5, || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
            let stat = stat.unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('R'))
        });
    }
    std::thread::sleep(Duration::from_millis(700));
}

/// Sends each program the signal, once, and expects it to die of that.
fn all_die(children: &mut [(String, Child)], name: &str, number: i32) {
    for (_, child) in children.iter() {
        signal(child, name);
    }
    let mut wrong = String::new();
    for (line, child) in children {
        let mut status = None;
        patience::wait(LIMIT, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        if status.and_then(|s| s.signal()) != Some(number) {
            let mut told = String::new();
            if status.is_none() {
                let _ = child.kill();
            }
            let _ = child.stderr.take().unwrap().read_to_string(&mut told);
            wrong += &format!("SIG{name}: {line}: {status:?}\n{told}\n");
        }
    }
    assert!(wrong.is_empty(), "these did not die of their signal:\n{wrong}");
}

/// A folder with a repository `r` whose locks another program holds, a repository `h` with a hook
/// that hangs, and an empty one `m`.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let reference = Programs::reference();
    let at = |name: &str| dir.path().join(name).display().to_string();
    for name in ["r", "h", "m"] {
        reference.run("svnadmin", ["create", &at(name)]).expect_success("create");
        let hook = dir.path().join(name).join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    }
    for hook in ["pre-commit", "pre-revprop-change", "pre-lock"] {
        let hook = dir.path().join("h/hooks").join(hook);
        std::fs::write(&hook, "#!/bin/sh\nexec sleep 300\n").unwrap();
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let url = format!("file://{}", at("h"));
    let dump = Programs::reference().run("svnrdump", ["dump", "-q", &url]).expect_success("dump");
    std::fs::write(dir.path().join("dump"), &dump.stdout).unwrap();
    std::fs::write(dir.path().join("f"), "text\n").unwrap();
    dir
}

/// Another program that holds the locks of a repository until it is killed.
fn hold_locks(repository: &Path) -> Child {
    let script = "import fcntl,sys\nfs=[]\nfor n in ['db.lock','db-logs.lock','../db/write-lock',\
        '../db/pack-lock']:\n p=sys.argv[1]+'/locks/'+n\n try: f=open(p,'r+')\n except OSError: \
        f=open(p,'w+')\n fcntl.lockf(f,fcntl.LOCK_EX)\n fcntl.flock(f,fcntl.LOCK_EX)\n \
        fs.append(f)\nprint('held',flush=True)\nsys.stdin.read()\n";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .arg(repository)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut held).unwrap();
    assert_eq!(&held, b"held");
    child
}

/// What waits for a lock that another program holds, for a hook, or for input.
const WAITING: &[&str] = &[
    "svnadmin recover r",
    "svnadmin load r -F dump",
    "svnadmin load m",
    "svnadmin load-revprops m",
    "svnadmin setlog --bypass-hooks r -r 0 f",
    "svnadmin lock r /f u f",
    "svnadmin upgrade r",
    "svnmucc -m x mkdir FILE/r/a",
    "svnmucc -m x put f FILE/r/a",
    "svnmucc -m x mkdir FILE/h/a",
    "svnmucc -m x -U FILE/m put -- - a",
    "svnsync init FILE/r FILE/m",
    "svnsync init FILE/h FILE/m",
    "svnrdump load FILE/r -F dump",
    "svnrdump load FILE/h -F dump",
    "svnrdump load FILE/m",
    "svndumpfilter include x",
    "svnmucc -m x mkdir MUTE/a",
    "svnrdump dump MUTE",
    "svnrdump load MUTE",
    "svnsync init FILE/m MUTE",
    "svnsync info MUTE",
    "svnbench null-log MUTE",
    "svnbench null-export MUTE",
    "svnserve -d --foreground --listen-host 127.0.0.1 --listen-port 0 -r HERE",
    "svnserve -i -r HERE",
    "sapwood serve HERE",
];

#[test]
fn whatever_they_wait_for() {
    let folders = SIGNALS.map(|_| folder());
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("svn://127.0.0.1:{}", mute.local_addr().unwrap().port());
    let one = &|name: &str, number: i32, dir: &Path| {
        let mut holder = hold_locks(&dir.join("r"));
        let servers = |line: &&str| line.contains("serve ") && !line.contains(" -i ");
        // To a server SIGHUP is a wish to read its configuration again.
        let lines = WAITING.iter().filter(|line| number != 1 || !servers(line));
        let mut children: Vec<_> = lines.map(|line| start(line, dir, &url)).collect();
        until_they_wait(&children);
        all_die(&mut children, name, number);
        let _ = holder.kill();
        let _ = holder.wait();
    };
    std::thread::scope(|scope| {
        for ((name, number), dir) in SIGNALS.into_iter().zip(&folders) {
            scope.spawn(move || one(name, number, dir.path()));
        }
    });
}

/// Work that would go on for long: it writes into a pipe without a reader.
#[test]
fn in_the_middle_of_their_work() {
    let repo = Repository::scripted(&Shape::new("1.9"));
    let dir = tempfile::tempdir().unwrap();
    for (name, number) in SIGNALS {
        let lines = ["svnadmin dump", "svnrdump dump", "svnlook tree", "svnlook cat"];
        let mut children: Vec<_> = lines
            .iter()
            .map(|line| {
                let mut command = Command::new("env");
                sapwood_testkit::programs::environment(&mut command);
                let words: Vec<&str> = line.split(' ').collect();
                command.arg("--default-signal").arg(Programs::ours().path(words[0])).arg(words[1]);
                command.arg(if words[0] == "svnrdump" { repo.url() } else { repo.arg() });
                if words[1] == "cat" {
                    command.arg("trunk/no/such/file");
                }
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                ((*line).to_owned(), child)
            })
            .collect();
        until_they_wait(&children);
        // Some are done: their output fits into the pipe.
        children.retain_mut(|(_, child)| child.try_wait().unwrap().is_none());
        all_die(&mut children, name, number);
    }
    drop(dir);
}

/// The lock that svnsync puts into its mirror is given up, and the next run works.
#[test]
fn locks_in_mirrors_are_given_up() {
    let dir = folder();
    let script = "#!/bin/sh\ncase \"$4\" in svn:sync-*) exit 0;; esac\nsleep 1\n";
    let source = Repository::scripted(&Shape::new("1.9"));
    std::fs::write(dir.path().join("m/hooks/pre-revprop-change"), script).unwrap();
    let mirror = format!("file://{}/m", dir.path().display());
    let init = Programs::ours().run("svnsync", ["init", "-q", &mirror, &source.url()]);
    init.expect_success("init");
    let mut child = vec![start("svnsync sync FILE/m", dir.path(), "")];
    patience::wait(10, || {
        let got =
            Programs::reference().run("svn", ["pg", "--revprop", "-r0", "svn:sync-lock", &mirror]);
        got.code == 0
    });
    all_die(&mut child, "TERM", 15);
    let lock = Programs::reference().run("svn", ["pl", "--revprop", "-r0", &mirror]);
    assert!(!lock.stdout_text().contains("svn:sync-lock"), "{}", lock.stdout_text());
}

/// An interactive program in a loop: Ctrl-C at a terminal ends the loop, and typing shows again.
#[test]
fn loops_of_shells_end() {
    let dir = folder();
    let mut holder = hold_locks(&dir.path().join("r"));
    let program = Programs::ours().path("svnadmin");
    let script = format!(
        "(sleep 1; kill -INT 0) & for i in 1 2 3; do {} recover {}; echo after $?; done; echo end",
        program.display(),
        dir.path().join("r").display()
    );
    let mut command = Command::new("setsid");
    sapwood_testkit::programs::environment(&mut command);
    // A shell that is interrupted itself ends when its program died of that, and only then.
    command.args(["--wait", "env", "--default-signal", "bash", "-c", &script]);
    let output = sapwood_testkit::Output::of(&mut command);
    let told = output.stdout_text();
    assert!(!told.contains("after") && !told.contains("end"), "{output:?}");
    let _ = holder.kill();
    let _ = holder.wait();
}

/// A password is asked for, and not shown; a signal comes; typing is shown again.
#[test]
fn terminals_show_typing_again() {
    let dir = folder();
    let conf = "[general]\nanon-access = none\npassword-db = passwd\n";
    std::fs::write(dir.path().join("m/conf/svnserve.conf"), conf).unwrap();
    std::fs::write(dir.path().join("m/conf/passwd"), "[users]\nu = p\n").unwrap();
    let server = Server::start(&Programs::reference(), dir.path(), &[]);
    for name in ["INT", "TERM"] {
        let script = format!(
            "{} -m x --username u mkdir {} </dev/tty & sleep 1; kill -{name} $!; wait $!; echo died $?; stty -a | grep -o '.echo '",
            Programs::ours().path("svnmucc").display(),
            server.url("m/a"),
        );
        let mut command = Command::new("env");
        sapwood_testkit::programs::environment(&mut command);
        command.env("HOME", dir.path());
        command.args(["--default-signal", "bash", "-c", &script]);
        let shown = terminal::converse(&command, &[]).screen;
        let code = if name == "INT" { 130 } else { 143 };
        assert!(shown.contains(&format!("died {code}")) && shown.ends_with(" echo \n"), "{shown}");
    }
}

/// Ctrl-C in an editor is the editor's: the program waits for what comes of it.
#[test]
fn editors_have_the_terminal() {
    let dir = folder();
    let script = "#!/bin/sh\n>opened\nwhile [ ! -e go ]; do sleep 0.1; done\necho text >\"$1\"\n";
    let editor = dir.path().join("editor");
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    let line = "svnmucc --force-interactive mkdir FILE/m/a";
    let (_, mut child) = start_with(line, dir.path(), "", &[("SVN_EDITOR", &editor)]);
    assert!(patience::wait(20, || dir.path().join("opened").exists()));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait for the editor");
    std::fs::write(dir.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.stdout.starts_with(b"r1 committed"), "{output:?}");
}
