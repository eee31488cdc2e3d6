//! FSX repositories that the reference made, plain and packed, are read by our programs and served by our servers: what
//! they say is what the reference's programs say of the same repository. Those that ours make and change, the reference verifies and
//! goes on with.

use std::path::Path;
use std::process::Command;

use sapwood_testkit::compare::{Trees, difference};
use sapwood_testkit::{Output, Programs, fsx, random};

use crate::common::Both;
use crate::common::schemes::{Hosted, Scheme};

/// Revisions a shard.
const SHARD: u64 = 4;

/// What is done in a working copy `wc` of the repository: edits, copies, a branch that is merged, renames, properties, a lock.
const STEPS: &str = r#"
svn mkdir -q -m layout $U/trunk $U/branches $U/tags
svn co -q $U wc && cd wc
mkdir trunk/dir && seq 1 400 > trunk/a.txt && echo text > trunk/dir/b.txt && : > trunk/empty
yes 0123456789 | head -c 70000 > trunk/long && printf 'a\0b' > trunk/bin
svn add -q trunk/* && svn ps -q svn:eol-style native trunk/a.txt && svn ps -q p v trunk/dir
svn ci -q -m files && svn up -q
svn cp -q trunk branches/one && svn ci -q -m branch && svn up -q
for n in 1 2 3; do sed -i "${n}00s/.*/changed $n/" branches/one/a.txt; svn ci -q -m "edit $n"; done
svn up -q && svn merge -q --non-interactive '^/branches/one' trunk && svn ci -q -m merge && svn up -q
svn mv -q trunk/dir trunk/moved && svn ci -q -m rename
svn rm -q trunk/bin && svn ps -q svn:executable '*' trunk/a.txt && svn ci -q -m delete && svn up -q
svn cp -q -m tag $U/trunk $U/tags/first
echo more >> trunk/moved/b.txt && svn ci -q -m edit && svn up -q
svn rm -q trunk/moved/b.txt && svn ci -q -m 'delete again' && svn up -q
svn cp -q $U/tags/first/moved/b.txt@HEAD trunk/moved/b.txt && svn ci -q -m 'brought back'
svn lock -q -m mine trunk/a.txt
"#;

fn make(repo: &Path, pack: bool) {
    fsx::create(repo, SHARD);
    let script = format!("set -e\nU=file://{}\n{STEPS}", repo.display());
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(repo.parent().unwrap());
    Output::of(&mut shell).expect_success("the steps");
    if pack {
        Both::new().reference.run("svnadmin", ["pack", "-q", repo.to_str().unwrap()]);
        assert!(repo.join("db/revs/2.pack/pack").exists());
    }
}

/// What `svn` is asked of the repository; `URL` is its URL. The order of lines that the reference takes out of a hash table does not
/// count.
const QUESTIONS: [&str; 22] = [
    "log -v URL",
    "log -v -g URL/trunk",
    "log -v URL/trunk/moved/b.txt",
    "log -q --stop-on-copy URL/tags/first",
    "log --diff -r 2:HEAD URL",
    "ls -Rv URL",
    "ls -v -r 3 URL/branches",
    "cat URL/trunk/a.txt",
    "cat URL/trunk/empty",
    "cat -r 5 URL/branches/one/a.txt",
    "blame -v URL/trunk/a.txt",
    "blame -g URL/trunk/a.txt",
    "diff -r 1:HEAD URL",
    "diff URL/branches/one URL/trunk",
    "info -R URL",
    "info -r 4 URL/trunk/dir/b.txt@4",
    "propget -R svn:mergeinfo URL",
    "proplist -v -R URL",
    "propget --revprop -r 3 svn:log URL",
    "mergeinfo --show-revs merged URL/branches/one URL/trunk",
    "info URL/none",
    "log -r {2000-01-01}:HEAD URL",
];

/// Runs a question, with the URL in what is said as if it were `URL`.
fn ask(programs: &Programs, question: &str, url: &str) -> Output {
    let output = programs.run("svn", question.replace("URL", url).split(' '));
    output.replacing(url, "URL").unordered()
}

fn served(folder: &Path) {
    let (both, file) = (Both::new(), format!("file://{}/repo", folder.display()));
    let wanted: Vec<Output> =
        QUESTIONS.iter().map(|question| ask(&both.reference, question, &file)).collect();
    let export = folder.join("exported");
    both.reference.run("svn", ["export", "-q", &file, export.to_str().unwrap()]);
    let exported = Trees::read(&export);
    assert!(exported.iter().count() > 10);
    for scheme in [Scheme::File, Scheme::Svn, Scheme::Http] {
        let hosted = Hosted::of(&both.ours, folder, scheme);
        for (question, wanted) in QUESTIONS.iter().zip(&wanted) {
            let said = ask(&both.ours, question, &hosted.url);
            if let Some(difference) = difference(wanted, &said) {
                panic!("svn {question} over {scheme:?}: {difference}");
            }
        }
        let export = folder.join(format!("{scheme:?}"));
        let args = ["export", "-q", &hosted.url, export.to_str().unwrap()];
        both.ours.run("svn", args).expect_success("export");
        assert_eq!(exported.difference(&Trees::read(&export)), None, "export over {scheme:?}");
    }
}

