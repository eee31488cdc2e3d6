//! Command lines that are wrong, or nearly: both sides say the same.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// One command a line, in a folder with a repository `r` of two revisions, a mirror to be `m`, and
/// a file `f`. `FILE` stands for the folder's URL.
const LINES: &str = "
svnadmin create f
svnadmin create --fs-type=nix x
svnadmin create --compatible-version=0.9 x
svnadmin dump r -M -1
svnadmin dump r -M 99999999999999999999
svnadmin dump r -M +1x
svnadmin dump r --exclude /a --pattern -q --include /b
svnadmin hotcopy nix n
svnadmin hotcopy r f
svnadmin hotcopy r r
svnadmin hotcopy r m
svnadmin freeze r -- sh -c kill\u{a0}-9\u{a0}$$
svnadmin freeze r -- sh -c exit\u{a0}3
svnadmin freeze r -- /nonexistent
svnadmin freeze -F nix -- true
svnadmin load r --parent-dir /../x -F f
svnadmin lock r /trunk nobody f
svnadmin setuuid r x
svnadmin setlog r -r 1:2 f
svnadmin setrevprop r -r 1 a\u{a0}b f
svnadmin recover --wait --wait r x
svnfsfs load-index
svnfsfs dump-index r
svnfsfs dump-index r -r 9
svnfsfs stats nix
svn ls --non-interactive svn://no.such.host.invalid/r
svn ls --non-interactive http://no.such.host.invalid/r
svn ls --non-interactive https://no.such.host.invalid/r
svnlook history r nix
svnlook diff r -r 1 --diff-cmd=/nonexistent
svnserve -d --foreground --listen-host nix.invalid
svnserve -d --listen-port x
svnserve -d -r nix
svnsync nix
svnsync init FILE/m
svnsync init FILE/m r
svnsync init FILE/m FILE/nix
svnsync init -r 1 FILE/m FILE/r
svnsync sync -r 1 FILE/m
svnsync sync --allow-non-empty FILE/m
svnsync sync --source-trust-server-cert-failures=x --non-interactive FILE/m
svnsync sync --sync-trust-server-cert-failures=expired,other --non-interactive FILE/m
svnsync init FILE/m FILE/r/trunk
svnsync sync FILE/m x y
svnsync sync --config-option a:b:c=d FILE/m
svnmucc --config-option a:b:c=d -m x -U FILE/r rm nix
svnrdump dump --config-option a:b:c=d -r 9 FILE/r
svnbench null-log --config-option a:b:c=d FILE/nix
svnsync copy-revprops FILE/m -r 9
svnsync init --disable-locking --steal-lock FILE/m FILE/r
svnrdump dump r
svnrdump dump FILE/r -r 9
svnrdump dump FILE/r -r 2:1
svnrdump dump FILE/r -r BASE
svnrdump dump FILE/r x
svnrdump load FILE/r -F nix
svnrdump nix
svnmucc -m x nix
svnmucc -m x mkdir
svnmucc -m x mkdir a
svnmucc -m x -U FILE/r rm nix
svnmucc -m x -U FILE/r mkdir a mkdir a
svnmucc -m x -U FILE/r cp 9 trunk a
svnmucc -m x -U FILE/r cp x trunk a
svnmucc -m x -U FILE/r put m a
svnmucc -m x -U FILE/r put nix a
svnmucc -m x -U FILE/r propsetf a m trunk
svnmucc -F m -U FILE/r mkdir a
svnmucc -F nix -U FILE/r mkdir a
svnmucc -m x -r 9 -U FILE/r put f a
svnmucc -m x --with-revprop a\u{a0}b=c -U FILE/r mkdir a
svnmucc -m x mkdir FILE/r/a mkdir svn://x/y
svnmucc -m x --trust-server-cert --password-from-stdin -U FILE/r rm nix
svnmucc -m x --trust-server-cert-failures=bogus -U FILE/r rm nix
svnbench null-log --trust-server-cert FILE/r
svnbench null-log --password-from-stdin FILE/r
svnrdump dump --trust-server-cert FILE/r
svnrdump load --password-from-stdin --non-interactive FILE/r
svnmucc --non-interactive -U FILE/r mkdir a
svnbench nix
svnbench null-log FILE/nix
svnbench null-log FILE/r -r 9
";

/// The same where the terminal is not UTF-8.
const ASCII_LINES: &str = "
svnadmin info \u{e9}
svnadmin \u{e9}
svnadmin info r --parent-dir \u{e9}
svnadmin info r -M \u{e9}
svnadmin info r --bog\u{e9}
svnadmin create \u{e9}
svnadmin verify r -t \u{e9}
svnadmin dump r -q --include \u{e9}
svnadmin setrevprop r -r 1 x\u{e9} f
svnadmin lock r \u{e9} u f
svnlook tree r \u{e9}
svnlook log -t \u{e9} r
svnlook log r -r \u{e9}
svnlook diff r -x \u{e9}
svnlook propget r p\u{e9} /
svnmucc -m \u{e9} mkdir FILE/r/x
svnmucc -m x mkdir FILE/r/\u{e9}
svnmucc -m x rm FILE/r/%C3%A9
svnmucc -m x put \u{e9} FILE/r/x
svnmucc -m x -u \u{e9} rm FILE/r/x
svnmucc -m x --with-revprop p=\u{e9} rm FILE/r/x
svnmucc -m x -r \u{e9} rm FILE/r/x
svnmucc -F \u{e9} rm FILE/r/x
svnmucc -X \u{e9}
svnmucc --bog\u{e9}
svnrdump dump FILE/r/\u{e9}
svnrdump dump FILE/nix -r \u{e9}
svnsync info FILE/\u{e9}
svnsync sync FILE/m --source-username \u{e9}
svnbench null-list FILE/r/\u{e9}
svnbench null-list FILE/r/n%C3%A9
svnbench null-log FILE/r --search \u{e9}
svnbench null-log FILE/r -c \u{e9}
svndumpfilter include \u{e9}
svnfsfs stats \u{e9}
svnauthz validate \u{e9}
svnauthz accessof f --username \u{e9}
svnserve -i -r \u{e9}
svnserve -i --log-file \u{e9}
";

