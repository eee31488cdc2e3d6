//! `svn patch` by ours and by the reference: what is said, what becomes of wc.db and of the files.

use crate::common::sides;

use sapwood_testkit::Programs;
use sides::compare;

/// A tree with texts of ten lines, a link, keywords, line end styles and a binary file.
const START: &str = r"
mkdir -p A/B C; for f in A/f A/B/g C/h C/i; do seq 1 10 > $f; done; ln -s A/f link; printf 'x\0y' > bin
printf 'one\n$Rev: 7 $\nthree\n' > kw; printf 'a\r\nb\r\nc\r\n' > crlf; printf 'a\nb\nc' > native
svn add -q A C link bin kw crlf native
svn ps -q svn:keywords Rev kw
svn ps -q svn:eol-style CRLF crlf
svn ps -q svn:eol-style native native
svn ps -q p v A/f
svn ci -q -m one
svn up -q
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

/// The steps that write a patch file: each of its lines is one of the command's.
fn file(name: &str, text: &str) -> String {
    let octal: String = text.bytes().map(|b| format!("\\{b:03o}")).collect();
    format!("printf '{octal}' > ../{name}\n")
}

#[test]
fn what_diff_says_can_be_applied_and_taken_back() {
    let both = r"
sed -i s/5/five/ A/f; sed -i 's/^1$/one/;s/10/ten/' A/B/g; printf 'z\0y' > bin; sed -i s/one/ONE/ kw
svn rm -q C/h C/i
mkdir N; seq 1 3 > N/new; : > N/empty; ln -s away N/l; printf 'x' > noeol; ln -sf A/B link
svn add -q N noeol
svn ps -q p w A/f
svn ps -q q new A/f
svn ps -q svn:executable x A/B/g
svn ps -q d x A
svn ps -q p v N/new
/usr/bin/svn diff GIT > ../p
/usr/bin/svn revert -q -R . --remove-added
= patch --dry-run ../p
= patch ../p
= patch ../p
= patch --reverse-diff ../p
= patch --reverse-diff ../p
svn st
";
    run(&both.replace("GIT", ""));
    run(&both.replace("GIT", "--git"));
}

#[test]
fn fuzz_offsets_and_rejects() {
    let patch = file(
        "p",
        "Index: A/f\n--- A/f\n+++ A/f\n@@ -3,3 +3,4 @@\n 3\n 4\n+new\n 5\n@@ -8,3 +9,2 @@\n 8\n-9\n 10\n\
         Index: A/B/g\n--- A/B/g\n+++ A/B/g\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n\
         @@ -99,2 +99,2 @@\n-nothing\n+something\n like\n\
         Index: C/h\n--- C/h\n+++ C/h\n@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -1,2 +1,2 @@\n-1\n+y\n 2\n\
         Index: none\n--- none\n+++ none\n@@ -1,2 +1,2 @@\n-1\n+x\n 2\n",
    );
    run(&format!(
        r"
{patch}sed -i '1i zero\nzero' A/f; sed -i 's/^1$/uno/;s/^7$/sette/' A/B/g
= patch --dry-run ../p
= patch ../p
= patch ../p
svn st
svn revert -q -R .
= patch --reverse-diff ../p
seq 10 -1 1 > A/f; (seq 1 10; seq 1 10) > A/B/g
= patch -q ../p .
"
    ));
}

#[test]
fn spaces_may_differ() {
    let patch = file("p", "--- A/f\n+++ A/f\n@@ -2,4 +2,4 @@\n 2\n3\n-  4\n+four\n 5\n");
    run(&format!(
        "{patch}= patch ../p\nsed -i 's/^2$/ 2  /' A/f\n= patch --ignore-whitespace ../p\nsvn st\n"
    ));
}

