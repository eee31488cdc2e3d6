//! Standard output that cannot be written: a full disk, a pipe without a reader. Every program
//! says and ends as the reference does, and none panics.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use sapwood_testkit::{Programs, Repository, Shape};

/// How a program ends whose output goes to a full disk, or to a pipe that is read no more.
fn run(mut command: Command, full: bool) -> Output {
    let stdout = if full {
        Stdio::from(File::options().write(true).open("/dev/full").unwrap())
    } else {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
}

fn shown(output: &Output) -> String {
    let (code, signal) = (output.status.code(), output.status.signal());
    format!("code {code:?}, signal {signal:?}\n{}", String::from_utf8_lossy(&output.stderr))
}

/// `REPO` and `URL` stand for a repository.
const LINES: &[&str] = &[
    "svnadmin info REPO",
    "svnadmin verify REPO",
    "svnadmin help dump",
    "svnlook tree REPO",
    "svnlook log REPO",
    "svnlook help",
    "svnauthz help validate",
    "svnsync help",
    "svnsync info URL",
    "svnrdump help dump",
    "svnrdump dump -q URL",
    "svndumpfilter help include",
    "svnbench null-info URL",
];

#[test]
fn as_the_reference() {
    let repo = Repository::scripted(&Shape::new("1.9"));
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let mut lines: Vec<String> = LINES.iter().map(|line| (*line).to_owned()).collect();
    for program in sapwood_testkit::programs::NAMES {
        if ours.path(program).exists() && !matches!(program, "svn" | "svnversion") {
            lines.extend(["--help", "--version"].map(|option| format!("{program} {option}")));
        }
    }
    for line in lines {
        for full in [true, false] {
            let of = |programs: &Programs| {
                let mut words = line.split(' ');
                let mut command = programs.command(words.next().unwrap());
                let args =
                    words.map(|w| w.replace("REPO", &repo.arg()).replace("URL", &repo.url()));
                command.args(args);
                shown(&run(command, full))
            };
            let (of_ours, of_reference) = (of(&ours), of(&reference));
            // The reference does not notice that its last lines were lost; ours says so.
            let program = line.split(' ').next().unwrap();
            let noticed = match full {
                true => format!(
                    "code Some(1), signal None\n{program}: E000028: Write error: No space left on device\n"
                ),
                false => "code Some(1), signal None\n".to_owned(),
            };
            let of_help =
                "code Some(0), signal None\nsvn: E000028: Write error: No space left on device\n";
            if full && line.contains("help") && of_reference == "code Some(0), signal None\n" {
                assert_eq!(of_ours, of_help, "{line}");
                continue;
            }
            if of_reference == "code Some(0), signal None\n" && !line.contains("help") {
                assert_eq!(of_ours, noticed, "{line}");
                continue;
            }
            assert_eq!(of_ours, of_reference, "{line}, {}", if full { "full" } else { "pipe" });
        }
    }
}

/// What the reference does not have.
#[test]
fn programs_of_our_own() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("links").display().to_string();
    for line in ["--version", "help", "serve --help", "nonsense", "install-links DIR"] {
        for full in [true, false] {
            let mut command = Programs::ours().command("sapwood");
            let output = run_in(&mut command, line, &folder, full);
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(!told.contains("panicked"), "{line}: {told}");
            let fails = line != "help";
            assert_eq!(output.status.code(), Some(i32::from(fails)), "{line}: {told}");
        }
    }
}

fn run_in(command: &mut Command, line: &str, folder: &str, full: bool) -> Output {
    let mut fresh = Command::new(command.get_program());
    fresh.args(line.split(' ').map(|word| word.replace("DIR", folder)));
    run(fresh, full)
}
