//! Locks on paths of an FSX repository, over svn:// and http:// of our server, beside the reference's svnserve: taken, refused,
//! stolen, broken, needed by commits and released by them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use sapwood_testkit::server::{Server, free_port};
use sapwood_testkit::{Output, Programs};

use crate::common::Both;
use crate::fsx::{create, is_whole};

const FILES: [(&str, &str); 2] = [
    ("svnserve.conf", "[general]\npassword-db = passwd\n"),
    ("passwd", "[users]\nharry = secret\nsally = secret\n"),
];

/// Our server for both protocols.
struct Ours(Child);

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ours {
    /// The server, and the URLs of the repository over svn and http.
    fn start(programs: &Programs, repo: &Path) -> (Self, [String; 2]) {
        let (svn, http) = (free_port(), free_port());
        let mut command = programs.command("sapwood");
        command.arg("serve").arg(repo).args(["--port", &svn.to_string()]);
        command.args(["--http-port", &http.to_string()]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let urls = [("svn", svn), ("http", http)]
            .map(|(scheme, port)| format!("{scheme}://127.0.0.1:{port}/repo"));
        assert!(lines.any(|line| line.unwrap().trim() == urls[1]), "the address is printed");
        std::thread::spawn(move || lines.for_each(drop));
        (Self(child), urls)
    }
}

/// A repository with two files, open to two users.
fn make(repo: &Path) {
    create(repo);
    for (name, text) in FILES {
        std::fs::write(repo.join("conf").join(name), text).unwrap();
    }
    let text = repo.join("text");
    std::fs::write(&text, "text\n").unwrap();
    let (url, text) = (format!("file://{}", repo.display()), text.to_str().unwrap());
    let layout = ["mkdir", "d", "put", text, "d/f", "put", text, "d/g"];
    let args = [&["-U", &url, "-m", "layout"], &layout[..]].concat();
    Programs::reference().run("svnmucc", args).expect_success("layout");
}

/// What is done, by whom, and whether it is allowed.
const STEPS: [(&str, &str, bool); 15] = [
    ("harry", "svn lock -m why URL/d/f", true),
    ("sally", "svn lock URL/d/f", false),
    ("sally", "svn info URL/d/f", true),
    ("sally", "svnmucc -m m -U URL put TEXT d/f", false),
    ("harry", "svnmucc -m m -U URL put TEXT d/f", false),
    ("sally", "svnmucc -m m -U URL rm d", false),
    ("sally", "svnmucc -m m -U URL put TEXT d/g", true),
    ("sally", "svn unlock URL/d/f", false),
    ("sally", "svn lock --force -m stolen URL/d/f", true),
    ("harry", "svn info URL/d/f", true),
    ("harry", "svn unlock --force URL/d/f", true),
    ("harry", "svn lock URL/d/f URL/d/g", true),
    ("harry", "svn lock URL/d/none", false),
    ("harry", "svn unlock URL/d/g URL/d/f", true),
    ("sally", "svnmucc -m m -U URL put TEXT d/f", true),
];

/// What changes from run to run is left out of what a step says.
fn said(output: &Output, url: &str) -> (i32, Vec<String>) {
    let output = output.replacing(url, "URL");
    let text = output.stdout_text() + &output.stderr_text();
    let is_kept = |line: &&str| {
        !["Lock Token", "Lock Created", "Repository UUID", "Last Changed Date", "r"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    // The filesystem's UUID stands behind this.
    let named = |line: &str| line.split(" in filesystem '").next().unwrap().to_owned();
    let mut lines: Vec<String> = text.lines().filter(is_kept).map(named).collect();
    lines.sort();
    (output.code, lines)
}

fn steps(programs: &Programs, repo: &Path, url: &str) -> Vec<(i32, Vec<String>)> {
    let text = repo.join("text");
    let mut all = Vec::new();
    for (step, (user, command, allowed)) in STEPS.iter().enumerate() {
        std::fs::write(&text, format!("text of step {step}\n")).unwrap();
        let mut args: Vec<String> = command
            .split(' ')
            .map(|arg| arg.replace("URL", url).replace("TEXT", text.to_str().unwrap()))
            .collect();
        let program = args.remove(0);
        for arg in ["--username", user, "--password", "secret"] {
            args.push(arg.to_owned());
        }
        args.extend(["--non-interactive", "--no-auth-cache"].map(str::to_owned));
        let output = programs.run(&program, &args);
        assert_eq!(output.code == 0, *allowed, "{url}: {command}: {}", output.stderr_text());
        all.push(said(&output, url));
    }
    all
}

/// A working copy's locks: a commit keeps or releases them.
fn in_a_working_copy(programs: &Programs, folder: &Path, repo: &Path, url: &str) {
    let wc = folder.join("wc");
    let (wc_arg, file) = (wc.to_str().unwrap(), wc.join("f"));
    let svn = |args: &[&str]| {
        let user = ["--username", "harry", "--password", "secret", "--non-interactive"];
        let output = programs.run("svn", [args, &user, &["--no-auth-cache"]].concat());
        output.expect_success(&format!("{url}: svn {args:?}")).stdout_text()
    };
    let locks = || programs.run("svnadmin", ["lslocks", repo.to_str().unwrap()]).stdout_text();
    svn(&["checkout", "-q", &format!("{url}/d"), wc_arg]);
    svn(&["lock", "-q", file.to_str().unwrap(), wc.join("g").to_str().unwrap()]);
    for (text, options, left) in
        [("kept\n", &["--no-unlock"][..], ["/d/f", "/d/g"]), ("released\n", &[], ["/d/g", "/d/g"])]
    {
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        svn(&[&["commit", "-q", "-m", "by the owner"], options, &[file]].concat());
        let locks = locks();
        assert!(left.iter().all(|path| locks.contains(&format!("Path: {path}\n"))), "{locks}");
        assert_eq!(locks.contains("Path: /d/f\n"), left[0] == "/d/f", "{locks}");
    }
    svn(&["unlock", "-q", wc.join("g").to_str().unwrap()]);
    assert_eq!(locks(), "");
    std::fs::remove_dir_all(&wc).unwrap();
}

#[test]
fn locks_over_svn_and_http_are_those_of_the_reference() {
    let both = Both::new();
    let theirs = tempfile::tempdir().unwrap();
    let repo = theirs.path().join("repo");
    make(&repo);
    let server = Server::start(&both.reference, theirs.path(), &[]);
    let expected = steps(&both.reference, &repo, &server.url("repo"));
    for client in [&both.ours, &both.reference] {
        for scheme in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let repo = folder.path().join("repo");
            make(&repo);
            let (_server, urls) = Ours::start(&both.ours, &repo);
            let found = steps(client, &repo, &urls[scheme]);
            for ((found, expected), step) in found.iter().zip(&expected).zip(STEPS) {
                // Over http other sentences say the same.
                match scheme {
                    0 => assert_eq!(found, expected, "{step:?}"),
                    _ => assert_eq!(found.0, expected.0, "{step:?}"),
                }
            }
            in_a_working_copy(client, folder.path(), &repo, &urls[scheme]);
            is_whole(&both, &repo);
        }
    }
}
