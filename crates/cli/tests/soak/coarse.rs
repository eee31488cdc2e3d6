//! Working copies on a file system whose times are whole seconds (ext2 with inodes of 128 bytes, in a file that is
//! mounted): what is changed right after an operation that recorded a time is noticed, by our client and by the
//! reference's, though size and time are those that were recorded.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use sapwood_testkit::{Output, Programs, Rng};

/// An operation that records times, and the file that is changed afterwards.
struct Case {
    name: &'static str,
    /// Run by the reference's client before; times are recorded without a wait, and a second goes by.
    before: &'static str,
    /// Run by ours.
    operation: &'static str,
    /// The file, whose first letter becomes another.
    file: &'static str,
}

/// A repository on a disk of its own: `/t` with a file in two revisions, one with keywords, and a copy of `/t`
/// whose file differs; a third revision that adds a file and a moved one.
const REPOSITORY: &str = r#"
svnadmin create repo
U=file://$PWD/repo
svn mkdir -qm 1 $U/t $U/t/d
svn co -q $U/t first
cd first
echo one > f; echo gone > d/g; printf '$Rev$ x\n' > keys; echo lock > locked
svn add -q f d/g keys locked
svn ps -q svn:keywords Rev keys; svn ps -q svn:needs-lock '*' locked
svn ci -qm 2
echo two > f; svn ci -qm 3; svn up -q
svn cp -qm 4 $U/t $U/b
echo new > added; svn add -q added; svn mv -q d moved; svn ci -qm 5
svn co -q $U/b ../second; cd ../second
echo bbb > f; svn ci -qm 6
"#;