#[test]
fn line_ends_and_keywords() {
    let patch = file(
        "p",
        "--- kw\n+++ kw\n@@ -1,3 +1,3 @@\n one\n $Rev: 3 $\n-three\n+$Rev: 99 $ three\n\
         --- crlf\n+++ crlf\n@@ -1,3 +1,4 @@\n a\n+new\n b\n c\n\
         --- native\n+++ native\n@@ -1,3 +1,3 @@\n-a\n+x\n b\n c\n\\ No newline at end of file\n",
    );
    run(&format!("{patch}= patch ../p\nsvn st\nod -c crlf kw native\n"));
}

#[test]
fn properties_that_do_not_fit() {
    let patch = file(
        "p",
        "Index: A/f\n--- A/f\n+++ A/f\n\nProperty changes on: A/f\n___\n\
         Modified: p\n## -1 +1 ##\n-other\n+w\n\\ No newline at end of property\n\
         Added: q\n## -0,0 +1,2 ##\n+a\n+b\nAdded: svn:eol-style\n## -0,0 +1 ##\n+nonsense\n\
         Deleted: none\n## -1 +0,0 ##\n-x\n\
         Index: A/B\n--- A/B\n+++ A/B\n\nProperty changes on: A/B\n___\n\
         Added: svn:executable\n## -0,0 +1 ##\n+*\n\\ No newline at end of property\n\
         Added: svn:ignore\n## -0,0 +1 ##\n+x\n\
         Index: M\n--- M\n+++ M\n\nProperty changes on: M\n___\nModified: p\n## -1 +1 ##\n-v\n+w\n",
    );
    run(&format!("{patch}= patch --dry-run ../p\n= patch ../p\n= patch ../p\nsvn st\n"));
}

#[test]
fn moves_and_modes_of_git() {
    let patch = file(
        "p",
        "diff --git a/A/f b/A/moved\nsimilarity index 90%\nrename from A/f\nrename to A/moved\n\
         --- a/A/f\n+++ b/A/moved\n@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n\
         diff --git a/C/h b/C/copy\ncopy from C/h\ncopy to C/copy\n\
         diff --git a/C/i b/C/i\nold mode 100644\nnew mode 100755\n\
         diff --git a/A/B/g b/bin\nrename from A/B/g\nrename to bin\n\
         diff --git a/x/y b/x/y\nnew file mode 100755\nindex 0000000..e69de29\n\
         diff --git a/l2 b/l2\nnew file mode 120000\n--- /dev/null\n+++ b/l2\n@@ -0,0 +1 @@\n+A/f\n\
         \\ No newline at end of file\n",
    );
    run(&format!(
        "{patch}= patch --dry-run ../p\n= patch ../p\n= patch ../p\nsvn st\nsvn ci -q -m done\n"
    ));
}

#[test]
fn names_that_are_stripped() {
    let patch = file("p", "--- x/y/A/f\n+++ x/y/A/f\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n");
    run(&format!(
        r"
{patch}= patch ../p
= patch --strip 2 ../p
= patch --strip 3 ../p A
= patch --strip 9 ../p
= patch --strip -1 ../p
= patch --strip x ../p
= patch
= patch ../p . .
= patch ../none
= patch ../p none
= patch ../p A/f
= patch .. .
= patch URL .
= patch ../p URL
= patch ../p ..
"
    ));
}

#[test]
fn what_is_in_the_way() {
    let patch = file(
        "p",
        "--- /dev/null\n+++ A/f\n@@ -0,0 +1 @@\n+new\n\
         --- /dev/null\n+++ un\n@@ -0,0 +1 @@\n+new\n\
         --- /dev/null\n+++ un2/x/y\n@@ -0,0 +1 @@\n+new\n\
         --- /dev/null\n+++ kw/x\n@@ -0,0 +1 @@\n+new\n\
         --- C/h\n+++ C/h\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\
         --- C/i\n+++ C/i\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\
         --- A\n+++ A\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\
         --- bin\n+++ bin\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
    );
    run(&format!(
        r"
{patch}echo u > un; mkdir un2; rm C/h
svn rm -q C/i
= patch --dry-run ../p
= patch ../p
svn st
"
    ));
}

