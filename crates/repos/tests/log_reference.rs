//! Logs compared with `svn log --xml` of the reference, on scripted and random histories. Over
//! svn://, because svnserve and the file: access differ in lists of merged revisions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::{Everything, LogRequest, Repository, RevpropSelection, log};
use sapwood_testkit::programs::Programs;
use sapwood_testkit::repository::{Repository as Fixture, Shape};
use sapwood_testkit::server::Server;
use sapwood_testkit::{fspath, long};

/// One line an entry, ` end` lines for the ends of merged lists; changed paths sorted.
fn ours(repository: &Repository, request: &LogRequest<'_>) -> String {
    let mut out = String::new();
    let result = log(repository, request, &Everything, &CancelToken::new(), &mut |entry| {
        let Some(revision) = entry.revision else {
            out.push_str(" end\n");
            return Ok(());
        };
        // The reference's client passes over revision 0 when it has no message.
        if revision == Revnum::ZERO && entry.revprop("svn:log").is_none() {
            return Ok(());
        }
        write!(out, "r{revision}").unwrap();
        if entry.subtractive_merge {
            out.push_str(" reverse");
        }
        for name in ["svn:author", "svn:date", "svn:log"] {
            if let Some(value) = entry.revprop(name) {
                write!(out, " {name}={:?}", String::from_utf8_lossy(value)).unwrap();
            }
        }
        // The reference's client keeps the last change of a path.
        let paths: BTreeMap<String, String> = entry
            .changes()
            .map(|c| {
                let action = char::from(c.action);
                let from = c.copy_from.map(|(p, r)| format!(" from {p}@{r}")).unwrap_or_default();
                let kind = c.kind.map_or("", |k| k.word());
                let mods = format!("{}{}", c.text_mod, c.prop_mod);
                (format!(" {} ", c.path), format!("{action}{kind} {mods}{from}"))
            })
            .collect();
        paths.iter().for_each(|(path, change)| out.extend([path.as_str(), change]));
        out.push_str(if entry.has_children { " {\n" } else { "\n" });
        Ok(())
    });
    if let Err(e) = result {
        let e = sapwood_core::SvnError::from(e);
        write!(out, "{}", e.code()).unwrap();
    }
    out
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#13;", "\r")
        .replace("&amp;", "&")
}

/// The same form out of the reference's XML.
fn theirs(xml: &str) -> String {
    let mut out = String::new();
    let mut paths: Vec<String> = Vec::new();
    // Whether the line of the entry at each depth was ended.
    let mut ended: Vec<bool> = Vec::new();
    let flush = |out: &mut String, paths: &mut Vec<String>| {
        paths.sort();
        out.push_str(&paths.concat());
        paths.clear();
    };
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        let (name, attributes) = tag.split_once(['\n', ' ']).unwrap_or((tag, ""));
        let attribute = |wanted: &str| {
            let start = attributes.find(&format!("{wanted}=\""))? + wanted.len() + 2;
            let rest = &attributes[start..];
            Some(unescape(&rest[..rest.find('"')?]))
        };
        match name {
            "logentry" => {
                if let Some(last) = ended.last_mut()
                    && !*last
                {
                    *last = true;
                    flush(&mut out, &mut paths);
                    out.push_str(" {\n");
                }
                ended.push(false);
                write!(out, "r{}", attribute("revision").unwrap()).unwrap();
                if attribute("reverse-merge").as_deref() == Some("true") {
                    out.push_str(" reverse");
                }
            }
            "author" | "date" => write!(out, " svn:{name}={:?}", unescape(text)).unwrap(),
            "msg" if !text.is_empty() => write!(out, " svn:log={:?}", unescape(text)).unwrap(),
            "path" => {
                let from = attribute("copyfrom-path")
                    .map(|p| format!(" from {p}@{}", attribute("copyfrom-rev").unwrap()));
                let mods = format!(
                    "{}{}",
                    attribute("text-mods").unwrap(),
                    attribute("prop-mods").unwrap()
                );
                paths.push(format!(
                    " {} {}{} {mods}{}",
                    unescape(text),
                    attribute("action").unwrap(),
                    attribute("kind").unwrap(),
                    from.unwrap_or_default()
                ));
            }
            "/logentry" => {
                if ended.pop() == Some(true) {
                    out.push_str(" end\n");
                } else {
                    flush(&mut out, &mut paths);
                    out.push('\n');
                }
            }
            _ => {}
        }
    }
    out
}

