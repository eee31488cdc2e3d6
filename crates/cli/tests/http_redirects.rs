//! `svn` and a repository whose server says that it has moved: followed where 1.14 follows, told
//! where 1.14 does not. Both programs ask the same server.

use crate::common::places;

use std::path::Path;
use std::process::Output;

use places::Served;
use sapwood_testkit::Programs;

/// A repository at `/svn/repo`, and places that send the client on to it.
const PLACES: &str = r#"
[[location]]
url = "/svn"
folder = "."
[[redirect]]
from = "/old/"
to = "/svn/"
permanent = true
[[redirect]]
from = "/older/"
to = "/old/"
permanent = true
[[redirect]]
from = "/away/"
to = "/svn/"
[[redirect]]
from = "/round/"
to = "/round/"
permanent = true
"#;

impl Served {
    fn url(&self, place: &str) -> String {
        format!("http://127.0.0.1:{}/{place}/repo", self.port)
    }

    /// Runs a program below the repository's folder: `(exit code, output, errors)`, with the port
    /// taken out.
    fn run(&self, programs: &Programs, args: &[&str]) -> (i32, String, String) {
        let output: Output = programs
            .command("svn")
            .args(["--non-interactive", "--config-dir"])
            .arg(self.repo.parent().join("config"))
            .args(args)
            .current_dir(self.repo.parent())
            .env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_RELOCATE_VALIDATION", "yes")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&format!(":{}/", self.port), ":PORT/")
        };
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }
}

fn url_of(served: &Served, wc: &Path) -> String {
    let wc = wc.to_string_lossy();
    let shown = served.run(&Programs::ours(), &["info", "--show-item", "url", &wc]);
    assert_eq!(shown.0, 0, "{}", shown.2);
    shown.1.trim().to_owned()
}

#[test]
fn what_is_said_is_as_the_reference_says() {
    let served = Served::start(PLACES);
    let (ours, theirs) = (Programs::ours(), Programs::reference());
    for place in ["old", "older", "away", "round"] {
        let url = served.url(place);
        let trunk = format!("{url}/trunk");
        let copy = format!("{url}/copy");
        for args in [
            &["ls", trunk.as_str()][..],
            &["log", "-q", &trunk],
            &["info", &trunk],
            &["propget", "svn:ignore", &trunk],
            &["export", "--force", &trunk, "exported"],
            &["mkdir", "-m", "no", &copy],
            &["cp", "-m", "no", &trunk, &copy],
            &["rm", "-m", "no", &trunk],
        ] {
            let expected = served.run(&theirs, args);
            assert_eq!(served.run(&ours, args), expected, "{args:?}");
        }
    }
}

#[test]
fn working_copies_come_to_know_the_new_place() {
    let served = Served::start(PLACES);
    let ours = Programs::ours();
    let wc = served.repo.parent().join("wc");
    let path = wc.to_string_lossy().into_owned();
    let sub = format!("{path}/trunk");
    let (code, out, err) = served.run(&ours, &["checkout", &served.url("old"), &path]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("Redirecting to URL 'http://127.0.0.1:PORT/svn/repo':\n"), "{out}");
    assert_eq!(url_of(&served, &wc), "http://127.0.0.1:PORT/svn/repo");
    // Its server moves: the root, and a directory alone, whose update relocates the whole.
    for target in [&path, &sub] {
        let relocated =
            served.run(&ours, &["relocate", &served.url("svn"), &served.url("older"), &path]);
        assert_eq!(relocated.0, 0, "{}", relocated.2);
        assert_eq!(url_of(&served, &wc), "http://127.0.0.1:PORT/older/repo");
        let (code, out, err) = served.run(&ours, &["update", target]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.starts_with("Updating '"), "{out}");
        assert!(out.contains("Redirecting to URL 'http://127.0.0.1:PORT/svn/repo"), "{out}");
        assert_eq!(url_of(&served, &wc), "http://127.0.0.1:PORT/svn/repo");
    }
}
