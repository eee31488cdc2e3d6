//! Copies of FSX repositories, also incremental, made by our `svnadmin` and the reference's in turn;
//! `build-repcache`; what killed processes leave; formats that neither opens; merges.

use std::path::Path;

use sapwood_testkit::{Output, Programs};

use crate::common::Both;
use crate::fsx::{commits, create, is_whole};

/// The copy says what the source says, to both.
#[track_caller]
fn is_copy(both: &Both, repo: &Path, copy: &Path) {
    is_whole(both, copy);
    for args in [&["dump", "-q"][..], &["lslocks"], &["info"]] {
        let of = |path: &Path| {
            let output = both.reference.run("svnadmin", [args, &[path.to_str().unwrap()]].concat());
            output.replacing(path.to_str().unwrap(), "REPO")
        };
        assert_eq!(of(repo).unordered(), of(copy).unordered(), "{args:?}");
    }
}

fn hotcopy(programs: &Programs, repo: &Path, copy: &Path) -> Output {
    let args = ["hotcopy", "--incremental", repo.to_str().unwrap(), copy.to_str().unwrap()];
    programs.run("svnadmin", args)
}

fn pack(programs: &Programs, repo: &Path) {
    programs.run("svnadmin", ["pack", "-q", repo.to_str().unwrap()]).expect_success("pack");
}

/// Revisions, packs, properties and locks come to a copy in turn by both; each makes the copy first once.
#[test]
fn copies_are_brought_up_to_date_by_both_in_turn() {
    for first_is_ours in [true, false] {
        let (folder, both) = (tempfile::tempdir().unwrap(), Both::new());
        let [repo, copy] = ["repo", "copy"].map(|name| folder.path().join(name));
        create(&repo);
        let url = format!("file://{}", repo.display());
        let (mut one, mut other) = (&both.ours, &both.reference);
        if !first_is_ours {
            (one, other) = (other, one);
        }
        commits(one, &url, folder.path(), "first");
        let said = hotcopy(one, &repo, &copy).expect_success("hotcopy").stdout_text();
        assert!(said.contains("* Copied revision 7.\n"), "{said}");
        is_copy(&both, &repo, &copy);
        for (turn, packer) in [&both.ours, &both.reference, &both.ours].into_iter().enumerate() {
            (one, other) = (other, one);
            commits(other, &url, folder.path(), &format!("turn{turn}"));
            pack(packer, &repo);
            let message = folder.path().join("message");
            std::fs::write(&message, "another message ".repeat(100 * (turn + 1))).unwrap();
            for revision in ["0", "2", "6", "7"] {
                let mut args = vec!["setlog", "--bypass-hooks", "-r", revision];
                args.extend([repo.to_str().unwrap(), message.to_str().unwrap()]);
                other.run("svnadmin", args).expect_success("setlog");
            }
            let file = format!("{url}/turn{turn}/file");
            other.run("svn", ["lock", "-q", &file]).expect_success("lock");
            hotcopy(one, &repo, &copy).expect_success("hotcopy");
            is_copy(&both, &repo, &copy);
            let again = hotcopy(other, &repo, &copy).expect_success("hotcopy").stdout_text();
            assert_eq!(again, "", "nothing is new");
        }
        // A copy is a repository in which one works.
        let copied = format!("file://{}", copy.display());
        commits(one, &copied, folder.path(), "there");
        is_whole(&both, &copy);
        let refused = [one, other].map(|programs| hotcopy(programs, &repo, &copy));
        assert_eq!(refused[0], refused[1]);
        assert!(refused[0].stderr_text().contains("are source and destination swapped?"));
    }
}

/// A database of equal texts that is built anew is as good as that which grew with the commits.
#[test]
fn texts_are_entered_again() {
    let (folder, both) = (tempfile::tempdir().unwrap(), Both::new());
    let repo = folder.path().join("repo");
    create(&repo);
    let url = format!("file://{}", repo.display());
    commits(&both.ours, &url, folder.path(), "one");
    let database = repo.join("db/rep-cache.db");
    let rows = || {
        let sql = "select hash, revision, offset, size, expanded_size from rep_cache order by 1";
        let mut command = std::process::Command::new("python3");
        let script = format!(
            "import sqlite3,sys\nfor row in sqlite3.connect(sys.argv[1]).execute({sql:?}): print(row)"
        );
        Output::of(command.args(["-c", &script]).arg(&database))
            .expect_success("rows")
            .stdout_text()
    };
    let grown = rows();
    assert!(grown.lines().count() > 2, "{grown}");
    std::fs::remove_file(&database).unwrap();
    let built = both.ours.run("svnadmin", ["build-repcache", repo.to_str().unwrap()]);
    let said = built.expect_success("build-repcache").stdout_text();
    assert!(said.starts_with("* Processed revision 1.\n* Processed revision 2.\n"), "{said}");
    assert_eq!(rows(), grown);
    commits(&both.reference, &url, folder.path(), "two");
    is_whole(&both, &repo);
}

