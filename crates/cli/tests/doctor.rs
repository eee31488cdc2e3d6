//! `sapwood doctor`: what is broken on purpose is found, with what to do; what is in order is not complained about.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_testkit::Programs;

/// Exit code and output of the doctor.
fn doctor(args: &[&Path]) -> (i32, String) {
    let all = [Path::new("doctor")].into_iter().chain(args.iter().copied());
    let output = Programs::ours().run("sapwood", all);
    (output.code, output.stdout_text() + &output.stderr_text())
}

fn create(path: &Path, more: &[&str]) {
    let path = path.to_str().unwrap();
    let args = ["create", path].iter().chain(more).copied().collect::<Vec<_>>();
    Programs::reference().run("svnadmin", args).expect_success("create");
}

#[test]
fn what_is_broken_is_found_and_what_is_in_order_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("game");
    create(&repository, &[]);
    create(&folder.path().join("fsx"), &["--fs-type", "fsx"]);
    let (code, said) = doctor(&[folder.path()]);
    assert!(code == 0 && said.contains("FSFS format 8, 0 revisions"), "{said}");
    assert!(said.contains("FSX format 2"), "{said}");
    let quiet = doctor(&[Path::new("--quiet"), folder.path()]);
    assert_eq!(quiet, (0, String::new()));
    let find = |words: &[&str]| {
        let (code, said) = doctor(&[Path::new("-q"), folder.path()]);
        assert_eq!(code, 1, "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
        assert!(!said.contains("/fsx"), "the other one is in order: {said}");
    };
    let write = |name: &str, text: &str| fs::write(repository.join(name), text).unwrap();
    write("hooks/pre-commit", "#!/bin/sh\n");
    find(&["problem  hooks/pre-commit may not be executed: every commit fails", "chmod +x"]);
    fs::remove_file(repository.join("hooks/pre-commit")).unwrap();
    write("conf/rules.toml", "format = 1\nrule = 2\n");
    find(&["problem  no commit is possible: ", "rules.toml', line 2"]);
    fs::remove_file(repository.join("conf/rules.toml")).unwrap();
    write("conf/svnserve.conf", "[general]\nauthz-db = authz\npassword-db = passwd\n");
    write("conf/authz", "[/]\n@nothing = rw\n");
    write("conf/passwd", "[users]\nada = secret\n");
    fs::set_permissions(repository.join("conf/passwd"), fs::Permissions::from_mode(0o644)).unwrap();
    find(&["nothing", "warning  every user of this machine can read the passwords"]);
    fs::set_permissions(repository.join("conf/passwd"), fs::Permissions::from_mode(0o600)).unwrap();
    write("conf/authz", "[/]\nada = rw\n");
    assert_eq!(doctor(&[Path::new("-q"), &repository]), (0, String::new()));
    write("db/txn-protorevs/7-7.rev", "");
    find(&["1 files were left by processes", "svnadmin lstxns"]);
    fs::remove_file(repository.join("db/txn-protorevs/7-7.rev")).unwrap();
    write("db/format", "999\n");
    find(&["problem  it cannot be opened: ", "999"]);
}

#[test]
fn paths_without_repositories_and_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (code, said) = doctor(&[at, &at.join("missing")]);
    assert!(code == 1 && said.contains("there is no repository in it"), "{said}");
    assert!(said.contains("problem  it cannot be read: "), "{said}");
    assert_eq!(doctor(&[]).0, 1, "something has to be looked at");
    let repos = at.join("repos");
    fs::create_dir(&repos).unwrap();
    create(&repos.join("one"), &[]);
    let config = at.join("sapwood.toml");
    let check = |text: &str| {
        fs::write(&config, text).unwrap();
        doctor(&[Path::new("--config"), &config])
    };
    let (code, said) = check("path = 'repos'\nlisten = '127.0.0.1'\n");
    assert!(code == 0 && said.contains("the configuration is sound"), "{said}");
    assert!(said.contains("repos/one\n") && said.contains("FSFS format 8"), "{said}");
    let (code, said) = check("path = 'repos'\nlisten = '127.0.0.1'\nrules = 'missing'\n");
    assert!(code == 1 && said.contains("sapwood.toml:3: "), "{said}");
    // A certificate of a day ago.
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    params.not_after = rcgen::date_time_ymd(2026, 1, 1);
    fs::write(at.join("c.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(at.join("k.pem"), key.serialize_pem()).unwrap();
    let tls =
        "path = 'repos'\nlisten = '127.0.0.1'\ntls-certificate = 'c.pem'\ntls-key = 'k.pem'\n";
    let (code, said) = check(tls);
    assert!(code == 1 && said.contains("has ended"), "{said}");
}