fn execute(programs: &Programs, folder: &Path, line: &str, locale: &str) -> Output {
    let url = format!("file://{}", folder.display());
    let words: Vec<String> =
        line.split(' ').map(|word| word.replace("FILE", &url).replace('\u{a0}', " ")).collect();
    let mut command = programs.command(&words[0]);
    command.args(&words[1..]).current_dir(folder).env("LC_ALL", locale);
    Output::of(&mut command).replacing(&url, "FILE")
}

#[test]
fn the_same_is_said_of_wrong_command_lines() {
    let both = Both::new();
    let source = Repository::random(&Shape::new("1.10"), 4, 2);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["r", "m"] {
        let to = folder.join(name);
        both.reference
            .run("svnadmin", ["hotcopy", &source.arg(), to.to_str().unwrap()])
            .expect_success("hotcopy");
        let hook = to.join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(folder.join("f"), "contents\n").unwrap();
    for (lines, locale) in [(LINES, "C.UTF-8"), (ASCII_LINES, "C")] {
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let [reference, ours] = [&both.reference, &both.ours]
                .map(|programs| execute(programs, folder, line, locale));
            assert_same(line, &reference, &ours);
        }
    }
}

#[test]
fn paths_in_dump_streams_that_no_client_could_have_made() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("stream");
    let none = "Prop-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
    for (n, path) in ["a/..", "a/../b", "./a", "a//b", "/a", ".", "", "a/", ".."].iter().enumerate()
    {
        let text = format!(
            "SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n{none}\
             Node-path: {path}\nNode-kind: dir\nNode-action: add\n{none}\n"
        );
        std::fs::write(&stream, text).unwrap();
        let [reference, ours] = [&both.reference, &both.ours].map(|programs| {
            let to = dir.path().join(format!("{}{n}", programs.label));
            let to = to.to_str().unwrap();
            programs.run("svnadmin", ["create", to]).expect_success("create");
            let uuid = "11111111-2222-4333-8444-555555555555";
            programs.run("svnadmin", ["setuuid", to, uuid]).expect_success("setuuid");
            let loaded = programs.run("svnadmin", ["load", to, "-F", stream.to_str().unwrap()]);
            (loaded, programs.run("svnlook", ["tree", to]))
        });
        assert_same(path, &reference.0, &ours.0);
        assert_same(path, &reference.1, &ours.1);
    }
}

/// Files of a repository that are missing or wrong, and what is tried then.
const DAMAGE: &str = "
rm r/db/revs/0/2; svnadmin verify r; svnfsfs dump-index r -r 2; svnadmin rev-size -r 2 r
rm r/db/revs/0/2; svnfsfs stats r | tail -n 1
rm r/db/revs/0/2; svnadmin hotcopy -q $PWD/r n
rm r/db/revprops/0/2; svnadmin verify r
rm r/db/write-lock r/db/txn-current-lock; svnmucc -q -m x -U file://$PWD/r mkdir a
rm r/db/write-lock r/db/txn-current-lock r/db/pack-lock; svnmucc -m x -U file://$PWD/r mkdir a | cut -c 1-3
rm r/db/write-lock; svnadmin setrevprop r -r 1 x r/format
rm r/db/pack-lock; svnadmin pack r
echo x > r/db/min-unpacked-rev; svnadmin verify r
echo x > r/db/current; svnlook youngest r
echo x > r/format; svnadmin verify r
";

#[test]
fn damaged_repositories() {
    let both = Both::new();
    let source = Repository::random(&Shape::new("1.10"), 4, 3);
    for line in DAMAGE.lines().filter(|line| !line.is_empty()) {
        let [reference, ours] = [&both.reference, &both.ours].map(|programs| {
            let folder = tempfile::tempdir().unwrap();
            let to = folder.path().join("r");
            both.reference
                .run("svnadmin", ["hotcopy", &source.arg(), to.to_str().unwrap()])
                .expect_success("hotcopy");
            let hook = to.join("hooks/pre-revprop-change");
            std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
            let mut shell = std::process::Command::new("/bin/sh");
            sapwood_testkit::programs::environment(&mut shell);
            let path = format!("{}:/usr/bin:/bin", programs.dir().display());
            shell.args(["-c", line]).env("PATH", path).current_dir(folder.path());
            Output::of(&mut shell).replacing(folder.path().to_str().unwrap(), "FOLDER")
        });
        assert_same(line, &reference, &ours);
    }
}

#[test]
fn a_daemon_whose_pid_file_cannot_be_written_ends() {
    let folder = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let port = address.port().to_string();
    let out = Output::of(
        Programs::ours()
            .command("svnserve")
            .args(["-d", "--listen-host", "127.0.0.1", "--listen-port", &port])
            .args(["--pid-file", "/nonexistent/x", "-r"])
            .arg(folder.path()),
    );
    assert_eq!(out.code, 1, "{out:?}");
    let ended = || std::net::TcpStream::connect(address).is_err();
    assert!(sapwood_testkit::patience::wait(10, ended), "the server still listens");
}