/// Our log without lists of merged revisions that are empty, which XML does not show.
fn without_empty_lists(log: &str) -> String {
    log.replace(" {\n end\n", "\n")
}

fn open(fixture: &Fixture) -> Repository {
    let caches = Caches::new(64 << 20);
    Repository::open(&fixture.path(), &caches, &OpenOptions::default()).unwrap()
}

/// Compares the logs of `path` in `peg` in all ways of asking.
fn compare(fixture: &Fixture, server: &Server, repository: &Repository, path: &str, peg: u64) {
    let reference = Programs::reference();
    for options in ["", "g", "s", "l", "r", "gr", "gl", "grl"] {
        let has = |c: char| options.contains(c);
        if has('g') && repository.fs().format().number < 3 {
            // Not known in old formats.
            continue;
        }
        let range = if has('r') { format!("0:{peg}") } else { format!("{peg}:0") };
        let url = format!("{}{path}@{peg}", server.url("repo"));
        let mut args = vec!["log", "--xml", "-v", "-r", &range, &url];
        for (c, words) in [('g', &["-g"][..]), ('s', &["--stop-on-copy"]), ('l', &["-l", "3"])] {
            if has(c) {
                args.extend(words);
            }
        }
        let output = reference.run("svn", &args);
        let stderr = output.stderr_text();
        let (start, end) = if has('r') { (0, peg) } else { (peg, 0) };
        let request = LogRequest {
            paths: &[fspath(path)],
            start: Some(Revnum(start)),
            end: Some(Revnum(end)),
            limit: if has('l') { 3 } else { 0 },
            changed_paths: true,
            strict_node_history: has('s'),
            include_merged_revisions: has('g'),
            revprops: RevpropSelection::Names(&["svn:author", "svn:date", "svn:log"]),
        };
        let ours = without_empty_lists(&ours(repository, &request));
        if stderr.is_empty() {
            let theirs = theirs(&output.stdout_text());
            let differ = |(a, b): &(&str, &str)| a != b;
            let pair = ours.lines().chain([""]).zip(theirs.lines().chain([""])).find(differ);
            assert_eq!(pair, None, "{args:?} {}: first difference", fixture.name());
            assert_eq!(ours.len(), theirs.len(), "{args:?} {}", fixture.name());
        } else {
            assert!(ours.contains('E'), "{args:?}: {stderr}\n{ours}");
        }
    }
}

/// Paths with a revision in which they are, a few of every sort.
fn places(fixture: &Fixture) -> Vec<(String, u64)> {
    let reference = Programs::reference();
    let youngest = u64::try_from(fixture.history.youngest()).unwrap();
    let mut out = vec![("/".to_owned(), youngest)];
    for peg in [youngest, youngest / 2] {
        let url = format!("{}@{peg}", fixture.url());
        let listing = reference.run("svn", ["ls", "-R", &url]).stdout_text();
        let names: Vec<&str> = listing.lines().collect();
        let step = (names.len() / 12).max(1);
        out.extend(
            names
                .iter()
                .step_by(step)
                .filter(|n| !n.contains(['%', '#', '?']) && n.is_ascii())
                .map(|n| (format!("/{}", n.trim_end_matches('/')), peg)),
        );
    }
    out
}

#[test]
fn scripted_history() {
    let all = [Shape::new("1.10"), Shape::new("1.8").shard(7), Shape::new("1.1")];
    for shape in &all[..if long() { all.len() } else { 1 }] {
        let fixture = Fixture::scripted(shape);
        let repository = open(&fixture);
        let server = Server::start(&Programs::reference(), fixture.parent(), &[]);
        for (path, peg) in places(&fixture) {
            compare(&fixture, &server, &repository, &path, peg);
        }
    }
}

#[test]
fn random_histories() {
    for seed in 1..=if long() { 3 } else { 1 } {
        let fixture = Fixture::random(&Shape::new("1.10"), seed, 80);
        let repository = open(&fixture);
        let server = Server::start(&Programs::reference(), fixture.parent(), &[]);
        for (path, peg) in places(&fixture) {
            compare(&fixture, &server, &repository, &path, peg);
        }
    }
}
