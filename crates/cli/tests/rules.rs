//! `rules.toml`: rules of a repository and of a server refuse commits of 1.14's client by every way in, with their sentence.

use std::fs;
use std::path::Path;

use sapwood_testkit::{Output, Programs, Server};

use crate::common::places;
use places::Served;

const RULES: &str = "format = 1\n\
    [[rule]]\nname = 'tickets'\nmessage = '^[A-Z]+-[0-9]+: '\nsay = 'Begin with a ticket.'\n\
    [[rule]]\nname = 'tags'\npaths = ['/tags/*']\nprotected = true\n\
    [[rule]]\nname = 'files'\nfile-size = 100\nforbidden-names = ['*.obj']\ndistinct-names = true\n\
    required-properties = { '*.psd' = ['svn:needs-lock'] }\n\
    [[revision-properties]]\nnames = ['svn:log']\nusers = ['author']\n";

/// A program of ours or of the reference as `ada`.
fn run(programs: &Programs, program: &str, args: &[&str]) -> Output {
    let login =
        ["--username", "ada", "--password", "secret", "--no-auth-cache", "--non-interactive"];
    programs.run(program, args.iter().chain(&login))
}

/// What is refused, and what is not, at a URL. `client` is one of two.
fn commits(client: &Programs, url: &str, folder: &Path) {
    let mucc = |message: &str, args: &[&str]| {
        let output = run(client, "svnmucc", &[&["-U", url, "-m", message], args].concat());
        if output.code == 0 { String::new() } else { output.stderr_text() }
    };
    let file = |bytes: usize| {
        let path = folder.join(format!("file{bytes}"));
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (small, large) = (file(100), file(101));
    let refused = |said: &str, rule: &str, why: &str| {
        let blocked = format!("E165001: Commit blocked by rule '{rule}':\n");
        assert!(said.contains(&blocked) && said.contains(why), "{said}");
    };
    refused(&mucc("more", &["mkdir", "trunk"]), "tickets", "\nBegin with a ticket.");
    assert_eq!(
        mucc("G-1: first", &["mkdir", "trunk", "mkdir", "tags", "put", &small, "trunk/a"]),
        ""
    );
    refused(
        &mucc("G-2: x", &["put", &large, "trunk/b"]),
        "files",
        "A file may have 100 bytes: /trunk/b",
    );
    refused(&mucc("G-2: x", &["put", &small, "trunk/b.obj"]), "files", ": /trunk/b.obj");
    refused(&mucc("G-2: x", &["put", &small, "trunk/A"]), "files", "/trunk (A, a)");
    refused(
        &mucc("G-2: x", &["put", &small, "trunk/p.psd"]),
        "files",
        "svn:needs-lock: /trunk/p.psd",
    );
    let psd = ["put", &small, "trunk/p.psd", "propset", "svn:needs-lock", "*", "trunk/p.psd"];
    assert_eq!(mucc("G-2: picture", &psd), "");
    assert_eq!(mucc("G-3: tag", &["cp", "HEAD", "trunk", "tags/1"]), "");
    refused(&mucc("G-4: x", &["put", &small, "tags/1/new"]), "tags", "/tags/1/new");
    refused(&mucc("G-4: x", &["rm", "tags"]), "tags", ": /tags");
    assert_eq!(mucc("G-5: more", &["put", &small, "trunk/b"]), "");
    let prop = |name: &str| {
        run(client, "svn", &["propset", "--revprop", "-r", "1", name, "G-1: better", url])
    };
    assert_eq!(prop("svn:log").code, 0, "{}", prop("svn:log").stderr_text());
    assert!(prop("svn:author").stderr_text().contains("E165006"));
}

#[test]
fn rules_of_a_repository_count_by_every_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let make = |name: &str, more: &[&str]| {
        let repository = folder.path().join(name);
        let create =
            reference.run("svnadmin", ["create", repository.to_str().unwrap()].iter().chain(more));
        create.expect_success("create");
        fs::write(repository.join("conf/rules.toml"), RULES).unwrap();
        let conf = "[general]\nauth-access = write\npassword-db = passwd\n";
        fs::write(repository.join("conf/svnserve.conf"), conf).unwrap();
        fs::write(repository.join("conf/passwd"), "[users]\nada = secret\n").unwrap();
        repository
    };
    let file = make("file", &["--compatible-version", "1.3"]);
    commits(&ours, &format!("file://{}", file.display()), folder.path());
    make("svn", &["--fs-type", "fsx"]);
    make("http", &[]);
    let server = Server::start(&ours, folder.path(), &[]);
    commits(&reference, &server.url("svn"), folder.path());
    let config = format!("path = '{}'\n", folder.path().display());
    let served = Served::start(&config);
    let url = format!("http://127.0.0.1:{}/http", served.port);
    commits(&reference, &url, folder.path());
    // What is not understood refuses every commit, and says where it is wrong.
    fs::write(file.join("conf/rules.toml"), format!("{RULES}user = 'x'\n")).unwrap();
    let url = format!("file://{}", file.display());
    let said = run(&ours, "svn", &["mkdir", "-m", "G-9: x", &format!("{url}/x")]).stderr_text();
    assert!(said.contains("rules.toml', line 19: "), "{said}");
    fs::remove_file(file.join("conf/rules.toml")).unwrap();
    run(&ours, "svn", &["mkdir", "-m", "x", &format!("{url}/x")]).expect_success("without rules");
    // A program still has its say, after the rules.
    let hook = folder.path().join("http/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho by the script >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let url = format!("http://127.0.0.1:{}/http/x", served.port);
    let said =
        |message: &str| run(&reference, "svn", &["mkdir", "-m", message, &url]).stderr_text();
    assert!(said("x").contains("tickets") && said("G-7: x").contains("by the script"));
}

#[test]
fn rules_of_a_server_know_repositories_and_groups() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let accounts = at.join("accounts.toml");
    for (name, group) in [("ada", "release"), ("bob", "devs")] {
        let input = at.join("input");
        fs::write(&input, "secret\n").unwrap();
        let mut command = Programs::ours().command("sapwood");
        command.args(["user", "--accounts"]).arg(&accounts);
        command.args(["add", name, "--group", group, "--password-from-stdin"]);
        Output::of(command.stdin(fs::File::open(&input).unwrap())).expect_success("user add");
    }
    let rules = at.join("shared-rules.toml");
    let rule = |repositories: &str| {
        format!(
            "format = 1\n[[rule]]\nname = 'short'\nrepositories = ['{repositories}']\nmessage-length = 20\n\
             except = ['group:release']\n"
        )
    };
    fs::write(&rules, rule("re*")).unwrap();
    let served = Served::start(&format!(
        "[[location]]\nurl = '/svn'\nfolder = '.'\naccounts = '{}'\nrules = '{}'\npassword-delay = 0\n",
        accounts.display(),
        rules.display()
    ));
    let may = |user: &str, name: &str| {
        let url = format!("http://127.0.0.1:{}/svn/repo/{name}", served.port);
        let args = ["mkdir", "-m", "short", &url, "--username", user, "--password", "secret"];
        let more = ["--no-auth-cache", "--non-interactive"];
        Programs::reference().run("svn", args.iter().chain(&more)).code == 0
    };
    assert!(may("ada", "a") && !may("bob", "b"));
    fs::write(&rules, rule("other*")).unwrap();
    assert!(may("bob", "b"), "it is about other repositories");
    fs::remove_file(&rules).unwrap();
    assert!(!may("ada", "c"), "rules that are named and missing refuse");
}

