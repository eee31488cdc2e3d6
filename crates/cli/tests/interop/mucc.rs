//! `svnmucc` of both sides commits the same revisions, and fails in the same words.

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::create;
use sapwood_testkit::{Output, Programs, Server, Shape};

/// `%u` stands for the URL, `%f` for a file, `%b` for one that is no text.
const COMMANDS: &[&[&str]] = &[
    &["-mm", "mkdir", "%u/a"],
    &[
        "-mm",
        "-U",
        "%u",
        "mkdir",
        "a/b",
        "mkdir",
        "a/b/c",
        "put",
        "%f",
        "a/f",
        "propset",
        "p",
        "v",
        "a/f",
        "propset",
        "svn:executable",
        "x",
        "a/f",
    ],
    &["-mm", "-U", "%u", "cp", "HEAD", "a", "A2", "rm", "A2/b", "put", "%f", "A2/f"],
    &["-mm", "-U", "%u", "mv", "a/f", "a/g"],
    &["-mm", "-U", "%u", "propdel", "p", "a/g", "propset", "q", "x y", "a"],
    &["-mm", "-U", "%u", "propset", "svn:ignore", "foo", "A2"],
    &["-mm", "-U", "%u", "rm", "a", "mkdir", "a", "put", "%f", "a/x"],
    &["-mm", "-U", "%u", "cp", "2", "a/f", "a/h", "mkdir", "a/h/i"],
    &["-mm", "propset", "r", "1", "%u"],
    &["--with-revprop", "x=y", "--with-revprop", "svn:log=hello", "-U", "%u", "mkdir", "z"],
    &["-mm", "-r", "2", "-U", "%u", "put", "%f", "a/f"],
    &["-mm", "-U", "%u", "put", "%f", "a/b"],
    &["-mm", "-U", "%u", "rm", "nope"],
    &["-mm", "-U", "%u", "mkdir", "a"],
    &["-mm", "-U", "%u", "propset", "svn:eol-style", "LF", "a"],
    &["-mm", "-U", "%u", "cp", "99", "a/f", "a/i"],
    &["-U", "%u", "mkdir", "y"],
    &["-m", "one\r\ntwo\n", "-U", "%u", "mkdir", "y"],
    &["-mm", "--with-revprop", "p=one\rtwo\n", "-U", "%u", "mkdir", "y"],
    &["-mm", "-F", "%f", "-U", "%u", "mkdir", "y"],
    &["--with-revprop", "svn:author=y", "-mm", "-U", "%u", "mkdir", "y"],
    &["-mm", "-U", "%u", "put", "/no/such/file", "q"],
    &["-mm", "-U", "%u", "fly", "x"],
    &["-mm", "-U", "%u", "mv", "a"],
    &["-mm", "-U", "none", "mv", "a"],
    // `..` is a name like any other, which nothing has.
    &["-mm", "mkdir", "%u/../q"],
    &["-mm", "-U", "%u", "mkdir", "a/../q"],
    &["-mm", "-U", "%u", "mkdir", ".."],
    &["-mm", "-U", "%u", "put", "%f", "a/.."],
    &["-mm", "-U", "%u", "cp", "HEAD", "a/..", "q"],
    &["-mm", "-U", "%u", "mv", "a", ".."],
    &["-mm", "-U", "%u", "rm", "../a"],
    &["-mm", "-U", "%u", "propset", "p", "v", "a/.."],
    &["-mm", "-U", "%u", "mkdir", "%2e%2e/q"],
    &["-mm", "-U", "%u", "mkdir", "..q", "mkdir", "..."],
    &["-mm", "-r", "x", "mv", "a"],
    &["-mm", "--bogus"],
    &["-mm", "-X", "%b", "-U", "%u"],
];

/// Output without what differs from run to run: when, by whom, and where.
fn settled(output: &Output, url: &str) -> Output {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(url, "URL");
        // The names of transactions are made in other ways.
        let text = match text.split_once("transaction '") {
            Some((head, tail)) => {
                format!("{head}transaction '{}", &tail[tail.find('\'').unwrap()..])
            }
            None => text,
        };
        text.lines().map(|l| l.split(" committed by").next().unwrap().to_owned() + "\n").collect()
    };
    let (stdout, stderr): (String, String) = (text(&output.stdout), text(&output.stderr));
    Output { code: output.code, stdout: stdout.into_bytes(), stderr: stderr.into_bytes() }
}

