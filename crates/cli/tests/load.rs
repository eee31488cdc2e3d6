//! Dump streams loaded by `svnadmin load`, ours and the reference's: the same words, the same dump
//! afterwards, verified by the reference, about the same size on disk.

use std::path::Path;
use std::process::Stdio;

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// Makes a repository and loads `stream` into it; what the load printed.
fn load(
    creator: &Programs,
    loader: &Programs,
    version: &str,
    path: &Path,
    stream: &Path,
    options: &[&str],
) -> Output {
    let path = path.to_str().unwrap();
    creator
        .run("svnadmin", ["create", "--compatible-version", version, path])
        .expect_success("create");
    more(loader, path, stream, options)
}

/// Loads `stream` into a repository.
fn more(loader: &Programs, path: &str, stream: &Path, options: &[&str]) -> Output {
    let mut command = loader.command("svnadmin");
    command
        .args(["load", "--no-flush-to-disk"])
        .args(options)
        .arg(path)
        .stdin(Stdio::from(std::fs::File::open(stream).unwrap()));
    Output::of(&mut command)
}

/// Bytes of all revisions on disk.
fn size(path: &Path) -> u64 {
    let mut total = 0;
    let mut todo = vec![path.join("db/revs")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else {
                total += entry.metadata().unwrap().len();
            }
        }
    }
    total
}

/// Loads by both, compares, and verifies ours.
fn compare(both: &Both, version: &str, stream: &Path, options: &[&str], may_share: bool) {
    let dir = tempfile::tempdir().unwrap();
    let (ours, reference) = (dir.path().join("ours"), dir.path().join("reference"));
    let told = load(&both.reference, &both.reference, version, &reference, stream, options);
    let what = format!("load {version} {options:?} {}", stream.display());
    assert_same(&what, &told, &load(&both.ours, &both.ours, version, &ours, stream, options));
    if told.code != 0 {
        return;
    }
    let (ours, reference) = (ours.to_str().unwrap(), reference.to_str().unwrap());
    // A stream may hold what no verification likes; then it is so on both sides.
    let verified = |path: &str| both.reference.run("svnadmin", ["verify", "-q", path]).code;
    assert_eq!(verified(ours), verified(reference), "verify after {what}");
    let has_zero =
        std::fs::read(stream).unwrap().windows(21).any(|w| w == b"\nRevision-number: 0\nP");
    let dump = |path: &str| {
        // Revision 0 keeps its own date when it is not loaded.
        let loads_zero = has_zero && !options.contains(&"-r");
        let range = if loads_zero { "-r0:HEAD" } else { "-r1:HEAD" };
        let mut dump = both.reference.run("svnadmin", ["dump", "-q", range, path]);
        if !options.contains(&"--force-uuid") {
            // Each repository has a UUID of its own then.
            let text = String::from_utf8_lossy(&dump.stdout).into_owned();
            dump.stdout = text.split_once("\nRevision-number").unwrap().1.to_owned().into_bytes();
        }
        if options.contains(&"--ignore-dates") {
            dump.stdout.clear();
        }
        dump
    };
    assert_same(&format!("dump after {what}"), &dump(reference), &dump(ours));
    let (our_size, their_size) = (size(Path::new(ours)), size(Path::new(reference)));
    if may_share {
        assert!(our_size * 100 <= their_size * 105, "{what}: {our_size} bytes, not {their_size}");
    }
}

/// Each history once plain and once as deltas, each of these in some formats, so that between them
/// every format sees both.
#[test]
fn every_format() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let shape = Shape::new("1.10").shard(7);
    let (scripted, random) = (Repository::scripted(&shape), Repository::random(&shape, 21, 80));
    for (repository, options, versions) in [
        (&scripted, &[][..], &["1.3", "1.5", "1.8", "1.10"][..]),
        (&scripted, &["--deltas"], &["1.4", "1.6", "1.9", "1.10"]),
        (&random, &[], &["1.6", "1.10"]),
        (&random, &["--deltas"], &["1.8"]),
    ] {
        let path = repository.arg();
        let args = [&["dump", "-q", path.as_str()], options].concat();
        std::fs::write(&stream, both.reference.run("svnadmin", args).stdout).unwrap();
        for version in versions {
            compare(&both, version, &stream, &["--force-uuid"], true);
        }
    }
}

