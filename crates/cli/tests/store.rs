//! `sapwood store`: repositories in stores, at the prompt.

use std::fs;
use std::path::Path;

use sapwood_testkit::{Programs, Repository, Shape};

/// Exit code, output and errors of a program of ours.
fn ours(args: &[&str]) -> (i32, String, String) {
    let output = Programs::ours().run("sapwood", args);
    (output.code, output.stdout_text(), output.stderr_text())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn in_and_out() {
    let dir = tempfile::tempdir().unwrap();
    let made = Repository::random(&Shape::new("1.10").shard(7), 11, 30);
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    let (one, two) = (format!("file://{}", one.display()), format!("file://{}", two.display()));
    let back = dir.path().join("back");
    let (code, said, errors) = ours(&["store", "import", &made.arg(), &one]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(said.starts_with(&format!("{one}: r{}, ", made.history.youngest())), "{said}");
    assert_eq!(ours(&["store", "import", &made.arg(), &one]), (0, said, String::new()));
    assert_eq!(ours(&["store", "export", "-q", &one, text(&back)]).1, "");
    Programs::reference().run("svnadmin", ["verify", "-q", text(&back)]).expect_success("verify");
    let log = |path: &str| {
        let url = format!("file://{path}");
        Programs::reference().run("svn", ["log", "-v", &url]).stdout_text()
    };
    assert_eq!(log(text(&back)), log(&made.arg()));
    assert_eq!(ours(&["store", "import", "-q", text(&back), &two]).0, 0);
    let contents = |address: &str| {
        let (code, said, _) = ours(&["store", "info", address]);
        assert_eq!(code, 0);
        said.lines().find(|line| line.starts_with("Contents: ")).unwrap().to_owned()
    };
    assert_eq!(contents(&one), contents(&two));
    let (code, said, _) = ours(&["store", "verify", "--requests", &one]);
    assert_eq!(code, 0);
    assert!(said.contains(" are whole\nrequests:\n"), "{said}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let empty = format!("file://{}", dir.path().join("empty").display());
    let (code, _, error) = ours(&["store", "verify", &empty]);
    assert_eq!(code, 1);
    let expected = format!("sapwood store: E180000: There is no repository at '{empty}'\n");
    assert_eq!(error, expected);
    let (code, _, error) = ours(&["store", "info", "svn://host/repo"]);
    assert_eq!(code, 1);
    assert!(error.contains("gs://BUCKET/PREFIX, file:///FOLDER and postgres://"), "{error}");
    let (code, _, error) = ours(&["store", "import", "x"]);
    assert_eq!(code, 1);
    assert!(error.contains("Type 'sapwood store --help' for usage."), "{error}");

    let repo = dir.path().join("repo");
    Programs::reference()
        .run("svnadmin", ["create", text(&repo)])
        .expect_success("svnadmin create");
    let address = format!("file://{}", dir.path().join("store").display());
    assert_eq!(ours(&["store", "import", "-q", text(&repo), &address]).0, 0);
    // An entry is damaged: the store, the entry and what is wrong are named.
    let entry = dir.path().join("store/log/0000000000000000");
    let mut bytes = fs::read(&entry).unwrap();
    bytes[100] ^= 1;
    fs::write(&entry, bytes).unwrap();
    let (code, _, error) = ours(&["store", "verify", &address]);
    assert_eq!(code, 1);
    let expected = format!(
        "sapwood store: E160004: The repository '{address}' is damaged: entry 0 of its log has a wrong sum\n"
    );
    assert_eq!(error, expected);
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_build_without_s3_says_so() {
    let (code, _, error) = ours(&["store", "info", "s3://bucket/prefix"]);
    assert_eq!(code, 1);
    let expected = "sapwood store: E200007: Can't open 's3://bucket/prefix': this program was built without the \
                    feature 's3'\n";
    assert_eq!(error, expected);
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_build_without_postgres_says_so() {
    let address = "postgres://db/sapwood+file:///srv/store";
    let (code, _, error) = ours(&["store", "info", address]);
    assert_eq!(code, 1);
    let expected = format!(
        "sapwood store: E200007: Can't open '{address}': this program was built without the feature 'postgres'\n"
    );
    assert_eq!(error, expected);
}

/// `cargo xtask objects` runs it, beside a store.
#[cfg(feature = "s3")]
#[test]
fn in_and_out_of_a_bucket() {
    let endpoint = std::env::var("SAPWOOD_S3_ENDPOINT");
    let endpoint = endpoint.expect("'cargo xtask objects' starts a store and says where it is");
    let dir = tempfile::tempdir().unwrap();
    let credentials = dir.path().join("credentials");
    let keys = "[default]\naws_access_key_id = none\n[ceph]\naws_access_key_id = AK\naws_secret_access_key = SK\n";
    fs::write(&credentials, keys).unwrap();
    let run = |args: &[&str]| {
        let mut command = Programs::ours().command("sapwood");
        command
            .args(["store", "--requests"])
            .args(args)
            .env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY")
            .env("AWS_PROFILE", "ceph")
            .env("AWS_SHARED_CREDENTIALS_FILE", &credentials)
            .env("AWS_ENDPOINT_URL", &endpoint)
            .env("AWS_REGION", "us-east-1");
        sapwood_testkit::Output::of(&mut command).expect_success("sapwood store").stdout_text()
    };
    let made = Repository::random(&Shape::new("1.10").shard(7), 11, 30);
    let name = format!("s3://sapwood/cli/{}", std::process::id());
    let (back, again) = (dir.path().join("back"), dir.path().join("again"));
    let said = run(&["import", &made.arg(), &name]);
    assert!(said.starts_with(&format!("{name}: r{}, ", made.history.youngest())), "{said}");
    assert!(said.contains("\nrequests: get ") && said.contains(" claim "), "{said}");
    run(&["verify", &name]);
    run(&["export", &name, text(&back)]);
    Programs::reference().run("svnadmin", ["verify", "-q", text(&back)]).expect_success("verify");
    let folder = format!("file://{}", again.display());
    run(&["import", text(&back), &folder]);
    let contents =
        |said: String| said.lines().find(|line| line.starts_with("Contents: ")).unwrap().to_owned();
    assert_eq!(contents(run(&["info", &name])), contents(run(&["info", &folder])));
}

#[test]
fn what_stopped_writers_left_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    Programs::reference()
        .run("svnadmin", ["create", text(&repo)])
        .expect_success("svnadmin create");
    let store = dir.path().join("store");
    let address = format!("file://{}", store.display());
    assert_eq!(ours(&["store", "import", "-q", text(&repo), &address]).0, 0);
    let left = format!("big/{}", "7".repeat(32));
    fs::create_dir_all(store.join("big")).unwrap();
    fs::write(store.join(&left), "left").unwrap();
    let nothing = format!(
        "{address}: 0 of 1 objects with 0 bytes were removed; 1 are too young to be looked at\n"
    );
    assert_eq!(ours(&["store", "sweep", &address]), (0, nothing, String::new()));
    let day = std::time::Duration::from_secs(86_400);
    let before = std::time::SystemTime::now().checked_sub(day * 3).unwrap();
    fs::File::open(store.join(&left)).unwrap().set_modified(before).unwrap();
    let args = ["store", "sweep", "--older-than", "2", "--dry-run", &address];
    let end = "; 0 are too young to be looked at\n";
    let would = format!("{left} 4\n{address}: 1 of 1 objects with 4 bytes would be removed{end}");
    assert_eq!(ours(&args), (0, would, String::new()));
    assert!(store.join(&left).exists());
    let done = format!("{left} 4\n{address}: 1 of 1 objects with 4 bytes were removed{end}");
    let args = ["store", "sweep", "--older-than", "2", &address];
    assert_eq!(ours(&args), (0, done, String::new()));
    assert!(!store.join(&left).exists());
    for bad in ["0", "-1", "x", "99999999999999999999"] {
        let (code, _, error) = ours(&["store", "sweep", "--older-than", bad, &address]);
        assert_eq!(code, 1);
        assert!(error.contains(&format!("'{bad}' is no number of days from 1 to")), "{error}");
    }
    assert_eq!(ours(&["store", "verify", &address]).0, 0);
}

#[test]
fn settings_that_make_no_sense_are_said() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    let with = |name: &str, value: &[u8]| {
        let mut command = Programs::ours().command("svnadmin");
        command.args(["create", text(&repo)]).env(name, std::ffi::OsStr::from_bytes(value));
        let output = sapwood_testkit::Output::of(&mut command);
        assert!(output.code == 1 && !repo.exists(), "{name}");
        output.stderr_text()
    };
    assert_eq!(
        with("SAPWOOD_CREATE_STORE", b"file:///x\xff"),
        "svnadmin: E125009: SAPWOOD_CREATE_STORE is no address of a store: 'file:///x\u{fffd}'\n"
    );
    for (bad, shown) in [(&b"10G"[..], "10G"), (b"", ""), (b"-1", "-1"), (b"\xff", "\u{fffd}")] {
        let expected = format!(
            "sapwood: E125009: SAPWOOD_STORE_CACHE_SIZE is no number of megabytes up to 1099511627776: '{shown}'\n"
        );
        assert_eq!(with("SAPWOOD_STORE_CACHE_SIZE", bad), expected);
    }
    let no_store = with("SAPWOOD_CREATE_STORE", b"");
    assert!(no_store.contains("E") && no_store.contains("s3://BUCKET/PREFIX"), "{no_store}");
}

/// Our programs with folders of their own for addresses.
fn at_address(cache: &Path, program: &str, args: &[&str]) -> (i32, String, String) {
    let mut command = Programs::ours().command(program);
    let output = sapwood_testkit::Output::of(command.args(args).env("XDG_CACHE_HOME", cache));
    (output.code, output.stdout_text(), output.stderr_text())
}

#[test]
fn svnadmin_and_svnlook_take_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let made = Repository::random(&Shape::new("1.10").shard(7), 12, 20);
    let address = format!("file://{}", dir.path().join("store").display());
    assert_eq!(ours(&["store", "import", "-q", &made.arg(), &address]).0, 0);
    let cache = dir.path().join("cache");
    let run = |program: &str, args: &[&str]| at_address(&cache, program, args);
    // The same as on the folder that it was.
    let plain = made.arg();
    for (program, args) in [
        ("svnlook", ["log", "X"].as_slice()),
        ("svnlook", &["youngest", "X"]),
        ("svnlook", &["tree", "X"]),
        ("svnlook", &["changed", "X", "-r", "3"]),
        ("svnadmin", &["verify", "-q", "X"]),
        ("svnadmin", &["dump", "-q", "X"]),
        ("svnadmin", &["lslocks", "X"]),
    ] {
        let with = |path: &str| args.iter().map(|arg| arg.replace('X', path)).collect::<Vec<_>>();
        let of = |path: &str| {
            let args = with(path);
            run(program, &args.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let of_folder = of(&plain);
        assert_eq!(of_folder.0, 0, "{of_folder:?}");
        assert_eq!(of(&address), of_folder, "{program} {args:?}");
    }
    let message = dir.path().join("message");
    fs::write(&message, "another\n").unwrap();
    let set = ["setlog", "--bypass-hooks", &address, "-r", "1", text(&message)];
    assert_eq!(run("svnadmin", &set), (0, String::new(), String::new()));
    assert_eq!(run("svnlook", &["log", "-r", "1", &address]).1, "another\n\n");
    // There is one folder for all of that; without it the next begins anew.
    let folders = cache.join("sapwood/folders");
    assert_eq!(fs::read_dir(&folders).unwrap().count(), 1);
    fs::remove_dir_all(&folders).unwrap();
    assert_eq!(run("svnlook", &["log", "-r", "1", &address]).1, "another\n\n");
    // Another repository comes to the address.
    fs::remove_dir_all(dir.path().join("store")).unwrap();
    let other = Repository::random(&Shape::new("1.10").shard(7), 13, 4);
    assert_eq!(ours(&["store", "import", "-q", &other.arg(), &address]).0, 0);
    let youngest = format!("{}\n", other.history.youngest());
    assert_eq!(run("svnlook", &["youngest", &address]).1, youngest);
    assert_eq!(fs::read_dir(&folders).unwrap().count(), 1);
}

#[test]
fn what_an_address_is_not_enough_for_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let made = Repository::random(&Shape::new("1.10"), 12, 3);
    let address = format!("file://{}", dir.path().join("store").display());
    assert_eq!(ours(&["store", "import", "-q", &made.arg(), &address]).0, 0);
    let run = |program: &str, args: &[&str]| at_address(dir.path(), program, args);
    for (program, verb, sentence) in [
        ("svnadmin", "recover", "works on the files of a folder: 'sapwood store export"),
        ("svnadmin", "upgrade", "works on the files of a folder"),
        ("svnadmin", "create", "'sapwood store create ADDRESS FOLDER' makes one"),
        ("svnadmin", "lstxns", "works on transactions, which are in the folders of the servers"),
        ("svnfsfs", "stats", "works on the files of a folder"),
    ] {
        let (code, _, error) = run(program, &[verb, &address]);
        let begin = format!("{program}: E200007: '{program} {verb}' ");
        assert!(code == 1 && error.starts_with(&begin) && error.contains(sentence), "{error}");
    }
    let (code, _, error) = run("svnlook", &["log", "-t", "0-0", &address]);
    assert!(code == 1 && error.contains("can't look at transactions"), "{error}");
    // A URL of a folder is what it was.
    let url = format!("file://{}", made.arg());
    let (code, _, error) = run("svnadmin", &["verify", &url]);
    let expected = format!("svnadmin: E205000: '{url}' is a URL when it should be a local path\n");
    assert!(code == 1 && error.contains(&expected), "{error}");
}

#[test]
fn hotcopy_goes_between_folders_and_stores() {
    let dir = tempfile::tempdir().unwrap();
    let made = Repository::random(&Shape::new("1.10").shard(7), 14, 20);
    let [one, two] =
        ["one", "two"].map(|name| format!("file://{}", dir.path().join(name).display()));
    let back = dir.path().join("back");
    let run = |args: &[&str]| at_address(dir.path(), "svnadmin", args);
    let nothing = (0, String::new(), String::new());
    assert_eq!(run(&["hotcopy", &made.arg(), &one]), nothing);
    let (code, _, error) = run(&["hotcopy", &made.arg(), &one]);
    assert!(code == 1 && error.contains("There is a repository at 'file://"), "{error}");
    assert_eq!(run(&["hotcopy", "--incremental", &made.arg(), &one]), nothing);
    assert_eq!(run(&["hotcopy", &one, &two]), nothing);
    let (code, said, error) = run(&["hotcopy", &two, text(&back)]);
    assert!(code == 0 && error.is_empty() && said.starts_with("* Copied revision 0.\n"), "{error}");
    let last = format!("* Copied revision {}.\n", made.history.youngest());
    assert!(said.ends_with(&last), "{said}");
    Programs::reference().run("svnadmin", ["verify", "-q", text(&back)]).expect_success("verify");
    let contents = |address: &str| {
        let said = ours(&["store", "info", address]).1;
        let line =
            |name: &str| said.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
        (line("Contents: "), line("Repository: "))
    };
    let (first, second) = (contents(&one), contents(&two));
    assert_eq!(first.0, second.0);
    assert_ne!(first.1, second.1, "a copy is another repository");
}

#[test]
fn programs_that_commit_once_put_together_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let address = format!("file://{}", dir.path().join("store").display());
    let repo = dir.path().join("repo");
    assert_eq!(ours(&["store", "create", "-q", &address, text(&repo)]).0, 0);
    let url = format!("file://{}", repo.display());
    let name = dir.path().join("text");
    fs::write(&name, "x").unwrap();
    for n in 0..66 {
        let file = format!("f{n}");
        let args = ["svnmucc", "-m", "x", "-U", &url, "put", text(&name), &file];
        assert_eq!(ours(&args).0, 0);
    }
    let segments = fs::read_dir(dir.path().join("store/seg")).unwrap().count();
    assert_eq!(segments, 1);
    assert_eq!(ours(&["store", "verify", "-q", &address]), (0, String::new(), String::new()));
    // An entry names it: nothing is left over.
    let said = ours(&["store", "verify", &address]).1;
    assert!(said.contains(" and 1 objects are whole"), "{said}");
}
