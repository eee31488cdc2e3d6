//! `sapwood convert`: killed in the middle of its work and started again, it makes the repository that the reference
//! dumps to the same bytes; wrong usage is refused.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use sapwood_testkit::{Output, Programs, fsx, random};

fn dump(repository: &Path) -> Vec<u8> {
    let mut command = Programs::reference().command("svnadmin");
    Output::of(command.args(["dump", "-q"]).arg(repository)).expect_success("dump").stdout.clone()
}

#[test]
fn killed_and_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let history = random::history(31, 120);
    fsx::make(&from, &history, 50, true);
    let convert = || {
        let mut command = Programs::ours().command("sapwood");
        command.arg("convert").arg(&from).arg(&to);
        command
    };
    for (done, revision) in [
        ("Converted", 5),
        ("Converted", 40),
        ("Converted", 41),
        ("Converted", 90),
        ("Compared", 30),
        ("Compared", 100),
    ] {
        let mut child = convert().stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // It ends the wait, if the revision is there already.
        let wanted = format!("* {done} revision {revision}.");
        let met = lines.find(|line| line.as_ref().is_ok_and(|line| *line == wanted));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(met.is_some() || to.join("format").exists(), "revision {revision}");
    }
    let done = Output::of(&mut convert()).expect_success("convert").stdout_text();
    let youngest = history.youngest();
    assert!(done.contains("* Continuing after revision "), "{done}");
    assert!(done.contains(&format!("\nRevision {youngest}: ")), "{done}");
    assert!(done.ends_with("no difference.\n"), "{done}");
    assert!(dump(&from) == dump(&to));
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (args, sentence) in [
        (&["only-one"][..], "a source and a target are needed"),
        (&["a", "b", "c"], "a source and a target are needed"),
        (&["--fs-type", "bdb", "a", "b"], "Unknown FS type 'bdb'"),
        (
            &["--fs-type", "fsx", "--compatible-version", "1.8", "a", "b"],
            "E160043: FSX is not compatible with Subversion prior to 1.9",
        ),
        (&["--compatible-version", "1.99", "a", "b"], "Cannot guarantee compatibility"),
        (&["none", "b"], "E000002: Can't open file"),
    ] {
        let mut command = Programs::ours().command("sapwood");
        let out = Output::of(command.current_dir(folder.path()).arg("convert").args(args));
        assert_ne!(out.code, 0, "{args:?}");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(said.starts_with("sapwood convert: ") && said.contains(sentence), "{said}");
        assert!(!folder.path().join("b").exists(), "{args:?}");
    }
}