/// The first format of streams: one length for properties and text together.
#[test]
fn streams_of_the_first_format() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let mut text = "SVN-fs-dump-format-version: 1\n\n".to_owned();
    let mut record = |headers: &str, content: Option<&str>| match content {
        Some(content) => {
            let len = content.len();
            text.push_str(&format!("{headers}Content-length: {len}\n\n{content}\n\n"));
        }
        None => text.push_str(&format!("{headers}\n\n")),
    };
    let props = |pairs: &[(&str, &str)]| {
        let lines = pairs
            .iter()
            .map(|(name, value)| format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len()));
        lines.collect::<String>() + "PROPS-END\n"
    };
    let log = props(&[("svn:log", "one"), ("svn:date", "2002-01-01T00:00:00.000000Z")]);
    let file = |pairs: &[(&str, &str)], body: &str| props(pairs) + body;
    record("Revision-number: 1\n", Some(&log));
    record("Node-path: d\nNode-kind: dir\nNode-action: add\n", Some(&props(&[("p", "v")])));
    let add = |path: &str| format!("Node-path: {path}\nNode-kind: file\nNode-action: add\n");
    record(&add("d/f"), Some(&file(&[("p", "v"), ("q", "w")], "text\nof f\n")));
    record(&add("d/empty"), Some(&file(&[], "")));
    record("Revision-number: 2\n", Some(&log));
    let change = "Node-path: d/f\nNode-kind: file\nNode-action: change\n";
    record(change, Some(&file(&[("q", "x")], "other text\n")));
    let change = "Node-path: d\nNode-kind: dir\nNode-action: change\n";
    record(change, Some(&props(&[])));
    record("Revision-number: 3\n", Some(&log));
    record(
        "Node-path: e\nNode-kind: dir\nNode-action: add\nNode-copyfrom-rev: 1\nNode-copyfrom-path: d\n",
        None,
    );
    record("Node-path: d/f\nNode-action: delete\n", None);
    record("Revision-number: 4\n", Some(&log));
    record("Node-path: d\nNode-kind: file\nNode-action: replace\n", Some(&file(&[], "now a file")));
    std::fs::write(&stream, &text).unwrap();
    for version in ["1.3", "1.10"] {
        compare(&both, version, &stream, &["--ignore-uuid"], false);
    }
    // And cut off anywhere.
    for cut in (40..text.len()).step_by(text.len() / 5) {
        std::fs::write(&stream, &text[..cut]).unwrap();
        compare(&both, "1.10", &stream, &["--ignore-uuid"], false);
    }
}

#[test]
fn with_hooks() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::scripted(&Shape::new("1.10"));
    let path = repository.arg();
    let stream = dir.path().join("dump");
    let dump = both.reference.run("svnadmin", ["dump", "-q", "-r0:9", &path]);
    std::fs::write(&stream, dump.stdout).unwrap();
    for (pre, post) in [
        ("exit 0", "exit 0"),
        ("[ $seen -lt 4 ] || { echo no >&2; exit 1; }", "exit 0"),
        ("exit 0", "[ $seen -lt 4 ] || { echo late >&2; exit 1; }"),
    ] {
        for options in [
            &["--use-pre-commit-hook", "--use-post-commit-hook"][..],
            &["--use-post-commit-hook"],
            &[],
        ] {
            let sides = [&both.reference, &both.ours].map(|programs| {
                let folder = dir.path().join("r");
                let _ = std::fs::remove_dir_all(&folder);
                both.reference.run("svnadmin", ["create", folder.to_str().unwrap()]).expect_success("create");
                for (name, end) in [("pre-commit", pre), ("post-commit", post)] {
                    let hook = folder.join("hooks").join(name);
                    let log = folder.join("log");
                    let look = "/usr/bin/svnlook";
                    let what = if name == "pre-commit" { "-t $2" } else { "-r $2" };
                    std::fs::write(&hook, format!(
                        "#!/bin/sh\nseen=$(grep -c {name} {0} 2>/dev/null)\n\
                         {{ echo {name} $#; {look} changed {what} $1; {look} log {what} $1; }} >> {0}\n: ${{seen:=0}}\n{end}\n",
                        log.display()
                    )).unwrap();
                    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                    std::fs::set_permissions(&hook, mode).unwrap();
                }
                let done = more(programs, folder.to_str().unwrap(), &stream, &[&["--force-uuid"], options].concat());
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                let txns = std::fs::read_dir(folder.join("db/transactions")).unwrap().count();
                let youngest = both.reference.run("svnlook", ["youngest", folder.to_str().unwrap()]);
                (done, log, txns, youngest.stdout_text())
            });
            let [reference, ours] = sides;
            let what = format!("{pre:?} {post:?} {options:?}");
            assert_same(&what, &reference.0, &ours.0);
            assert_eq!((reference.1, reference.2, reference.3), (ours.1, ours.2, ours.3), "{what}");
        }
    }
}

