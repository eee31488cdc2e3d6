//! Random commits over http whose requests go out together, many of which fail: the same message, exit code and repository
//! as of commits whose requests wait for each other, by our server and by httpd.
//!
//! `SAPWOOD_LONG=1` makes 2,000 commits at each server, `SAPWOOD_COMMITS=N` so many; `SAPWOOD_SEED` is the seed.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_testkit::rng::Rng;
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, long};

use crate::common::faults::{Fault, Plan, Proxy, without_names};
use crate::common::httpd::{self, Httpd};
use crate::common::places::{LOGIN_PLACE, Served, USERS, svn_as_ada};

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// What comes of a commit.
struct Outcome {
    /// The exit code, what was said, and the youngest revision after it.
    said: (i32, String, String),
    /// Whether the fault met a request.
    is_struck: bool,
}

/// A repository and a working copy, behind a proxy.
struct Side {
    proxy: Proxy,
    repo: PathBuf,
    wc: PathBuf,
}

impl Side {
    /// In a folder that a server at `port` serves as `/svn`.
    fn new(folder: &Path, port: u16, name: &str, closes: bool) -> Self {
        let proxy = Proxy::start(port, closes);
        let url = format!("http://127.0.0.1:{}/svn/{name}", proxy.port);
        let wc = folder.join(format!("wc-{name}"));
        svn_as_ada(&["checkout", "-q", &url, wc.to_str().unwrap()]).expect_success("checkout");
        Self { proxy, repo: folder.join(name), wc }
    }

    /// What this side says, without what is its own.
    fn same(&self, said: &str) -> String {
        let name = self.repo.file_name().unwrap().to_str().unwrap();
        let said = said.replace(&format!(":{}/", self.proxy.port), ":PORT/");
        let said = said.replace(self.wc.to_str().unwrap(), "WC");
        let said = said.replace(&format!("/svn/{name}"), "/svn/REPO");
        without_names(&said, "/!svn/txr/")
    }

    /// Runs our `svn` in the working copy: its exit code, and what it says.
    fn svn(&self, args: &[String]) -> (i32, String) {
        let mut words: Vec<String> = args.to_vec();
        for word in &mut words {
            *word = word.replace("WC/", &format!("{}/", self.wc.display()));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = svn_as_ada(&words);
        (output.code, self.same(&output.stderr_text()))
    }

    fn commit(&self, plan: Option<Plan>) -> Outcome {
        *self.proxy.plan.lock().unwrap() = plan;
        self.proxy.log.lock().unwrap().clear();
        // Only a reply that never comes is given up soon: on a busy machine one that does may take seconds.
        let is_silent = matches!(plan, Some(Plan { fault: Fault::Silence, .. }));
        let patience = format!("servers:global:http-timeout={}", if is_silent { 3 } else { 60 });
        let words = ["commit", "-q", "-m", "all", "WC/", "--config-option"].map(str::to_owned);
        let (code, said) = self.svn(&[&words[..], &[patience]].concat());
        let is_struck = self.proxy.plan.lock().unwrap().take().is_some_and(|plan| plan.done);
        Outcome { said: (code, said, self.youngest()), is_struck }
    }

    fn youngest(&self) -> String {
        let current = fs::read_to_string(self.repo.join("db/current")).unwrap();
        current.split_whitespace().next().unwrap().to_owned()
    }

    /// Everything below the working copy, as paths below it: folders end with a slash.
    fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.wc.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                let below = path.strip_prefix(&self.wc).unwrap().to_str().unwrap().to_owned();
                if below == ".svn" {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    found.push(below + "/");
                    open.push(path);
                } else {
                    found.push(below);
                }
            }
        }
        found.sort();
        found
    }
}

/// A change of the disk, by path and text; then words for `svn`.
#[derive(Debug, Default)]
struct Change {
    append: Option<(String, String)>,
    mkdir: Option<String>,
    words: Vec<String>,
}

/// One random change of what is there.
fn change(rng: &mut Rng, paths: &[String], number: usize) -> Change {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (folders, files): (Vec<&String>, Vec<&String>) =
        paths.iter().partition(|path| path.ends_with('/'));
    let folder = match folders.is_empty() {
        true => "",
        false => rng.pick(&folders).as_str(),
    };
    let new = format!("{folder}n{number}");
    let at = format!("WC/{new}");
    let old = match paths.is_empty() {
        true => String::new(),
        false => format!("WC/{}", rng.pick(paths)),
    };
    let text = format!("text {number}\n");
    let kind = if files.len() < 4 { 0 } else { rng.below(10) };
    match kind {
        0 | 1 => Change {
            append: Some((new, text)),
            words: words(&["add", "-q", "--parents", &at]),
            ..Change::default()
        },
        2..=4 => Change { append: Some(((*rng.pick(&files)).clone(), text)), ..Change::default() },
        5 if folders.len() < 12 => Change {
            mkdir: Some(new),
            words: words(&["add", "-q", "--parents", &at]),
            ..Change::default()
        },
        6 => Change { words: words(&["delete", "-q", "--force", &old]), ..Change::default() },
        7 => Change { words: words(&["copy", "-q", &old, &at]), ..Change::default() },
        8 => Change { words: words(&["move", "-q", &old, &at]), ..Change::default() },
        _ => {
            let value = format!("v{number}");
            Change { words: words(&["propset", "-q", "p", &value, &old]), ..Change::default() }
        }
    }
}