/// Does all of it over one kind of session; what was printed, and what is in the repository.
fn play(programs: &Programs, server: Option<&Programs>) -> (Vec<(String, Output)>, Output) {
    let scratch = tempfile::tempdir().unwrap();
    let repository = scratch.path().join("repo");
    create(&Shape::new("1.10"), &repository);
    std::fs::write(repository.join("conf/svnserve.conf"), "[general]\nanon-access = write\n")
        .unwrap();
    let file = scratch.path().join("file");
    std::fs::write(&file, "contents\n".repeat(30_000)).unwrap();
    let bad = scratch.path().join("bad");
    std::fs::write(&bad, b"mkdir\nx\xff\n").unwrap();
    let server = server.map(|programs| Server::start(programs, scratch.path(), &[]));
    let url = match &server {
        Some(server) => server.url("repo"),
        None => format!("file://{}", repository.display()),
    };
    let mut told = Vec::new();
    for command in COMMANDS {
        let args = command.iter().map(|a| a.replace("%u", &url));
        let args = args.map(|a| a.replace("%f", file.to_str().unwrap()));
        let args = args.map(|a| a.replace("%b", bad.to_str().unwrap()));
        let args: Vec<String> =
            std::iter::once("--non-interactive".to_owned()).chain(args).collect();
        told.push((command.join(" "), settled(&programs.run("svnmucc", &args), &url)));
    }
    // Revisions as a dump, without who made them when.
    let dump = Programs::reference()
        .run("svnadmin", ["dump", "-q", repository.to_str().unwrap()])
        .expect_success("svnadmin dump");
    let lines = dump.stdout.split(|b| *b == b'\n');
    let kept = lines.filter(|l| {
        let date = l.len() == 27 && l.ends_with(b"Z");
        !date && !l.starts_with(b"UUID: ")
    });
    (told, Output { stdout: kept.collect::<Vec<_>>().join(&b'\n'), ..dump })
}

#[test]
fn svnmucc_does_the_same() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    for server in [None, Some(&reference), Some(&ours)] {
        let (wanted, wanted_log) = play(&reference, server);
        let (found, found_log) = play(&ours, server);
        for ((what, wanted), (_, found)) in wanted.iter().zip(&found) {
            assert_same(what, wanted, found);
        }
        assert_same("the revisions", &wanted_log, &found_log);
    }
}

/// Editors: what they do to the file.
const EDITORS: &[&str] = &[
    "printf 'typed\\r\\nwords\\r\\n' > \"$1\"",
    "printf 'typed\\r\\nwords\\n' > \"$1\"",
    "printf 'caf\\303\\251' > \"$1\"",
    "printf 'a\\377' > \"$1\"",
    ": > \"$1\"",
    ":",
    "exit 3",
];

/// The same without where a message was left.
fn without_kept(mut output: Output) -> Output {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_kept = |line: &&str| {
        line.contains("was left in a temporary file") || line.contains("'svnmucc-commit")
    };
    output.stderr = text.split_inclusive('\n').filter(|l| !is_kept(l)).collect::<String>().into();
    output
}

#[test]
fn messages_typed_in_an_editor() {
    let told = [Programs::reference(), Programs::ours()].map(|programs| {
        let dir = tempfile::tempdir().unwrap();
        create(&Shape::new("1.10"), &dir.path().join("r"));
        let url = format!("file://{}", dir.path().join("r").display());
        let mut told = Vec::new();
        for (n, script) in EDITORS.iter().enumerate() {
            let editor = dir.path().join("editor");
            std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&editor, mode).unwrap();
            // A file of that name may be there.
            if n % 2 == 1 {
                std::fs::write(dir.path().join("svnmucc-commit.tmp"), "").unwrap();
            }
            let mut command = programs.command("svnmucc");
            command.current_dir(dir.path()).env("SVN_EDITOR", "./editor");
            command.args(["--force-interactive", "-U", &url, "mkdir", &format!("d{n}")]);
            let done = settled(&Output::of(&mut command), &url);
            // Ours keeps what was typed, and says where; the reference throws it away.
            told.push(without_kept(done));
            let mut left: Vec<_> = std::fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            let is_kept = |name: &String| name.starts_with("svnmucc-commit");
            for name in left.extract_if(.., |name| is_kept(name)) {
                std::fs::remove_file(dir.path().join(name)).unwrap();
            }
            left.sort();
            told.push(Output { code: 0, stdout: left.join(" ").into_bytes(), stderr: Vec::new() });
        }
        let log = Programs::reference().run("svn", ["log", "-v", &url]);
        told.push(log.without_times());
        told
    });
    let [wanted, found] = told;
    for (n, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
        assert_same(&format!("output {n}"), wanted, found);
    }
}