#[test]
fn options() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let repository = Repository::scripted(&Shape::new("1.10"));
    let path = repository.arg();
    std::fs::write(&stream, both.reference.run("svnadmin", ["dump", "-q", &path]).stdout).unwrap();
    let cases: &[&[&str]] = &[
        &["--ignore-uuid"],
        &["--force-uuid", "--ignore-dates"],
        &["--force-uuid", "-r", "1:5"],
        &["--force-uuid", "-r", "3"],
        &["--force-uuid", "-r", "5:3"],
        &["--force-uuid", "-r", "HEAD"],
        &["--force-uuid", "-q"],
        &["--force-uuid", "--parent-dir", "not/there"],
        &["--force-uuid", "--bypass-prop-validation", "--normalize-props", "-M", "4"],
    ];
    for options in cases {
        compare(&both, "1.10", &stream, options, false);
    }
}

#[test]
fn below_a_folder_and_in_parts() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::scripted(&Shape::new("1.10"));
    let source = repository.arg();
    let part = |name: &str, args: &[&str]| {
        let file = dir.path().join(name);
        let args = [&["dump", "-q", source.as_str()], args].concat();
        std::fs::write(&file, both.reference.run("svnadmin", args).stdout).unwrap();
        file
    };
    let first = part("first", &["-r0:8"]);
    let second = part("second", &["-r9:HEAD", "--incremental"]);
    let mut dumps = Vec::new();
    for programs in [&both.reference, &both.ours] {
        let path = dir.path().join(format!("loaded{}", dumps.len()));
        let empty = part("empty", &["-r0:0"]);
        load(programs, programs, "1.10", &path, &empty, &["--force-uuid"]).expect_success("empty");
        let url = format!("file://{}", path.display());
        let path = path.to_str().unwrap();
        both.reference
            .run("svnmucc", ["-m", "", "-U", &url, "mkdir", "a", "mkdir", "a/b"])
            .expect_success("mkdir");
        let below = &["--parent-dir", "/a/b/", "--ignore-uuid"];
        let mut told = more(programs, path, &first, below).expect_success("first");
        let second = more(programs, path, &second, below).expect_success("second");
        told.stdout.extend_from_slice(&second.stdout);
        both.reference.run("svnadmin", ["verify", "-q", path]).expect_success("verify");
        let mut dump = both.reference.run("svnadmin", ["dump", "-q", "-r2:HEAD", path]);
        dump.stdout.extend_from_slice(&told.stdout);
        dumps.push(dump);
    }
    let [reference, ours] = dumps.as_slice() else { return };
    assert_same("loaded below a folder", reference, ours);
}

