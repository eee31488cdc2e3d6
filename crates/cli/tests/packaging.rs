//! What packages of the program need: manual pages, completions, and a server that systemd can start.

use std::io::Read as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs};

fn install(dir: &std::path::Path) {
    let at = |name: &str| dir.join(name).display().to_string();
    let args = ["install-links", "--man", &at("man"), "--completions", &at("bash"), &at("bin")];
    Programs::ours().run("sapwood", args).expect_success("install-links");
}

#[test]
fn manual_pages_are_what_man_reads() {
    let dir = tempfile::tempdir().unwrap();
    install(dir.path());
    let mut pages = 0;
    for section in ["man1", "man5", "man8"] {
        for entry in std::fs::read_dir(dir.path().join("man").join(section)).unwrap() {
            let page = entry.unwrap().path();
            let mut groff = Command::new("groff");
            groff.args(["-man", "-Tutf8", "-ww", "-z", "-P-c"]).arg(&page).stdin(Stdio::null());
            let said = groff.output().expect("groff: run `cargo xtask packages` as root");
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            // What is laid out for a terminal may be wider than a page.
            let said: Vec<_> = said.lines().filter(|l| !l.contains("can't break line")).collect();
            assert!(said.is_empty(), "{}: {said:#?}", page.display());
            pages += 1;
        }
    }
    assert!(pages > 10, "{pages} pages");
    // Every program that Debian's packages of Subversion describe, as far as it is here.
    for name in sapwood_testkit::programs::NAMES {
        if !dir.path().join("bin").join(name).exists() {
            continue;
        }
        let found =
            ["1", "8"].iter().any(|s| dir.path().join(format!("man/man{s}/{name}.{s}")).exists());
        assert!(found, "no page of {name}");
    }
}

#[test]
fn bash_completes() {
    let dir = tempfile::tempdir().unwrap();
    install(dir.path());
    let complete = |program: &str, words: &str| {
        let script = format!(
            ". {}/bash/{program}; COMP_WORDS=({program} {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             $(complete -p {program} | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); echo ${{COMPREPLY[@]}}",
            dir.path().display()
        );
        Output::of(Command::new("bash").args(["-c", &script])).expect_success(words).stdout_text()
    };
    assert_eq!(complete("svnadmin", "hot"), "hotcopy\n");
    assert_eq!(complete("svnadmin", "hotcopy --inc"), "--incremental\n");
    assert_eq!(complete("svnadmin", "help ver"), "verify\n");
    assert_eq!(complete("svnserve", "--listen-"), "--listen-host --listen-once --listen-port\n");
}

