//! Working copies that do not keep all text bases (format 32): what `svn` does on them is what it does
//! on others, and the store holds the texts of modified files only.

use std::fs;
use std::path::Path;
use std::process::Command;

use sapwood_testkit::Programs;

/// A repository with files of all forms.
const SETUP: &str = r#"
svnadmin create repo
svn co -q file://$PWD/repo first
cd first
mkdir -p d/e
printf 'a $Rev$\nb\n' > d/keys; printf 'a\nb\n' > d/crlf; seq 500 > d/text; ln -s text d/link; echo p > d/e/plain
head -c 300000 /dev/urandom > d/binary
svn add -q d
svn ps -q svn:keywords Rev d/keys
svn ps -q svn:eol-style CRLF d/crlf
svn ci -qm one
seq 600 > d/text; echo c >> d/keys; svn cp -q d/e d/copied
svn ci -qm two
"#;

/// What is done with a working copy `wc`; all that it says is compared.
const WORK: &[&str] = &[
    "svn status -v wc | cut -c1-9",
    "echo mine >> wc/d/text; echo mine >> wc/d/keys; echo mine >> wc/d/crlf; echo x >> wc/d/binary",
    "svn status wc",
    "svn diff wc",
    "svn diff -r 1 wc",
    "svn cat -r BASE wc/d/keys wc/d/crlf wc/d/text",
    "svn update -r 1 wc",
    "svn status wc",
    "svn resolve -q --accept theirs-full -R wc",
    "svn update wc",
    "svn revert wc/d/keys",
    "cat wc/d/keys wc/d/crlf",
    "svn copy -q wc/d wc/d2; svn move -q wc/d/text wc/moved; svn rm -q wc/d/e wc/d/link",
    "svn status wc",
    "svn diff wc | grep -v '^[-+][-+][-+] '",
    "svn export -q -r BASE wc out; cat out/d/text | md5sum",
    "svn revert -q -R wc; rm -rf wc/d2 wc/moved; svn status wc",
    "svn ps -q svn:eol-style LF wc/d/crlf; svn ps -q svn:keywords Id wc/d/text; svn status wc",
    "svn commit -qm three wc; svn update -q wc; svn status wc; svn diff -c 3 wc",
    "svn merge -q -c -2 wc; svn status wc; svn diff wc",
    "svn revert -q -R wc; rm -rf wc/d/text; svn status wc; svn update wc; svn status wc",
    "svn cp -q wc/d other/d 2>&1 | sed s/E[0-9]*://; svn cleanup wc; svn status wc",
];

/// Runs a script below a folder with our programs first.
fn run(folder: &Path, programs: &Programs, script: &str) -> String {
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", folder)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).replace(&folder.display().to_string(), "HERE")
}

/// The files of the pristine store.
fn kept(wc: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let store = wc.join(".svn/pristine");
    for dir in fs::read_dir(store).into_iter().flatten() {
        for file in fs::read_dir(dir.unwrap().path()).unwrap() {
            names.push(file.unwrap().file_name().into_string().unwrap());
        }
    }
    names.sort();
    names
}

#[test]
fn the_same_is_said_and_done_as_with_all_text_bases() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let folder = tempfile::tempdir().unwrap();
    let (full, bare) = (folder.path().join("full"), folder.path().join("bare"));
    fs::create_dir(&full).unwrap();
    run(&full, &reference, SETUP);
    // The same repository at the same place below each, so that the words are the same.
    assert!(Command::new("cp").arg("-a").arg(&full).arg(&bare).status().unwrap().success());
    let url = "svn checkout -q file://$PWD/repo wc";
    assert_eq!(run(&full, &ours, url), "");
    assert_eq!(run(&bare, &ours, &format!("{url} --store-pristine=no")), "");
    assert_eq!(kept(&bare.join("wc")), Vec::<String>::new());
    assert!(kept(&full.join("wc")).len() > 4);
    for work in WORK {
        let (wanted, found) = (run(&full, &ours, work), run(&bare, &ours, work));
        assert_eq!(found, wanted, "{work}");
    }
    let files =
        "cd wc && find . -path ./.svn -prune -o -type f -print0 | sort -z | xargs -0 md5sum";
    assert_eq!(run(&bare, &ours, files), run(&full, &ours, files));
    assert_eq!(run(&bare, &ours, "svn revert -q -R wc; svn diff wc; svn status -q wc"), "");
    assert_eq!(kept(&bare.join("wc")), Vec::<String>::new(), "what is not modified is not kept");
}

#[test]
fn text_bases_of_modified_files_come_when_they_are_needed_and_go() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run(here, &reference, SETUP);
    let say = |script: &str| run(here, &ours, script);
    assert_eq!(say("svn checkout -q --store-pristine=no file://$PWD/repo wc"), "");
    assert_eq!(say("svn info --show-item store-pristine wc"), "no\n");
    assert_eq!(say("svn info --show-item wc-format wc"), "32\n");
    say("echo mine >> wc/d/text");
    assert_eq!(say("svn status wc"), "M       wc/d/text\n");
    assert_eq!(kept(&here.join("wc")).len(), 0, "a status needs no text");
    assert!(say("svn diff wc").ends_with("+mine\n"));
    assert_eq!(kept(&here.join("wc")).len(), 1, "that of the modified file");
    // Away from the repository, what is at hand is enough.
    say("mv repo away");
    assert!(say("svn diff wc").ends_with("+mine\n"));
    say("echo mine >> wc/d/keys");
    assert!(say("svn diff wc").contains("E170013"), "it has to be fetched");
    assert_eq!(say("svn revert wc/d/text"), "Reverted 'wc/d/text'\n");
    assert_eq!(kept(&here.join("wc")).len(), 0);
    say("mv away repo");
    assert!(say("svn commit -m three wc").contains("Committed revision 3."));
    assert_eq!(kept(&here.join("wc")).len(), 0, "what is committed is not modified any more");
}

#[test]
fn formats_that_are_asked_for() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run(here, &reference, SETUP);
    let say = |script: &str| run(here, &ours, script);
    let checkout = |options: &str| {
        say(&format!(
            "svn co -q {options} file://$PWD/repo wc; svn info --show-item wc-format wc; rm -rf wc"
        ))
    };
    assert_eq!(checkout(""), "31\n");
    assert_eq!(checkout("--compatible-version 1.8"), "31\n");
    assert_eq!(checkout("--compatible-version 1.15"), "32\n");
    assert_eq!(checkout("--store-pristine no"), "32\n");
    assert!(checkout("--compatible-version 1.7").contains("E205000"));
    assert!(checkout("--compatible-version x").contains("E205000"));
    assert!(checkout("--store-pristine maybe").contains("E205000"));
    assert!(checkout("--compatible-version 1.14 --store-pristine no").contains("E155042"));
    // 1.14 refuses what it does not know, and says so.
    say("svn co -q file://$PWD/repo wc; svn upgrade --compatible-version 1.15 wc");
    assert_eq!(say("svn info --show-item wc-format wc"), "32\n");
    assert_eq!(say("svn info --show-item store-pristine wc"), "yes\n");
    assert_eq!(
        say("svn status wc; echo x >> wc/d/text; svn revert wc/d/text"),
        "Reverted 'wc/d/text'\n"
    );
    assert!(run(here, &reference, "svn status wc").contains("E155021"));
    assert!(say("svn co -q --store-pristine=no file://$PWD/repo wc").contains("E155042"));
}
