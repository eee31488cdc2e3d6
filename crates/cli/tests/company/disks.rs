//! Disks that are full, or may not be written to: both programs say the same, and both go on.

use std::path::{Path, PathBuf};

use sapwood_testkit::{Output, Programs, Server, age};

use super::{Dice, Kept, commit, make};

/// A small file system of its own, unmounted at the end. `None` where that is not allowed.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(path)
            .stderr(std::process::Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }

    fn remount(&self, options: &str) {
        // A server hears later than its client that the connection has ended: on a busy machine, much later.
        let done = (0..400).any(|_| {
            let status = std::process::Command::new("mount")
                .args(["-o", &format!("remount,{options}")])
                .arg(&self.0)
                .stderr(std::process::Stdio::null())
                .status();
            let done = status.unwrap().success();
            if !done {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            done
        });
        assert!(done, "{} stays in use", self.0.display());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The code of the innermost error, and its cause in words: which file it was differs.
fn cause(out: &str) -> (String, String) {
    let line = out.lines().rfind(|line| line.contains(": E")).unwrap_or_default();
    let code = line.split(": ").nth(1).unwrap_or_default().to_owned();
    (code, line.rsplit(": ").next().unwrap_or_default().to_owned())
}

/// What is tried on a read-only file system.
const READ_ONLY: &[&str] = &[
    "setuuid repo",
    "recover repo",
    "upgrade repo",
    "freeze repo -- true",
    "pack repo",
    "delrevprop repo -r 0 p",
    "lock repo /a u repo/format",
    "create other",
    "hotcopy repo other",
    "verify -q repo",
];

#[test]
fn full_and_read_only_file_systems() {
    let dir = tempfile::tempdir().unwrap();
    let sides = [Programs::reference(), Programs::ours()].map(|programs| {
        let root = dir.path().join(programs.label);
        let mounted = Mounted::new(&root, "size=600k")?;
        let path = root.join("repo");
        make(&path, Kept::Fsfs);
        // A server keeps what it knows of a repository that no client changed in the last two seconds; that
        // must not keep the file system in use.
        age(&path);
        let server = Server::start(&programs, &root, &[]);
        let url = server.url("repo");
        let large = dir.path().join("large");
        let mut dice = Dice(5);
        let noise: Vec<u8> =
            (0..800_000).map(|_| u8::try_from(33 + dice.roll(94)).unwrap()).collect();
        std::fs::write(&large, &noise).unwrap();
        let small = dir.path().join("small");
        std::fs::write(&small, "small\n").unwrap();
        let put = |file: &Path, name: &str| {
            let done = commit(&url, "m", &["put", file.to_str().unwrap(), name]);
            done.map_err(|text| cause(&text))
        };
        let set = |revision: &str| {
            let arg = path.to_str().unwrap();
            let out = programs
                .run("svnadmin", ["setrevprop", arg, "-r", revision, "p", large.to_str().unwrap()]);
            (out.code, cause(&out.stderr_text()))
        };
        let mut results = vec![put(&small, "a"), put(&large, "large"), put(&small, "b")];
        let mut others = vec![set("1")];
        mounted.remount("ro");
        results.push(put(&small, "c"));
        others.push(set("1"));
        let said: Vec<(i32, String)> = READ_ONLY
            .iter()
            .map(|args| {
                let mut command = programs.command("svnadmin");
                let out = Output::of(command.current_dir(&root).args(args.split(' ')));
                (out.code, out.stderr_text().replace(root.to_str().unwrap(), "ROOT"))
            })
            .collect();
        mounted.remount("rw");
        results.push(put(&small, "d"));
        let arg = path.to_str().unwrap();
        for verifier in [Programs::reference(), Programs::ours()] {
            verifier.run("svnadmin", ["verify", "-q", arg]).expect_success("verify");
        }
        Some((results, others, said))
    });
    let [Some(reference), Some(ours)] = sides else {
        panic!(
            "a tmpfs cannot be mounted here: run this test as root, in a container that may mount"
        );
    };
    let last = ours.0.len() - 1;
    assert_eq!((&reference.0[..last], &reference.1), (&ours.0[..last], &ours.1));
    for (command, (reference, ours)) in READ_ONLY.iter().zip(reference.2.iter().zip(&ours.2)) {
        assert_eq!(reference, ours, "{command}");
    }
    // What the reference leaves behind of a change that failed fills its disk for good.
    assert_eq!(ours.0[last], Ok(3));
    assert_eq!(ours.0[1].as_ref().unwrap_err().1, "No space left on device");
    assert_eq!(ours.0[3].as_ref().unwrap_err().1, "Read-only file system");
}

/// A history of small changes, each of which stands on the one before.
fn history(revisions: u32) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("SVN-fs-dump-format-version: 2\n\n");
    for number in 0..=revisions {
        write!(
            out,
            "Revision-number: {number}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        )
        .unwrap();
        if number == 0 {
            continue;
        }
        let text = format!("{number}\n").repeat(700);
        let (len, action) = (text.len(), if number == 1 { "add" } else { "change" });
        write!(
            out,
            "Node-path: f\nNode-kind: file\nNode-action: {action}\nText-content-length: {len}\n\
             Content-length: {len}\n\n{text}\n\n\
             Node-path: d{number}\nNode-kind: dir\nNode-action: add\n\n\n"
        )
        .unwrap();
        if number > 1 {
            write!(
                out,
                "Node-path: d{number}/copy\nNode-kind: file\nNode-action: add\n\
                 Node-copyfrom-rev: {}\nNode-copyfrom-path: f\n\n\n",
                number - 1
            )
            .unwrap();
        }
    }
    out
}

/// Several threads work on each of these, and when the disk is full several of them fail: what is
/// told is that the disk is full.
#[test]
fn the_first_error_is_the_one_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("stream");
    std::fs::write(&stream, history(600)).unwrap();
    let programs = Programs::ours();
    let whole = dir.path().join("whole");
    let large = whole.to_str().unwrap();
    programs.run("svnadmin", ["create", large]).expect_success("create");
    let load = |repo: &str| {
        let mut command = programs.command("svnadmin");
        command.args(["load", "-q", "--no-flush-to-disk", repo]);
        Output::of(command.stdin(std::fs::File::open(&stream).unwrap()))
    };
    load(large).expect_success("load");
    let mut full = 0;
    for size in (0..10).map(|n| 700 + n * 300) {
        let root = dir.path().join(format!("full-{size}"));
        let Some(mounted) = Mounted::new(&root, &format!("size={size}k")) else {
            panic!(
                "a tmpfs cannot be mounted here: run this test as root, in a container that may mount"
            );
        };
        let (repo, copy) = (root.join("repo"), root.join("copy"));
        let (repo, copy) = (repo.to_str().unwrap(), copy.to_str().unwrap());
        programs.run("svnadmin", ["create", repo]).expect_success("create");
        for out in [load(repo), programs.run("svnadmin", ["hotcopy", large, copy])] {
            if out.code != 0 {
                full += 1;
                let said = out.stderr_text();
                assert!(said.starts_with("svnadmin: E000028: "), "{size}k: {said}");
                assert!(said.trim_end().ends_with("No space left on device"), "{size}k: {said}");
            }
        }
        // The reference's verify wants to write.
        mounted.remount("size=20m");
        let verifier = Programs::reference();
        verifier.run("svnadmin", ["verify", "-q", repo]).expect_success("verify");
    }
    assert!(full > 10, "the disks were not full: {full}");
}