fn looked_into(repo: &Path) {
    let (both, repo) = (Both::new(), repo.to_str().unwrap());
    for args in [
        "tree REPO",
        "tree --show-ids REPO",
        "tree -r 3 --full-paths REPO branches",
        "changed REPO",
        "changed --copy-info -r 8 REPO",
        "dirs-changed -r 7 REPO",
        "diff -r 5 REPO",
        "history --show-ids REPO /tags/first/a.txt",
        "history REPO /trunk/moved/b.txt",
        "info REPO",
        "youngest REPO",
        "uuid REPO",
        "lock REPO /trunk/a.txt",
        "proplist -v REPO /trunk/a.txt",
        "propget REPO svn:mergeinfo /trunk",
        "cat REPO /trunk/a.txt",
        "filesize REPO /trunk/long",
    ] {
        let args: Vec<String> = args.split(' ').map(|arg| arg.replace("REPO", repo)).collect();
        // Properties come in the order of a hash table.
        both.same_lines("svnlook", &args.iter().map(String::as_str).collect::<Vec<_>>());
    }
    for args in [
        &["info", repo][..],
        &["lslocks", repo],
        &["lstxns", repo],
        &["verify", repo],
        &["verify", "-q", "-r", "3:6", repo],
        &["dump", "-q", repo],
        &["dump", "-q", "--deltas", repo],
        &["dump", "-q", "--incremental", "-r", "5:9", repo],
    ] {
        both.same("svnadmin", args);
    }
    both.same("svnfsfs", &["stats", repo]);
    both.same("svnfsfs", &["dump-index", repo]);
    both.same("svnadmin", &["upgrade", repo]);
}

fn read_by_all(pack: bool) {
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repo");
    make(&repo, pack);
    served(folder.path());
    looked_into(&repo);
}

#[test]
fn repositories_of_the_reference_are_served() {
    read_by_all(false);
}

#[test]
fn packed_repositories_of_the_reference_are_served() {
    read_by_all(true);
}

/// A server keeps log entries; what the reference's program changes meanwhile is in the next reply.
#[test]
fn changed_revision_properties_are_seen() {
    for pack in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        fsx::make(&repo, &random::history(23, 30), 7, pack);
        let (both, file) = (Both::new(), format!("file://{}", repo.display()));
        let hosted = Hosted::of(&both.ours, folder.path(), Scheme::Svn);
        let message = folder.path().join("message");
        for (revision, text) in [("0", "none"), ("9", "first"), ("9", "second"), ("29", "third")] {
            for question in ["log -v URL", "log -q URL", "ls -v URL", "log -r 9 URL"] {
                let wanted = ask(&both.reference, question, &file);
                // The second time it comes from the caches.
                for _ in 0..2 {
                    let said = ask(&both.ours, question, &hosted.url);
                    assert_eq!(difference(&wanted, &said), None, "{question}, packed: {pack}");
                }
            }
            std::fs::write(&message, text).unwrap();
            let args = ["setlog", "--bypass-hooks", "-r", revision];
            let mut command = both.reference.command("svnadmin");
            Output::of(command.args(args).arg(&repo).arg(&message)).expect_success("setlog");
        }
        let said = ask(&both.ours, "log -r 9:9 URL", &hosted.url).stdout_text();
        assert!(said.contains("second"), "{said}");
    }
}

#[test]
fn random_histories_are_dumped_as_the_reference_dumps_them() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, pack) in [(21, false), (22, true)] {
        let repo = folder.path().join(seed.to_string());
        fsx::make(&repo, &random::history(seed, 40), 7, pack);
        let both = Both::new();
        both.same("svnadmin", &["dump", "-q", repo.to_str().unwrap()]);
        both.same("svnadmin", &["verify", "-q", repo.to_str().unwrap()]);
        for revision in [3, 17, 40] {
            let revision = revision.to_string();
            let args = ["changed", "--copy-info", "-r", &revision, repo.to_str().unwrap()];
            both.same("svnlook", &args);
        }
    }
}