/// What killed processes leave is named, and removed.
#[test]
fn leftovers_are_named_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, repo) = (Programs::ours(), folder.path().join("repo"));
    create(&repo);
    let arg = repo.to_str().unwrap();
    let files = ["db/txn-protorevs/7.rev", "db/txn-protorevs/7.rev-lock", "db/current.1a.tmp"];
    for file in files {
        std::fs::write(repo.join(file), "").unwrap();
    }
    let said = ours.run("svnadmin", ["lstxns", arg]).expect_success("lstxns").stderr_text();
    for file in files {
        assert!(said.contains(file.strip_prefix("db/").unwrap()), "{said}");
    }
    ours.run("svnadmin", ["rmtxns", arg, "7"]).expect_success("rmtxns");
    ours.run("svnadmin", ["recover", arg]).expect_success("recover");
    let said = ours.run("svnadmin", ["lstxns", arg]).expect_success("lstxns");
    assert_eq!(said.stderr_text(), "");
    assert!(files.iter().all(|file| !repo.join(file).exists()));
}

/// Format 1 was an experiment of 1.9: like the reference, we open it as little as one of the future.
#[test]
fn other_formats_are_refused() {
    let (folder, both) = (tempfile::tempdir().unwrap(), Both::new());
    let repo = folder.path().join("repo");
    create(&repo);
    let arg = repo.to_str().unwrap();
    for number in ["1", "3"] {
        let format = repo.join("db/format");
        std::fs::write(&format, format!("{number}\nlayout sharded 4\n")).unwrap();
        for command in ["info", "verify", "dump"] {
            both.same("svnadmin", &[command, arg]);
        }
        // 1.14 says before that it has the lock.
        let [ours, theirs] = [&both.ours, &both.reference]
            .map(|programs| programs.run("svnadmin", ["upgrade", arg]));
        assert!(ours.stderr_text().contains("E160043: "), "{}", ours.stderr_text());
        assert_eq!((ours.code, ours.stderr_text()), (theirs.code, theirs.stderr_text()));
    }
}

/// While a commit that changes the properties of a directory is under way, another one replaces a file in it, or adds one: each
/// engine decides as that of the reference of its name does.
#[test]
fn directories_whose_properties_change_are_merged_as_the_reference_does() {
    use std::os::unix::fs::PermissionsExt as _;

    let outcome = |programs: &Programs, kind: &str, meanwhile: &str| {
        let folder = tempfile::tempdir().unwrap();
        let (repo, text) = (folder.path().join("repo"), folder.path().join("text"));
        std::fs::write(&text, "text\n").unwrap();
        let (path, url) = (repo.to_str().unwrap(), format!("file://{}", repo.display()));
        let args = ["create", "--fs-type", kind, path];
        programs.run("svnadmin", args).expect_success("create");
        let mucc = |message: &str, actions: &[&str]| {
            let args = [&["-U", &url, "-m", message], actions].concat();
            programs.run("svnmucc", args)
        };
        let text = text.to_str().unwrap();
        let layout = ["mkdir", "d", "put", text, "d/f", "put", text, "d/g"];
        mucc("layout", &layout).expect_success("layout");
        let hook = repo.join("hooks/pre-commit");
        let script = format!(
            "#!/bin/sh\ncase $({} log -t \"$2\" \"$1\") in meanwhile) exit 0;; esac\n\
             exec {} -U {url} -m meanwhile {}\n",
            programs.path("svnlook").display(),
            programs.path("svnmucc").display(),
            meanwhile.replace("TEXT", text)
        );
        std::fs::write(&hook, script).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        let made = mucc("properties", &["propset", "p", "v", "d"]);
        let tree = programs.run("svnlook", ["tree", path]).stdout_text();
        let log = programs.run("svn", ["log", "-qv", &url]).stdout_text();
        (made.code, made.stderr_text().contains("E160024"), tree, log.matches('|').count())
    };
    let both = Both::new();
    let mut codes = Vec::new();
    for kind in ["fsfs", "fsx"] {
        for meanwhile in [
            "rm d/f put TEXT d/f",
            "put TEXT d/f",
            "rm d/f",
            "put TEXT d/new",
            "rm d/f mv d/g d/f",
            "propset q v d",
        ] {
            let [ours, theirs] =
                [&both.ours, &both.reference].map(|programs| outcome(programs, kind, meanwhile));
            assert_eq!(ours, theirs, "{kind}: {meanwhile}");
            codes.push(ours.0);
        }
    }
    // The first is where the engines differ.
    assert_eq!((codes[0], codes[6]), (1, 0), "{codes:?}");
}
