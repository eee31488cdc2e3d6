//! FSX repositories that the reference made, plain and packed, are read by our programs and served by our servers: what
//! they say is what the reference's programs say of the same repository. What would change one is refused.

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
    for args in [&["pack", repo][..], &["upgrade", repo], &["setuuid", repo], &["recover", repo]] {
        let refused = both.ours.run("svnadmin", args);
        assert_eq!(refused.code, 1, "{args:?}");
        let sentence = format!(
            "E200007: Filesystem '{repo}/db' is of type 'fsx', which can only be read here"
        );
        assert!(refused.stderr_text().contains(&sentence), "{}", refused.stderr_text());
    }
    let copy = format!("{repo}-copy");
    let refused = both.ours.run("svnadmin", ["hotcopy", repo, &copy]);
    assert_eq!((refused.code, Path::new(&copy).exists()), (1, false));
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

/// A commit to a repository that can only be read is refused before anything of it is there, whatever brings it.
#[test]
fn commits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repo");
    fsx::create(&repo, SHARD);
    let ours = Programs::ours();
    for scheme in [Scheme::File, Scheme::Svn, Scheme::Http] {
        let hosted = Hosted::of(&ours, folder.path(), scheme);
        let refused = ours.run("svn", ["mkdir", "-m", "none", &format!("{}/new", hosted.url)]);
        assert_eq!(refused.code, 1, "{scheme:?}");
        let said = refused.stderr_text();
        assert!(said.contains("is of type 'fsx', which can only be read here"), "{said}");
        assert_eq!(std::fs::read(repo.join("db/current")).unwrap(), b"0\n");
    }
}