const CASES: &[Case] = &[
    Case { name: "checkout", before: "", operation: "svn co -q $U/t wc", file: "f" },
    Case {
        name: "checkout of an old revision",
        before: "",
        operation: "svn co -q -r2 $U/t wc",
        file: "f",
    },
    Case {
        name: "checkout over files that are there",
        before: "mkdir wc; echo two > wc/f",
        operation: "svn co -q --force $U/t wc",
        file: "f",
    },
    Case { name: "update", before: "svn co -q -r2 $U/t wc", operation: "svn up -q wc", file: "f" },
    Case {
        name: "update that adds",
        before: "svn co -q -r2 $U/t wc",
        operation: "svn up -q wc",
        file: "added",
    },
    Case {
        name: "update that brings back",
        before: "svn co -q $U/t wc; rm wc/f",
        operation: "svn up -q wc",
        file: "f",
    },
    Case {
        name: "update of two working copies",
        before: "svn co -q -r2 $U/t wc; svn co -q $U/b other",
        operation: "svn up -q wc other",
        file: "f",
    },
    Case {
        name: "update that fails afterwards",
        before: "svn co -q -r2 $U/t wc; svn co -q $U/b other; rm other/.svn/wc.db; mkdir other/.svn/wc.db",
        operation: "svn up -q wc other 2>error; cat error >&2; grep -q E200030 error || true",
        file: "f",
    },
    Case {
        name: "deeper update",
        before: "svn co -q --depth empty $U/t wc",
        operation: "svn up -q --set-depth infinity wc",
        file: "moved/g",
    },
    Case { name: "switch", before: "svn co -q $U/b wc", operation: "svn sw -q $U/t wc", file: "f" },
    Case {
        name: "revert",
        before: "svn co -q $U/t wc; echo mine > wc/f",
        operation: "svn revert -q wc/f",
        file: "f",
    },
    Case {
        name: "revert of a deletion",
        before: "svn co -q $U/t wc; svn rm -q wc/moved",
        operation: "svn revert -q -R wc",
        file: "moved/g",
    },
    Case {
        name: "revert of what only looks changed",
        before: "svn co -q $U/t wc",
        operation: "touch wc/f; svn revert -q wc/f",
        file: "f",
    },
    Case {
        name: "commit",
        before: "svn co -q $U/b wc",
        operation: "echo own > wc/f; svn ci -qm x wc",
        file: "f",
    },
    Case {
        name: "commit of an old change",
        before: "svn co -q $U/b wc; echo xyz > wc/f",
        operation: "svn ci -qm x wc",
        file: "f",
    },
    Case {
        name: "commit of keywords",
        before: "svn co -q $U/b wc",
        operation: "echo more >> wc/keys; svn ci -qm x wc",
        file: "keys",
    },
    Case {
        name: "commit of an added file",
        before: "svn co -q $U/b wc",
        operation: "echo young > wc/young; svn add -q wc/young; svn ci -qm x wc",
        file: "young",
    },
    Case {
        name: "commit of a property",
        before: "svn co -q $U/b wc",
        operation: "touch wc/moved/../f; svn ps -q p v wc/f; svn ci -qm x wc",
        file: "f",
    },
    Case {
        name: "commit of a copy",
        before: "svn co -q $U/t wc",
        operation: "svn cp -q wc/f wc/f2; svn ci -qm x wc/f2",
        file: "f2",
    },
    Case {
        name: "commit of a move",
        before: "svn co -q $U/t wc",
        operation: "svn mv -q wc/f wc/f3; svn ci -qm x wc",
        file: "f3",
    },
    Case {
        name: "copy",
        before: "svn co -q $U/t wc",
        operation: "svn cp -q wc/f wc/f2",
        file: "f2",
    },
    Case {
        name: "copy of a folder from the repository",
        before: "svn co -q $U/b wc",
        operation: "svn cp -q $U/t/moved wc/came",
        file: "came/g",
    },
    Case {
        name: "copy of a file from the repository",
        before: "svn co -q $U/b wc",
        operation: "svn cp -q $U/t/added wc/came",
        file: "came",
    },
    Case {
        name: "move",
        before: "svn co -q $U/t wc",
        operation: "svn mv -q wc/moved wc/again",
        file: "again/g",
    },
    Case {
        name: "merge that adds",
        before: "svn co -q $U/b wc",
        operation: "svn merge -q --ignore-ancestry -c5 $U/t wc",
        file: "added",
    },
    Case {
        name: "merge and its reversal",
        before: "svn co -q $U/t@4 wc",
        operation: "svn merge -q -c-3 --ignore-ancestry $U/t wc; svn merge -q -c3 --ignore-ancestry $U/t wc",
        file: "f",
    },
    Case {
        name: "patch and its reversal",
        before: "svn co -q $U/t wc; printf -- '--- f\\n+++ f\\n@@ -1 +1 @@\\n-two\\n+TWO\\n' > p",
        operation: "svn patch -q p wc; svn patch -q --reverse-diff p wc",
        file: "f",
    },
    Case {
        name: "resolve with theirs",
        before: "svn co -q -r2 $U/t wc; echo mine > wc/f; svn up -q --accept postpone wc",
        operation: "svn resolve -q --accept theirs-full wc/f",
        file: "f",
    },
    Case {
        name: "update that accepts theirs",
        before: "svn co -q -r2 $U/t wc; echo mine > wc/f",
        operation: "svn up -q --accept theirs-full wc",
        file: "f",
    },
    Case {
        name: "resolve of a tree conflict",
        before: "svn co -q -r4 $U/t wc; echo more > wc/d/g; svn up -q --accept postpone wc",
        operation: "svn resolve -q --accept recommended wc/d; svn revert -q -R wc",
        file: "moved/g",
    },
    Case {
        name: "externals",
        before: "svn co -q $U/b wc; svn ps -q svn:externals '^/t/added ext' wc",
        operation: "svn up -q wc",
        file: "ext",
    },
    Case {
        name: "externals that are folders",
        before: "svn co -q $U/b wc; svn ps -q svn:externals '^/t/moved extdir' wc",
        operation: "svn up -q wc",
        file: "extdir/g",
    },
    Case {
        name: "cleanup",
        before: "svn co -q $U/t wc",
        operation: "touch wc/f; svn cleanup wc",
        file: "f",
    },
    Case {
        name: "unshelve and revert",
        before: "svn co -q $U/t wc; echo mine > wc/f",
        operation: "svn x-shelve -q s wc/f; svn x-unshelve -q s wc/f || (cd wc; svn x-unshelve -q s); svn revert -q wc/f",
        file: "f",
    },
    Case {
        name: "shelve",
        before: "svn co -q $U/t wc; echo mine > wc/f",
        operation: "cd wc; svn x-shelve -q s f",
        file: "f",
    },
    Case {
        name: "lock",
        before: "svn co -q $U/b wc",
        operation: "touch wc/locked 2>/dev/null; svn lock wc/locked > /dev/null",
        file: "locked",
    },
    Case {
        name: "delete that looks at changes",
        before: "svn co -q $U/t wc; svn co -q $U/t other",
        operation: "touch wc/moved/g; svn rm -q wc/moved; svn revert -q -R wc",
        file: "moved/g",
    },
    Case {
        name: "status that compares",
        before: "svn co -q $U/t wc",
        operation: "touch wc/f; svn st wc",
        file: "f",
    },
    Case {
        name: "commit time stamps",
        before: "svn co -q $U/b wc",
        operation: "echo t > wc/f; svn ci -qm x --config-option config:miscellany:use-commit-times=yes wc; \
                    svn up -q --config-option config:miscellany:use-commit-times=yes wc",
        file: "f",
    },
];

/// A mounted file; unmounted at the end.
struct Disk {
    _image: tempfile::TempDir,
    at: tempfile::TempDir,
}

impl Disk {
    fn ext2() -> Self {
        let (image, at) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = image.path().join("disk");
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        done(Command::new("mkfs.ext2").args(["-q", "-I", "128", "-N", "8192"]).arg(&file));
        done(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(at.path()));
        Self { _image: image, at }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.at.path()).status();
    }
}

fn done(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {said}\nThis test needs root, e2fsprogs and a kernel with loop devices and ext2."
    );
}