/// Makes a repository by our `svnadmin`, with small shards.
pub(crate) fn create(repo: &Path) {
    let args = ["create", "--fs-type", "fsx", repo.to_str().unwrap()];
    Programs::ours().run("svnadmin", args).expect_success("create");
    let format = repo.join("db/format");
    std::fs::remove_file(&format).unwrap();
    std::fs::write(&format, format!("2\nlayout sharded {SHARD}\n")).unwrap();
}

/// Commits of one client below `name`: texts, properties, copies, renames, deletions, from a working copy and without one.
pub(crate) fn commits(programs: &Programs, url: &str, folder: &Path, name: &str) {
    let svn = |args: &[&str]| {
        programs.run("svn", args).expect_success(&format!("svn {args:?} of {name}"));
    };
    let (here, branch, wc) =
        (format!("{url}/{name}"), format!("{url}/{name}-branch"), folder.join(name));
    let (wc, file) = (wc.to_str().unwrap(), wc.join("file"));
    let file_arg = file.to_str().unwrap();
    svn(&["mkdir", "-q", "-m", "begin", &here]);
    svn(&["checkout", "-q", &here, wc]);
    std::fs::write(&file, format!("{name}\n{}", "a line\n".repeat(3000))).unwrap();
    svn(&["add", "-q", file_arg]);
    svn(&["propset", "-q", "p", "v", file_arg]);
    svn(&["commit", "-q", "-m", "added", wc]);
    std::fs::write(&file, format!("{name}\n{}changed", "a line\n".repeat(2000))).unwrap();
    svn(&["update", "-q", wc]);
    svn(&["propset", "-q", "svn:mergeinfo", "/other:1-2", wc]);
    svn(&["commit", "-q", "-m", "changed", wc]);
    svn(&["copy", "-q", "-m", "branch", &here, &branch]);
    svn(&["move", "-q", "-m", "moved", &format!("{branch}/file"), &format!("{branch}/moved")]);
    svn(&["delete", "-q", "-m", "deleted", &format!("{here}/file")]);
    svn(&["copy", "-q", "-m", "back", &format!("{branch}/moved"), &format!("{here}/file")]);
}

/// The reference finds nothing wrong, and both dump the same.
pub(crate) fn is_whole(both: &Both, repo: &Path) {
    let repo = repo.to_str().unwrap();
    both.reference.run("svnadmin", ["verify", "-q", repo]).expect_success("verify");
    both.same("svnadmin", &["verify", "-q", repo]);
    both.same("svnadmin", &["dump", "-q", repo]);
}

/// Ours makes a repository and commits to it by every way in; the reference verifies it and commits in turn, over the same
/// way and directly; both pack it meanwhile.
#[test]
fn both_commit_in_turn_over_every_scheme() {
    for scheme in [Scheme::File, Scheme::Svn, Scheme::Http] {
        let folder = tempfile::tempdir().unwrap();
        let (both, repo) = (Both::new(), folder.path().join("repo"));
        create(&repo);
        let hosted = Hosted::of(&both.ours, folder.path(), scheme);
        let file = format!("file://{}", repo.display());
        commits(&both.ours, &hosted.url, folder.path(), "ours");
        is_whole(&both, &repo);
        commits(&both.reference, &hosted.url, folder.path(), "theirs");
        commits(&both.reference, &file, folder.path(), "direct");
        is_whole(&both, &repo);
        let pack = ["pack", "-q", repo.to_str().unwrap()];
        both.ours.run("svnadmin", pack).expect_success("pack");
        assert!(repo.join("db/revs/4.pack/pack").exists(), "{scheme:?}");
        is_whole(&both, &repo);
        commits(&both.ours, &hosted.url, folder.path(), "again");
        both.reference.run("svnadmin", pack).expect_success("pack");
        commits(&both.ours, &hosted.url, folder.path(), "last");
        assert_eq!(std::fs::read(repo.join("db/current")).unwrap(), b"35\n", "{scheme:?}");
        is_whole(&both, &repo);
    }
}