/// Makes a change on a side.
fn make(side: &Side, change: &Change) -> (i32, String) {
    use std::io::Write as _;
    if let Some((path, text)) = &change.append {
        let file = fs::OpenOptions::new().create(true).append(true).open(side.wc.join(path));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }
    if let Some(path) = &change.mkdir {
        fs::create_dir(side.wc.join(path)).unwrap();
    }
    if change.words.is_empty() { (0, String::new()) } else { side.svn(&change.words) }
}

/// A request that fails, or none.
fn plan(rng: &mut Rng) -> Option<Plan> {
    if rng.chance(40) {
        return None;
    }
    let fault = match rng.below(40) {
        0 => Fault::Silence,
        n if n < 10 => Fault::Close,
        _ => Fault::Status(*rng.pick(&[403, 404, 409, 412, 423, 500])),
    };
    Some(Plan { left: rng.below(6), fault, done: false })
}

/// What was counted.
#[derive(Debug, Default)]
struct Counts {
    commits: usize,
    failed: usize,
    faults: usize,
    revisions: u64,
}

impl Counts {
    /// Whether there was something to compare: faults that met requests, and commits that were made all the same.
    fn are_of_use(&self) -> bool {
        let made = usize::try_from(self.revisions).unwrap();
        self.faults >= self.commits / 5 && self.failed >= self.faults && made >= self.commits / 4
    }
}

/// Makes random commits on two sides, one of which sends requests together.
fn walk(folder: &Path, port: u16, seed: u64, commits: usize) -> Counts {
    let together = Side::new(folder, port, "together", false);
    let single = Side::new(folder, port, "single", true);
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    let mut number = 0;
    while counts.commits < commits {
        for _ in 0..rng.between(2, 6) {
            number += 1;
            let change = change(&mut rng, &together.paths(), number);
            assert_eq!(make(&together, &change), make(&single, &change), "{seed}: {change:?}");
        }
        let plan = plan(&mut rng);
        let (found, expected) = (together.commit(plan), single.commit(plan));
        let requests = |side: &Side| side.proxy.log.lock().unwrap().join("\n");
        assert_eq!(
            found.said,
            expected.said,
            "{seed}: commit {}, {plan:?}\ntogether:\n{}\nsingle:\n{}",
            counts.commits,
            requests(&together),
            requests(&single)
        );
        // Requests behind one that the server refuses are on their way when they go out together.
        assert!(found.is_struck || !expected.is_struck, "{seed}: {plan:?}");
        let code = expected.said.0;
        counts.commits += 1;
        counts.failed += usize::from(code != 0);
        counts.faults += usize::from(expected.is_struck);
        let next: &[&str] = match (code, rng.below(4)) {
            (0, 0 | 1) => &["update", "-q", "WC/"],
            (0, _) | (_, 0..=2) => &[],
            _ => &["revert", "-q", "-R", "--remove-added", "WC/"],
        };
        let words: Vec<String> = next.iter().map(|word| (*word).to_owned()).collect();
        if !words.is_empty() {
            assert_eq!(together.svn(&words), single.svn(&words), "{seed}: {words:?}");
        }
        assert_eq!(together.paths(), single.paths(), "{seed}: after {}", counts.commits);
    }
    counts.revisions = together.youngest().parse().unwrap();
    for revision in 0..=counts.revisions {
        let changed = |side: &Side| {
            let (repo, revision) = (side.repo.to_str().unwrap(), revision.to_string());
            let args = ["changed", "--copy-info", "-r", &revision, repo];
            Programs::reference().run("svnlook", args).expect_success("svnlook").stdout_text()
        };
        assert_eq!(changed(&together), changed(&single), "{seed}: r{revision}");
    }
    counts
}

fn create(folder: &Path) {
    for name in ["together", "single"] {
        let path = folder.join(name);
        let made = Programs::reference().run("svnadmin", ["create", path.to_str().unwrap()]);
        made.expect_success("create");
    }
}

/// How many commits.
fn commits(short: u64) -> usize {
    let wanted = number("SAPWOOD_COMMITS", if long() { 2000 } else { short });
    usize::try_from(wanted).unwrap()
}

#[test]
fn random_commits_with_failures_at_our_server() {
    let served = Served::start(LOGIN_PLACE);
    let folder = served.repo.parent();
    create(folder);
    let counts = walk(folder, served.port, number("SAPWOOD_SEED", 32), commits(10));
    eprintln!("our server: {counts:?}");
    assert!(counts.are_of_use(), "{counts:?}");
}

#[test]
fn random_commits_with_failures_at_httpd() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, port) = (folder.path(), free_port());
    create(folder);
    fs::write(folder.join("users"), USERS).unwrap();
    httpd::hand_over(folder);
    let shown = folder.display();
    let conf = httpd::configuration(folder, port, &[])
        + &format!(
            "<Location /svn>\nDAV svn\nSVNParentPath {shown}\nAuthType Basic\nAuthName Ours\n\
             AuthUserFile {shown}/users\n<LimitExcept GET PROPFIND OPTIONS REPORT>\n\
             Require valid-user\n</LimitExcept>\n</Location>\n"
        );
    let _httpd = Httpd::start(folder, port, &conf);
    let counts = walk(folder, port, number("SAPWOOD_SEED", 33), commits(10));
    eprintln!("httpd: {counts:?}");
    assert!(counts.are_of_use(), "{counts:?}");
}