/// As systemd starts a server: with a socket that listens, and one to tell.
#[test]
fn started_by_a_supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("r").display().to_string();
    Programs::reference().run("svnadmin", ["create", &repository]).expect_success("create");
    let notices = UnixDatagram::bind(dir.path().join("notify")).unwrap();
    notices.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let notice = || {
        let mut text = [0; 200];
        let got = notices.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..got]).into_owned()
    };
    let script = "import os,socket,sys\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\n\
        print(s.getsockname()[1],flush=True)\nkeep=s.dup()\nos.set_inheritable(keep.fileno(),False)\n\
        pid=os.fork()\nif pid==0:\n os.dup2(s.fileno(),3)\n os.set_inheritable(3,True)\n \
        os.environ['LISTEN_PID']=str(os.getpid())\n os.environ['LISTEN_FDS']='1'\n \
        os.execv(sys.argv[1],sys.argv[1:])\nprint(pid,flush=True)\ncode=os.waitpid(pid,0)[1]\n\
        k=socket.create_connection(('127.0.0.1',keep.getsockname()[1]))\nprint('still',code,flush=True)\n";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .arg(Programs::ours().path("svnserve"))
        .args(["-d", "--foreground", "-r"])
        .arg(dir.path())
        .env("NOTIFY_SOCKET", dir.path().join("notify"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut line = || {
        let mut text = Vec::new();
        let mut byte = [0];
        while out.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    };
    let (port, pid) = (line(), line());
    assert!(notice().starts_with("READY=1\n"));
    let url = format!("svn://127.0.0.1:{port}/r");
    Programs::reference().run("svn", ["info", &url]).expect_success("info");
    let mut kill = Command::new("kill");
    assert!(kill.args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(notice(), "STOPPING=1\n");
    // It died of the signal, and the socket still listens.
    let ended = line();
    assert_eq!(ended, "still 15", "{ended}");
    assert!(child.wait().unwrap().success());
}

/// The configuration that the package installs serves as it is, and with its commented part, whose accounts
/// `sapwood user` makes.
#[test]
fn the_configuration_of_the_package_serves() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display().to_string();
    Programs::reference().run("svnadmin", ["create", &format!("{at}/r")]).expect_success("create");
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/sapwood.toml");
    let port = free_port();
    let text = std::fs::read_to_string(packaged).unwrap();
    let moved = text
        .replace("/srv/svn", &at)
        .replace("/var/log/sapwood", &at)
        .replace("/var/lib/sapwood", &at)
        .replace("svn-port = 3690", "svn-port = 0")
        .replace("127.0.0.1:9117", &format!("127.0.0.1:{}", free_port()))
        .replace("http-port = 8080", &format!("http-port = {port}"));
    let (before, accounts) = moved.split_once("#[[location]]").unwrap();
    // What follows is for a directory of users in place of accounts.
    let (accounts, _) = accounts.split_once("\n#\n").unwrap();
    let config = dir.path().join("sapwood.toml");
    let list = |path: &str, more: &[&str]| {
        let url = format!("http://127.0.0.1:{port}{path}");
        let args = [&["ls", "--non-interactive", "--no-auth-cache", &url], more].concat();
        Programs::reference().run("svn", args).code
    };
    std::fs::write(&config, before).unwrap();
    let mut server = crate::common::places::serve(&config);
    assert_eq!(list("/r", &[]), 0);
    server.kill().unwrap();
    server.wait().unwrap();
    let with = accounts.lines().map(|line| line.strip_prefix('#').unwrap_or(line));
    let with: Vec<&str> = with.collect();
    let before: Vec<&str> = before.lines().filter(|line| !line.starts_with("path = ")).collect();
    let before = before.join("\n");
    std::fs::write(&config, format!("{before}\n[[location]]\n{}\n", with.join("\n"))).unwrap();
    let password = dir.path().join("password");
    std::fs::write(&password, "secret\n").unwrap();
    let mut user = Programs::ours().command("sapwood");
    user.args(["user", "add", "ada", "--password-from-stdin", "--accounts"]);
    user.arg(dir.path().join("accounts.toml")).stdin(std::fs::File::open(&password).unwrap());
    Output::of(&mut user).expect_success("sapwood user");
    let mut server = crate::common::places::serve(&config);
    let login = ["--username", "ada", "--password", "secret"];
    assert_eq!((list("/svn/r", &[]), list("/r", &[])), (1, 1));
    assert_eq!((list("/svn/r", &login), list("/r", &login)), (0, 1));
    server.kill().unwrap();
    server.wait().unwrap();
}

/// The units as `systemd-analyze` checks them, with our program where the package has it.
#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let dir = tempfile::tempdir().unwrap();
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let program = Programs::ours().path("sapwood").display().to_string();
    let mut units = Vec::new();
    for entry in std::fs::read_dir(packaging).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "service" && e != "socket" && e != "timer") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().replace("@.", "@one.");
        let text = std::fs::read_to_string(&path).unwrap().replace("/usr/bin/sapwood", &program);
        std::fs::write(dir.path().join(&name), text).unwrap();
        units.push(dir.path().join(name));
    }
    assert!(units.len() > 6, "{units:?}");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).args(&units).env("SYSTEMD_LOG_LEVEL", "warning");
    let said = verify.output().expect("systemd-analyze: run `cargo xtask packages` as root");
    let words = String::from_utf8_lossy(&said.stderr);
    let ours: Vec<&str> = words.lines().filter(|line| line.contains("sapwood")).collect();
    assert!(said.status.success() && ours.is_empty(), "{words}");
}

/// What the container runs, and how its health is checked, with other ports and another folder.
#[test]
fn the_container_serves_and_its_health_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display().to_string();
    Programs::reference().run("svnadmin", ["create", &format!("{at}/r")]).expect_success("create");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/Containerfile");
    let file = std::fs::read_to_string(file).unwrap();
    let [svn, http, metrics] = [(); 3].map(|()| free_port().to_string());
    let words = |instruction: &str| -> Vec<String> {
        let line = file.lines().find_map(|line| {
            line.strip_prefix(instruction)?.split_once('[').map(|(_, list)| list.to_owned())
        });
        let list = line.unwrap_or_else(|| panic!("{instruction} is missing"));
        let words = list.trim_end_matches(']').split(", ").map(|word| word.trim_matches('"'));
        words
            .map(|word| word.replace("/srv/svn", &at).replace("0.0.0.0", "127.0.0.1"))
            .map(|word| match word.as_str() {
                "3690" => svn.clone(),
                "8080" => http.clone(),
                "127.0.0.1:9117" => format!("127.0.0.1:{metrics}"),
                _ => word,
            })
            .collect()
    };
    assert!(file.lines().any(|line| line == "USER 3690:3690"), "the user has a fixed number");
    let health = words("HEALTHCHECK");
    let [entry, usual] = ["ENTRYPOINT", "CMD"].map(words);
    assert_eq!((&*entry[0], &*health[0]), ("sapwood", "sapwood"));
    let mut command = Programs::ours().command("sapwood");
    let mut server = command.args(&entry[1..]).args(usual).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let mut out = std::io::BufReader::new(server.stdout.take().unwrap());
    while !text.contains("Ctrl-C") {
        assert!(std::io::BufRead::read_line(&mut out, &mut text).unwrap() > 0, "{text}");
    }
    for url in [format!("svn://127.0.0.1:{svn}/r"), format!("http://127.0.0.1:{http}/r")] {
        Programs::reference().run("svn", ["info", &url]).expect_success(&url);
    }
    let check = || Programs::ours().run("sapwood", &health[1..]);
    check().expect_success("the health check");
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(check().code, 1);
}