#[test]
fn deleted_directories_go() {
    let patch = file(
        "p",
        "--- A/B/g\n+++ /dev/null\n@@ -1,10 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n-9\n-10\n\
         --- C/h\n+++ C/h\n@@ -1,10 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n-9\n-10\n\
         --- C/i\n+++ C/i\n@@ -1,10 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n-9\n-10\n\
         --- /dev/null\n+++ C\n@@ -0,0 +1 @@\n+file\n",
    );
    run(&format!(
        "{patch}= patch --dry-run ../p\ntouch A/B/un\n= patch ../p\nsvn st\n= patch ../p\n"
    ));
}

#[test]
fn moved_away_locally() {
    let patch = file("p", "--- A/f\n+++ A/f\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n");
    run(&format!("{patch}svn mv -q A/f C/moved\n= patch ../p\nsvn st\n"));
}

/// Names that lead out of the folder, in all ways: nothing outside is changed, made or removed.
#[test]
fn nothing_outside_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let run = |command: &mut std::process::Command| {
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let url = format!("file://{}/repo", folder.path().display());
    run(reference.command("svnadmin").args(["create", "repo"]));
    run(reference.command("svn").args(["co", "-q", &url, "wc"]));
    for (dir, name) in [("out", "f"), ("wc/sub", "f"), ("wc/gone", "f")] {
        std::fs::create_dir(at(dir)).unwrap();
        std::fs::write(at(dir).join(name), "1\n").unwrap();
    }
    run(reference.command("svn").args(["add", "-q", "wc/sub", "wc/gone"]));
    run(reference.command("svn").args(["ci", "-q", "-m", "one", "wc"]));
    std::fs::remove_dir_all(at("wc/gone")).unwrap();
    for (to, link) in [("../out", "wc/gone"), ("../out", "wc/link"), ("../.svn", "wc/sub/adm")] {
        std::os::unix::fs::symlink(to, at(link)).unwrap();
    }
    let out = at("out").display().to_string();
    let mut patch = format!(
        "diff --git a/new b/new\nnew file mode 120000\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n\
         +{out}\n\\ No newline at end of file\n"
    );
    let absolute = out.trim_start_matches('/');
    for dir in ["../out", &out, "sub/../../out", "gone", "link", "new", "sub/adm", ".svn"] {
        for name in ["f", "g", "wc.db"] {
            let path = format!("{dir}/{name}");
            patch += &format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-1\n+x\n");
            patch += &format!("--- {path}\n+++ {path}\n@@ -2 +2 @@\n-no\n+such\n");
            patch += &format!("--- {path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n");
            patch += &format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x\n");
            patch += &format!("diff --git a/sub/f b/{path}\nrename from sub/f\nrename to {path}\n");
        }
    }
    std::fs::write(at("p"), patch).unwrap();
    let before = std::fs::read_dir(at("wc/.svn")).unwrap().count();
    let told = run(ours.command("svn").args(["patch", "p", "wc"]));
    assert!(told.starts_with("A         wc/new\n"), "{told}");
    assert!(told.contains("Skipped"), "{told}");
    assert!(!told.contains("U  ") && !told.contains("C  ") && !told.contains("D  "), "{told}");
    assert_eq!(std::fs::read_to_string(at("out/f")).unwrap(), "1\n");
    assert_eq!(std::fs::read_to_string(at("wc/sub/f")).unwrap(), "1\n");
    assert_eq!(std::fs::read_dir(at("out")).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(at("wc/.svn")).unwrap().count(), before);
    assert!(!at("wc").join(absolute).exists());
    let rejects = std::fs::read_dir(at("wc")).unwrap().flatten();
    assert!(rejects.into_iter().all(|e| !e.file_name().to_string_lossy().ends_with(".rej")));
}
