//! The command line: what is wrong with it is told in the reference's words.

use sapwood_testkit::{Output, Programs};

/// What a program says of a command line. Its own name in the hint at the help depends on how it
/// was called.
fn told(programs: &Programs, args: &[&str]) -> Output {
    let path = programs.path("svnserve");
    programs.run("svnserve", args).replacing(path.to_str().unwrap(), "svnserve")
}

#[test]
fn mistakes_are_told_as_the_reference_tells_them() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    for args in [
        &[][..],
        &["-d", "-i"],
        &["-d", "-T", "--single-thread"],
        &["--bogus"],
        &["-Z"],
        &["-r"],
        &["--root"],
        &["--daemon=1"],
        &["-d", "more"],
        &["-d", "-r", "/no/such/folder"],
        &["-d", "--listen-port", "abc"],
        &["-d", "--listen-port", "70000"],
        &["-d", "-M", "much"],
        &["-i", "--tunnel-user", "ada"],
        &["-i", "--config-file", "/no/such/file"],
        &["-i", "--log-file", "/no/such/folder/file"],
        &["-X", "--listen-host", "256.256.256.256.invalid"],
    ] {
        let (a, b) = (told(&reference, args), told(&ours, args));
        if args.contains(&"--listen-host") {
            // The resolver's own number differs; the sentence begins the same.
            assert_eq!(a.code, b.code);
            for out in [&a, &b] {
                assert!(out.stderr_text().contains("Can't get address info: "), "{out:?}");
            }
            continue;
        }
        assert_eq!(a, b, "svnserve {args:?}");
    }
}

#[test]
fn a_taken_port_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let args = ["-d", "--listen-host", "127.0.0.1", "--listen-port", &port];
    let (reference, ours) = (Programs::reference(), Programs::ours());
    assert_eq!(told(&reference, &args), told(&ours, &args));
}

#[test]
fn help_names_every_option_of_the_reference() {
    let options = |programs: &Programs| -> Vec<String> {
        let help = programs.run("svnserve", ["--help"]).expect_success("--help").stdout_text();
        help.lines()
            .filter(|line| line.starts_with("  -"))
            .map(|line| line.split(" :").next().unwrap().trim().to_owned())
            .collect()
    };
    assert_eq!(options(&Programs::reference()), options(&Programs::ours()));
    let version = Programs::ours().run("svnserve", ["--version", "-q"]);
    assert!(version.expect_success("--version").stdout_text().starts_with("1.14."));
}