/// Runs a script in a folder with these programs.
fn run(folder: &Path, programs: &Programs, url: &str, hurried: bool, script: &str) -> Output {
    let mut command = Command::new("sh");
    sapwood_testkit::programs::environment(&mut command);
    command.args(["-c", script]).current_dir(folder);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.dir().display())).env("U", url);
    command.env("SVN_EXPERIMENTAL_COMMANDS", "shelf3");
    if hurried {
        command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    }
    Output::of(&mut command)
}

/// Nanoseconds since the last whole second.
fn part_of_second() -> u32 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos()
}

/// Waits for a whole second and a part of the next.
fn wait_for_part(milliseconds: u32) {
    let rest = 1_000_000_000 - part_of_second();
    std::thread::sleep(Duration::from_nanos(rest.into()));
    std::thread::sleep(Duration::from_millis(milliseconds.into()));
}

/// Changes the first letter of a file, in place.
fn rewrite(file: &Path) {
    use std::os::unix::fs::FileExt as _;
    let old = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let new = if old[0] == b'Z' { b"Y" } else { b"Z" };
    // A file that needs a lock is read-only; root writes all the same.
    fs::OpenOptions::new().write(true).open(file).unwrap().write_all_at(new, 0).unwrap();
}

/// Tries a case in a folder of its own; what is wrong, if something is.
fn try_case(case: &Case, folder: &Path, url: &str, phase: u32) -> Option<String> {
    let (ours, reference) = (Programs::ours(), Programs::reference());
    fs::create_dir_all(folder).unwrap();
    let name = case.name;
    let prepared = run(folder, &reference, url, true, case.before);
    assert_eq!(prepared.code, 0, "{name}: {}", prepared.stderr_text());
    wait_for_part(phase);
    let operation = run(folder, &ours, url, false, case.operation);
    assert_eq!(operation.code, 0, "{name}: {}", operation.stderr_text());
    let file = folder.join("wc").join(case.file);
    rewrite(&file);
    let new = fs::read_to_string(&file).unwrap();
    let new = new.lines().next().unwrap().to_owned();
    for programs in [&ours, &reference] {
        let shown = file.display();
        let status = run(folder, programs, url, true, &format!("svn diff '{shown}'"));
        let label = programs.label;
        assert_eq!(status.code, 0, "{name}: {label}: {}", status.stderr_text());
        if !status.stdout_text().contains(&format!("+{new}")) {
            return Some(format!("{name}, phase {phase}: {label} does not see the change"));
        }
    }
    None
}

/// A name that comes within the second in which its folder was looked at.
fn try_new_name(folder: &Path, url: &str, phase: u32) -> Option<String> {
    let ours = Programs::ours();
    fs::create_dir_all(folder).unwrap();
    assert_eq!(run(folder, &ours, url, false, "svn co -q $U/t wc").code, 0);
    wait_for_part(phase);
    let script =
        "touch wc/moved/t; rm wc/moved/t; sleep .1; svn st wc; echo > wc/moved/new; svn st wc";
    let status = run(folder, &ours, url, false, script);
    let again = run(folder, &ours, url, false, "svn st wc; sleep 2; svn st wc");
    let found = status.stdout_text() + &again.stdout_text();
    let seen = found.matches("?       wc/moved/new").count();
    (seen != 3).then(|| format!("phase {phase}: a new name is seen {seen} of 3 times"))
}

#[test]
fn coarse_times() {
    let disk = Disk::ext2();
    let repository = tempfile::tempdir().unwrap();
    let made =
        run(repository.path(), &Programs::reference(), "", true, &format!("set -e\n{REPOSITORY}"));
    assert_eq!(made.code, 0, "{}", made.stderr_text());
    super::from_seeds("coarse times", |seed| {
        let mut rng = Rng::new(seed);
        let phases: Vec<u32> =
            (0..=CASES.len()).map(|_| u32::try_from(20 + rng.below(500)).unwrap()).collect();
        let wrong = round(disk.at.path(), repository.path(), seed, &phases);
        assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    });
}

/// All cases, several at a time: most of it is waiting.
fn round(disk: &Path, made: &Path, seed: u64, phases: &[u32]) -> Vec<String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(phase) = phases.get(at) else { return wrong };
            let folder = disk.join(format!("{seed}-{at}"));
            let own = made.join(format!("{seed}-{at}"));
            let url = own_repository(made, &own);
            wrong.extend(match CASES.get(at) {
                Some(case) => try_case(case, &folder, &url, *phase),
                None => try_new_name(&folder, &url, *phase),
            });
            let _ = fs::remove_dir_all(&folder);
            let _ = fs::remove_dir_all(&own);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

/// A copy of the repository, whose URL is returned: cases that commit do not meet.
fn own_repository(made: &Path, own: &Path) -> String {
    sapwood_testkit::library::copy_tree(&made.join("repo"), own);
    format!("file://{}", own.display())
}