#[test]
fn broken_streams() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let head = "SVN-fs-dump-format-version: 3\n\nUUID: 11111111-2222-4333-8444-555555555555\n\n";
    let rev = "Revision-number: 1\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
    let props = |name: &str, value: &str| {
        let block = format!("K {}\n{name}\nV {}\n{value}\nPROPS-END\n", name.len(), value.len());
        format!("Prop-content-length: {0}\nContent-length: {0}\n\n{block}\n", block.len())
    };
    for body in [
        "Revision-number: 0\n\nNode-path: a\nNode-kind: dir\nNode-action: add\n\n".to_owned(),
        format!("{rev}Node-path: a\nNode-kind: dir\nNode-action: nonsense\n\n"),
        format!("{rev}Node-path: a/b\nNode-kind: dir\nNode-action: add\n\n"),
        format!("{rev}Node-path: a\nNode-action: delete\n\n"),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n\nNode-path: a\nNode-kind: dir\nNode-action: add\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nText-content-length: 2\nText-content-md5: 00000000000000000000000000000001\nContent-length: 2\n\nhi\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nText-content-length: 20\nContent-length: 20\n\nhi"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 7\nNode-copyfrom-path: b\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}",
            props("svn:mergeinfo", "x")
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}",
            props("svn:ignore", "x\r\n")
        ),
        format!("{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}", props("svn:wc:x", "x")),
        format!("Revision-number: 1\n{}", props("svn:log", "x\ry")),
        format!("Revision-number: 1\n{}", props("svn:date", "x")),
    ] {
        std::fs::write(&stream, format!("{head}{body}")).unwrap();
        compare(&both, "1.10", &stream, &["--force-uuid"], false);
        compare(&both, "1.10", &stream, &["--force-uuid", "--normalize-props"], false);
        compare(&both, "1.10", &stream, &["--force-uuid", "--bypass-prop-validation"], false);
    }
}

/// A property block of these lines, with its end.
fn block(lines: &str) -> String {
    format!("{lines}PROPS-END\n")
}

/// A node's record; `lengths` are what its headers say of its properties, text and content.
fn node(head: &str, props: &str, text: &str, lengths: [&str; 3]) -> Vec<u8> {
    let [props_len, text_len, content_len] = lengths;
    format!(
        "Node-path: {head}Prop-content-length: {props_len}\nText-content-length: {text_len}\n\
         Content-length: {content_len}\n\n{props}{text}\n\n"
    )
    .into_bytes()
}

/// A node's record without content.
fn bare(head: &str) -> Vec<u8> {
    format!("Node-path: {head}\n\n").into_bytes()
}

fn revision(number: &str, lines: &str) -> Vec<u8> {
    let props = block(lines);
    let len = props.len();
    format!(
        "Revision-number: {number}\nProp-content-length: {len}\nContent-length: {len}\n\n{props}\n"
    )
    .into_bytes()
}