#[test]
fn a_repository_has_a_quota() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Programs::ours();
    let file = folder.path().join("file");
    // Nothing in it can be compressed.
    let mut state = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from(state >> 56).unwrap()
    });
    fs::write(&file, bytes.take(600 << 10).collect::<Vec<_>>()).unwrap();
    for kind in ["fsfs", "fsx"] {
        let repository = folder.path().join(kind);
        let create = ["create", "--fs-type", kind, repository.to_str().unwrap()];
        Programs::reference().run("svnadmin", create).expect_success("create");
        let rules = "format = 1\n[[rule]]\nname = 'quota'\nrepository-size = '1M'\n";
        fs::write(repository.join("conf/rules.toml"), rules).unwrap();
        let url = format!("file://{}", repository.display());
        // Other texts each time: what is there already takes no space.
        let put = |name: &str, skip: u32| {
            let text = fs::read(&file).unwrap();
            let own = folder.path().join(name);
            fs::write(&own, text.iter().map(|b| b.rotate_left(skip)).collect::<Vec<_>>()).unwrap();
            let target = format!("{url}/{name}");
            run(&ours, "svnmucc", &["-m", "", "put", own.to_str().unwrap(), &target])
        };
        put("first", 0).expect_success("600 KiB");
        let said = put("second", 1).stderr_text();
        let words = "Commit blocked by rule 'quota':\nThe repository is full: it may have 1M.";
        assert!(said.contains(words), "{kind}: {said}");
        // What was refused takes no space.
        run(&ours, "svnmucc", &["-m", "", "mkdir", &format!("{url}/small")])
            .expect_success("small");
    }
}