/// What administrators do to a repository by our programs, and what those of the reference say of it then.
#[test]
fn administration() {
    let folder = tempfile::tempdir().unwrap();
    let (both, repo) = (Both::new(), folder.path().join("repo"));
    create(&repo);
    let history = random::history(24, 40);
    let dump = folder.path().join("dump");
    std::fs::write(&dump, history.dump(0..=history.youngest())).unwrap();
    let (path, dump) = (repo.to_str().unwrap(), dump.to_str().unwrap());
    let ours = |args: &[&str]| {
        both.ours.run("svnadmin", args).expect_success(&format!("svnadmin {args:?}"))
    };
    ours(&["load", "-q", "-F", dump, path]);
    is_whole(&both, &repo);
    let message = folder.path().join("message");
    std::fs::write(&message, "another message").unwrap();
    let message = message.to_str().unwrap();
    ours(&["setlog", "--bypass-hooks", "-r", "3", path, message]);
    ours(&["pack", "-q", path]);
    ours(&["setlog", "--bypass-hooks", "-r", "5", path, message]);
    ours(&["setrevprop", "-r", "0", path, "p", message]);
    is_whole(&both, &repo);
    let uuid = "01234567-89ab-4cde-8f01-23456789abcd";
    ours(&["setuuid", path, uuid]);
    both.same("svnlook", &["uuid", path]);
    let tree = both.reference.run("svnlook", ["tree", "--full-paths", path]).stdout_text();
    let file = tree.lines().find(|line| !line.ends_with('/')).unwrap();
    ours(&["lock", path, file, "someone", message]);
    both.same("svnadmin", &["lslocks", path]);
    both.same("svnlook", &["lock", path, file]);
    ours(&["rmlocks", path, file]);
    assert_eq!(both.reference.run("svnadmin", ["lslocks", path]).stdout_text(), "");
    // The write lock is held while a program runs in `freeze`.
    let free = "! flock -n \"$0/db/write-lock\" true";
    ours(&["freeze", path, "--", "sh", "-c", free, path]);
    ours(&["recover", path]);
    is_whole(&both, &repo);
    both.same("svnadmin", &["info", path]);
}

/// What a hook sees of a transaction of ours by `svnlook -t`; what it changes is in the revision.
#[test]
fn hooks_look_into_transactions() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let (both, repo) = (Both::new(), folder.path().join("repo"));
    create(&repo);
    let url = format!("file://{}", repo.display());
    commits(&both.ours, &url, folder.path(), "first");
    let hook = repo.join("hooks/pre-commit");
    let mut script = String::from("#!/bin/sh\nset -e\n");
    for (label, programs) in [("ours", &both.ours), ("theirs", &both.reference)] {
        let svnlook = programs.path("svnlook");
        for question in [
            "changed --copy-info",
            "tree --full-paths",
            "diff",
            "info",
            "log",
            "cat REPO first/file",
            "cat REPO first/new",
            "proplist -v REPO first/new",
            "propget REPO p first/new",
            "dirs-changed",
        ] {
            let args = match question.split_once(" REPO ") {
                Some((start, end)) => format!("{start} -t \"$2\" \"$1\" {end}"),
                None => format!("{question} -t \"$2\" \"$1\""),
            };
            let output = folder.path().join(label);
            let line =
                format!("LC_ALL=C.UTF-8 {} {args} >> {}\n", svnlook.display(), output.display());
            script.push_str(&line);
        }
    }
    // Properties of the transaction may be changed.
    script.push_str(&format!(
        "printf 'by the hook' > \"$1/value\"\n{} setrevprop -t \"$2\" \"$1\" svn:log \"$1/value\"\n",
        both.reference.path("svnadmin").display()
    ));
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let svn = |args: &[&str]| both.ours.run("svn", args).expect_success(&format!("svn {args:?}"));
    let wc = folder.path().join("first");
    svn(&["update", "-q", wc.to_str().unwrap()]);
    std::fs::write(wc.join("file"), format!("new\n{}", "a line\n".repeat(20))).unwrap();
    std::fs::write(wc.join("new"), "a new file\n").unwrap();
    let new = wc.join("new");
    svn(&["add", "-q", new.to_str().unwrap()]);
    svn(&["propset", "-q", "p", "v", new.to_str().unwrap()]);
    svn(&["propset", "-q", "q", "v", wc.to_str().unwrap()]);
    svn(&["copy", "-q", wc.join("file").to_str().unwrap(), wc.join("copy").to_str().unwrap()]);
    svn(&["commit", "-q", "-m", "looked into", wc.to_str().unwrap()]);
    let seen = |label: &str| std::fs::read_to_string(folder.path().join(label)).unwrap();
    assert!(seen("theirs").contains("a new file"), "{}", seen("theirs"));
    let (ours, theirs) = (seen("ours"), seen("theirs"));
    let differing = ours.lines().zip(theirs.lines()).position(|(ours, theirs)| ours != theirs);
    let differing = differing.map(|at| [&ours, &theirs].map(|text| text.lines().nth(at).unwrap()));
    assert_eq!((differing, ours.len()), (None, theirs.len()));
    let message = both.reference.run("svnlook", ["log", repo.to_str().unwrap()]).stdout_text();
    assert_eq!(message, "by the hook\n");
    assert_eq!(
        both.reference.run("svnadmin", ["lstxns", repo.to_str().unwrap()]).stdout_text(),
        ""
    );
    is_whole(&both, &repo);
}