/// Streams that no program writes: odd numbers in every header that has one, text and kinds where they
/// do not belong, paths that are no UTF-8.
fn odd_streams() -> Vec<(String, Vec<u8>)> {
    let magic = b"SVN-fs-dump-format-version: 3\n\n".to_vec();
    let add_file = "f\nNode-kind: file\nNode-action: add\n";
    let file = node(add_file, &block(""), "hi\n", ["10", "3", "13"]);
    let base = [
        &magic[..],
        &revision("1", ""),
        &bare("d\nNode-kind: dir\nNode-action: add\n"),
        &file,
        &revision("2", ""),
    ]
    .concat();
    let mut streams = Vec::new();
    let after = |record: Vec<u8>| [base.clone(), record].concat();
    for number in [
        "-5",
        "-1",
        "abc",
        "3x",
        "",
        "+3",
        " 3",
        "0x3",
        "0",
        "300",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "99999999999999999999",
    ] {
        let mut add =
            |what: &str, stream: Vec<u8>| streams.push((format!("{what} {number:?}"), stream));
        let first = |record: Vec<u8>| [&magic[..], &revision("1", ""), &record].concat();
        let lengths = ["10", "3", "13"];
        for at in 0..3 {
            let mut lengths = lengths;
            lengths[at] = number;
            add(&format!("length {at}"), first(node(add_file, &block(""), "hi\n", lengths)));
        }
        let only = format!("{add_file}Content-length: {number}\n");
        add("content alone", first(bare(&only)));
        add("revision", [&magic[..], &revision(number, "")].concat());
        add("revision with a node", [&magic[..], &revision(number, ""), &file].concat());
        let copy = format!(
            "g\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: {number}\nNode-copyfrom-path: f\n"
        );
        add("copied revision", after(bare(&copy)));
        add("version", format!("SVN-fs-dump-format-version: {number}\n\n").into_bytes());
        let name = format!("K {number}\nabc\nV 1\nx\n");
        add("name", [&magic[..], &revision("1", &name)].concat());
        let value = format!("K 3\nabc\nV {number}\nx\n");
        add("value", [&magic[..], &revision("1", &value)].concat());
        let gone = block(&format!("D {number}\nabc\n"));
        let head = format!("{add_file}Prop-delta: true\n");
        let len = gone.len().to_string();
        let all = (gone.len() + 3).to_string();
        add("deletion", first(node(&head, &gone, "hi\n", [&len, "3", &all])));
    }
    for (what, head, text) in [
        ("text of a new folder", "e\nNode-kind: dir\nNode-action: add\n", "hello"),
        ("empty text of one", "e\nNode-kind: dir\nNode-action: add\n", ""),
        ("text of a folder", "d\nNode-kind: dir\nNode-action: change\n", "hello"),
        ("text without kind", "d\nNode-action: change\n", "hello"),
        ("text of the other kind", "d\nNode-kind: file\nNode-action: change\n", "hello"),
        ("delta of a folder", "d\nNode-action: change\nText-delta: true\n", "SVN\0"),
        ("delta of a new one", "e\nNode-kind: dir\nNode-action: add\nText-delta: true\n", "SVN\0"),
        ("no checksum", "f\nNode-action: change\nText-content-md5: zz\n", "x"),
        ("no base checksum", "f\nNode-action: change\nText-delta-base-md5: zz\n", "x"),
        ("text of what goes", "f\nNode-action: delete\n", "x"),
        ("NUL in a path", "a\0b\nNode-kind: file\nNode-action: add\n", "x"),
    ] {
        let (len, all) = (text.len().to_string(), (text.len() + 10).to_string());
        streams.push((what.to_owned(), after(node(head, &block(""), text, ["10", &len, &all]))));
    }
    for head in [
        &b"a\xe9\nNode-kind: file\nNode-action: add\n"[..],
        b"a\xe9\nNode-kind: dir\nNode-action: add\n",
        b"d/a\xff\nNode-kind: file\nNode-action: add\n",
        b"d/a\xff\nNode-kind: file\nNode-action: change\n",
        b"d/a\xff\nNode-action: delete\n",
        b"d/a\xff\nNode-action: frob\n",
        b"d/\xff/x\nNode-kind: file\nNode-action: add\n",
        b"g\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 1\nNode-copyfrom-path: f\xff\n",
    ] {
        let what = String::from_utf8_lossy(head).into_owned();
        streams.push((what, after([b"Node-path: ", head, b"\n\n"].concat())));
    }
    streams
}

/// The same words and the same end for streams that no program writes, by both that read them.
#[test]
fn odd_streams_have_the_words_of_the_reference() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    for (what, bytes) in odd_streams() {
        std::fs::write(&stream, bytes).unwrap();
        let sides = [&both.reference, &both.ours].map(|programs| {
            let folder = dir.path().join("r");
            let _ = std::fs::remove_dir_all(&folder);
            let loaded = load(&both.reference, programs, "1.14", &folder, &stream, &[]);
            let youngest = both.reference.run("svnlook", ["youngest", folder.to_str().unwrap()]);
            let mut filter = programs.command("svndumpfilter");
            filter.args(["exclude", "zz"]);
            let filtered =
                Output::of(filter.stdin(Stdio::from(std::fs::File::open(&stream).unwrap())));
            (loaded, youngest, filtered)
        });
        let [reference, ours] = sides;
        // The reference's process crashes on some: ours ends in order.
        if reference.0.code < 0 {
            assert!(ours.0.code == 0 || ours.0.code == 1, "load, {what}: {:?}", ours.0);
        } else {
            assert_same(&format!("load, {what}"), &reference.0, &ours.0);
            assert_same(&format!("youngest after load, {what}"), &reference.1, &ours.1);
        }
        if reference.2.code < 0 {
            assert!(ours.2.code == 0 || ours.2.code == 1, "svndumpfilter, {what}: {:?}", ours.2);
        } else {
            assert_eq!(reference.2.code, ours.2.code, "svndumpfilter, {what}");
            assert_eq!(
                String::from_utf8_lossy(&reference.2.stderr),
                String::from_utf8_lossy(&ours.2.stderr),
                "svndumpfilter, {what}"
            );
        }
    }
}
