//! Pages of a small repository: what they show, to whom, and what they escape.

use std::sync::Arc;

use sapwood_core::{CancelToken, FsPath, Revnum, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{Caches, LockOptions, LockTarget, OpenOptions};
use sapwood_repos::authorizer::Everything;
use sapwood_repos::create::create;
use sapwood_repos::{PathAuthorizer, Repository, SharedAuthorizer};
use sapwood_search::{Index, Scope};
use serde_json::Value;

use crate::budget::Budget;
use crate::site::Visitor;
use crate::{Address, Fault, Links, Prefix, Reply, Request, View, words};

mod archives;
mod blames;
mod differences;
mod encodings;
mod graphs;
mod histories;
mod media;
mod merges;
mod repositories;
mod revisions;
mod scripts;
mod searches;

/// Hides one path and what is below it.
struct Hides(&'static str);

impl PathAuthorizer for Hides {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(!path.is_at_or_below(FsPath::trusted(self.0)))
    }
}

struct Place {
    folder: tempfile::TempDir,
    repository: Repository,
}

/// A name, a message and a text that are markup, and the same as it has to stand in a page.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&";
const ESCAPED: &str = "&lt;img src=x onerror=alert(1)&gt;";

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repo");
        create(&path, &Default::default()).unwrap();
        let repository =
            Repository::open(&path, &Caches::new(4 << 20), &OpenOptions::default()).unwrap();
        let place = Self { folder, repository };
        place.commit("first things\n\nwith more", |txn| {
            txn.make_dir(FsPath::trusted("/trunk")).unwrap();
            txn.make_dir(FsPath::trusted("/secret")).unwrap();
            file(txn, "/trunk/code.c", "one\ntwo\nthree\n");
            file(txn, "/trunk/README.md", "# Hello\n\n<script>x</script>\n");
            file(txn, "/secret/plan", "the hidden plan\n");
        });
        place.commit(HOSTILE, |txn| {
            file(txn, &format!("/trunk/{HOSTILE}"), HOSTILE);
            text(txn, "/trunk/code.c", "one\n2 < 3\nthree\n");
            txn.change_prop(FsPath::trusted("/trunk/code.c"), HOSTILE, Some(HOSTILE.as_bytes()))
                .unwrap();
        });
        place.commit("only the secret", |txn| text(txn, "/secret/plan", "another plan\n"));
        place
    }

    fn commit(&self, message: &str, change: impl FnOnce(&mut sapwood_fs::txn::Txn)) {
        let fs = self.repository.fs();
        let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
        let writer: Arc<Writer> = Writer::new(fs, options).unwrap();
        let mut txn = writer.begin(fs.youngest().unwrap()).unwrap();
        txn.props_mut().set("svn:log", message);
        txn.props_mut().set("svn:author", "ada");
        change(&mut txn);
        txn.commit().unwrap();
    }

    /// Makes the search index of everything that is there now.
    fn search_index(&self) {
        let (scope, cancel) = (Scope::default(), CancelToken::new());
        let mut index =
            Index::up_to_date(self.folder.path(), &self.repository, &scope, &cancel).unwrap();
        while index.older(&self.repository, &scope, &cancel).unwrap() {}
    }

    fn ask(&self, access: &dyn PathAuthorizer, rest: &str) -> Result<Reply, Fault> {
        self.with(access, rest, crate::answer)
    }

    fn with<T>(
        &self,
        access: &dyn PathAuthorizer,
        rest: &str,
        ask: impl Fn(&Request<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (path, query) = rest.split_once('?').map_or((rest, None), |(p, q)| (p, Some(q)));
        let address = Address::parse(path, query)?.ok_or(Fault::Missing)?;
        let cancel = CancelToken::new();
        let view = View::new(&self.repository, access, &cancel);
        let links = Links::new("/r", Prefix::Short);
        let uuid = self.repository.fs().uuid().unwrap();
        let index = Index::open(&Index::file(self.folder.path(), self.repository.path()), &uuid);
        let index = index.unwrap();
        ask(&Request {
            view: &view,
            address: &address,
            links: &links,
            name: "r",
            now: 2_000_000_000,
            has_search: index.is_some(),
            index: index.as_ref(),
            visitor: &Visitor::default(),
            breaker: None,
        })
    }

    #[track_caller]
    fn body(&self, access: &dyn PathAuthorizer, rest: &str) -> String {
        self.ask(access, rest).unwrap().body
    }
}

/// A page without its colours and marks.
fn plain(page: &str) -> String {
    let page = page.replace("<mark>", "").replace("</mark>", "");
    let mut plain = String::new();
    for (at, part) in page.split("<span class=\"t-").enumerate() {
        match at {
            0 => plain.push_str(part),
            _ => plain.push_str(&part.split_once('>').unwrap().1.replacen("</span>", "", 1)),
        }
    }
    plain
}

fn file(txn: &mut sapwood_fs::txn::Txn, path: &str, contents: &str) {
    txn.make_file(FsPath::trusted(path)).unwrap();
    text(txn, path, contents);
}

fn text(txn: &mut sapwood_fs::txn::Txn, path: &str, contents: &str) {
    txn.set_text(FsPath::trusted(path), &mut contents.as_bytes(), None).unwrap();
}

/// Every kind of page, about the whole of the repository.
const PAGES: [&str; 19] = [
    "/search?q=one&in=changes",
    "/locks/",
    "/graph/",
    "/branches/",
    "/search?q=one",
    "/tree/",
    "/tree/trunk",
    "/tree/trunk/code.c",
    "/tree/trunk/code.c?p=1&l=2",
    "/log/",
    "/log/trunk",
    "/log/?q=things",
    "/rev/1",
    "/rev/2",
    "/rev/3",
    "/blame/trunk/code.c",
    "/compare/trunk?from=1",
    "/compare/?from=1",
    "/feed/",
];

/// The same as JSON, with the names of their schemas.
const VALUES: [(&str, &str); 15] = [
    ("/api/v1/graph/", "Graph"),
    ("/api/v1/diff/2", "RevisionDifferences"),
    ("/api/v1/diff/3", "RevisionDifferences"),
    ("/api/v1/compare/?from=1", "Comparison"),
    ("/api/v1/compare/trunk?from=1", "Comparison"),
    ("/api/v1/branches/", "Branches"),
    ("/api/v1/locks/", "Locks"),
    ("/api/v1/search?q=one", "Hits"),
    ("/api/v1/tree/", "Directory"),
    ("/api/v1/tree/trunk", "Directory"),
    ("/api/v1/tree/trunk/code.c", "File"),
    ("/api/v1/log/", "Log"),
    ("/api/v1/blame/trunk/code.c", "Blame"),
    ("/api/v1/rev/1", "Revision"),
    ("/api/v1/rev/3", "Revision"),
];

/// Whether a value is as a schema of our description says; the path of what is not.
fn misfit(value: &Value, schema: &Value, all: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return misfit(value, &all["components"]["schemas"][name], all, at);
    }
    if let Some(kinds) = schema["oneOf"].as_array() {
        let fits = kinds.iter().any(|kind| misfit(value, kind, all, at).is_none());
        return (!fits).then(|| at.to_owned());
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => return None,
        one => vec![one.clone()],
    };
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.iter().any(|name| name == own) {
        return Some(format!("{at}: {own}"));
    }
    if let (Value::Object(map), Some(known)) = (value, schema["properties"].as_object()) {
        if map.len() != known.len() {
            return Some(format!("{at}: {:?}", map.keys()));
        }
        return known.iter().find_map(|(name, schema)| match map.get(name) {
            Some(value) => misfit(value, schema, all, &format!("{at}/{name}")),
            None => Some(format!("{at}/{name} is missing")),
        });
    }
    let items = value.as_array().into_iter().flatten();
    items
        .enumerate()
        .find_map(|(n, item)| misfit(item, &schema["items"], all, &format!("{at}/{n}")))
}

#[test]
fn values_are_as_they_are_described() {
    let place = Place::new();
    place.search_index();
    let json =
        |page: &str| -> Value { serde_json::from_str(&place.body(&Everything, page)).unwrap() };
    let all = json("/api/v1/openapi.json");
    for (page, schema) in VALUES {
        let schema = &all["components"]["schemas"][schema];
        assert!(schema.is_object());
        assert_eq!(misfit(&json(page), schema, &all, page), None);
    }
    assert!(
        misfit(&json("/api/v1/log/"), &all["components"]["schemas"]["File"], &all, "").is_some()
    );
    assert_eq!(json("/api/v1/rev/2")["message"], HOSTILE);
    let lines = json("/api/v1/blame/trunk/code.c");
    let revisions: Vec<_> =
        lines["lines"].as_array().unwrap().iter().map(|line| &line["revision"]).collect();
    assert_eq!(revisions, [1, 2, 1]);
    // What a text is, a browser may not guess.
    let reply = place.ask(&Everything, "/api/v1/rev/2").unwrap();
    assert!(reply.headers.contains(&("content-type", "application/json".into())));
    assert!(reply.headers.contains(&("x-content-type-options", "nosniff".into())));
}

#[test]
fn pages_show_what_is_there() {
    let place = Place::new();
    let dir = place.body(&Everything, "/tree/trunk");
    assert!(dir.contains("href=\"/r/-/tree/trunk/code.c\""), "{dir}");
    assert!(dir.contains("<h1>Hello</h1>"), "{dir}");
    let file = place.body(&Everything, "/tree/trunk/code.c?p=1&l=2");
    assert!(file.contains("<tr class=\"marked\" id=\"L2\">"), "{file}");
    assert!(plain(&place.body(&Everything, "/tree/trunk/code.c")).contains("2 &lt; 3"));
    let revision = place.body(&Everything, "/rev/2");
    assert!(revision.contains("<tr class=\"del\"><td class=\"n\">2</td>"), "{revision}");
    let blame = place.body(&Everything, "/blame/trunk/code.c");
    let row = |n: u8| blame.split(" id=\"L").nth(n.into()).unwrap();
    assert!(row(1).contains("/r/-/rev/1") && row(2).contains("/r/-/rev/2"), "{blame}");
    assert!(row(3).contains("/r/-/rev/1"), "{blame}");
    // The newest has the strongest colour, and before the oldest there was no file.
    assert!(
        row(2).contains("class=\"who h4\"") && row(2).contains("blame/trunk/code.c?p=1"),
        "{blame}"
    );
    assert!(!row(1).contains("?p=0"), "{blame}");
    let compared = plain(&place.body(&Everything, "/compare/trunk?from=1"));
    assert!(compared.contains("2 &lt; 3") && compared.contains(words::ADDED), "{compared}");
    assert!(place.body(&Everything, "/log/trunk").contains("first things"));
    assert!(
        place.ask(&Everything, "/").unwrap().headers.contains(&("location", "/r/-/tree/".into()))
    );
}

#[test]
fn all_that_is_stored_is_escaped() {
    let place = Place::new();
    let mut seen = 0;
    for page in PAGES {
        let body = place.body(&Everything, page);
        assert!(!body.contains("<img"), "{page}: {body}");
        // There is one script, and it is ours.
        let ours = "<script src=\"/r/-/style/";
        let scripts = body.matches("<script").count();
        assert_eq!(
            (scripts, body.matches(ours).count()),
            (scripts.min(1), scripts),
            "{page}: {body}"
        );
        seen += body.matches(ESCAPED).count();
    }
    assert!(seen > 8, "{seen}");
}

/// What is hidden is not there: no page has a word of it, and its own pages answer as those of what never was.
#[test]
fn what_may_not_be_read_is_not_there() {
    let place = Place::new();
    place.search_index();
    let rules = Hides("/secret");
    for page in PAGES.into_iter().chain(VALUES.map(|(page, _)| page)) {
        let open = place.body(&Everything, page);
        let body = place.body(&rules, page);
        assert!(!body.contains("secret"), "{page}: {body}");
        assert!(!body.contains("plan"), "{page}: {body}");
        // The message of a revision that changed something hidden is hidden too.
        assert!(!body.contains("first things"), "{page}: {body}");
        if matches!(
            page,
            "/tree/"
                | "/rev/1"
                | "/rev/3"
                | "/compare/?from=1"
                | "/feed/"
                | "/api/v1/tree/"
                | "/api/v1/rev/3"
                | "/api/v1/diff/3"
                | "/api/v1/compare/?from=1"
        ) {
            assert!(open.contains("secret"), "{page} shows it to those who may see it");
        }
    }
    let kinds = [
        "media",
        "tree",
        "log",
        "blame",
        "compare",
        "feed",
        "locks",
        "branches",
        "graph",
        "api/v1/branches",
        "api/v1/graph",
        "api/v1/compare",
        "api/v1/tree",
        "api/v1/log",
        "api/v1/blame",
        "api/v1/locks",
    ];
    for kind in kinds {
        for path in ["secret", "secret/plan", "secret/none", "none"] {
            for query in ["", "?p=1", "?p=99", "?p=1&r=3", "?from=1&with=/trunk"] {
                let page = format!("/{kind}/{path}{query}");
                assert!(matches!(place.ask(&rules, &page), Err(Fault::Missing)), "{page}");
                let tag = place.with(&rules, &page, crate::tag);
                assert!(matches!(tag, Err(Fault::Missing)), "{page}");
            }
        }
    }
    for path in ["/secret", "/secret/plan", "/none"] {
        for api in ["", "/api/v1"] {
            let page = format!("{api}/compare/trunk?with={path}&from=1");
            assert!(matches!(place.ask(&rules, &page), Err(Fault::Missing)), "{page}");
        }
    }
    assert!(matches!(place.ask(&Everything, "/rev/99"), Err(Fault::Missing)));
}

/// Work that takes too long is stopped, wherever it is.
#[test]
fn pages_end_when_they_are_stopped() {
    let place = Place::new();
    let stopped = CancelToken::new();
    stopped.cancel();
    let links = Links::new("/r", Prefix::Short).of_server("http://host".to_owned());
    let ask = |cancel: &CancelToken, page: &str| {
        let address = Address::parse(page, None).unwrap().unwrap();
        let view = View::new(&place.repository, &Everything, cancel);
        crate::answer(&Request {
            view: &view,
            address: &address,
            links: &links,
            name: "r",
            now: 0,
            has_search: false,
            index: None,
            visitor: &Visitor::default(),
            breaker: None,
        })
    };
    for page in ["/tree/trunk", "/log/", "/blame/trunk/code.c", "/rev/1", "/feed/"] {
        assert!(matches!(ask(&stopped, page), Err(Fault::TooLong)), "{page}");
    }
    // Links of feeds are read elsewhere.
    assert!(
        ask(&CancelToken::new(), "/feed/").unwrap().body.contains("<id>http://host/r/-/rev/3</id>")
    );
}

/// A revision that changes properties only, and a copy, have made no line.
#[test]
fn blame_passes_over_what_changes_no_line() {
    let place = Place::new();
    let old = place.repository.fs().revision_root(Revnum(3)).unwrap();
    place.commit("a property", |txn| {
        txn.change_prop(FsPath::trusted("/trunk/code.c"), "p", Some(b"v")).unwrap();
    });
    place.commit("a branch", |txn| {
        txn.copy(&old, FsPath::trusted("/trunk"), FsPath::trusted("/branch"), true).unwrap();
    });
    for path in ["trunk", "branch"] {
        let value = place.body(&Everything, &format!("/api/v1/blame/{path}/code.c"));
        let value: Value = serde_json::from_str(&value).unwrap();
        let lines = value["lines"].as_array().unwrap();
        let revisions: Vec<_> = lines.iter().map(|line| &line["revision"]).collect();
        assert_eq!(revisions, [1, 2, 1], "{path}");
    }
}

/// Blame ends where its time does: lines without a revision are older.
#[test]
fn blame_ends_with_its_time() {
    let place = Place::new();
    let ended = place.with(&Everything, "/blame/trunk/code.c", |request| {
        let found = request.view.at(request.address)?;
        let text = b"one\n2 < 3\nthree\n".to_vec();
        crate::blame::walk::walk(request.view, &found, text, &Budget::of_no_time())
    });
    let ended = ended.unwrap();
    assert!(!ended.is_whole && ended.origins.len() == 3);
}

/// What was copied out of a hidden folder has no source, and its history ends there.
#[test]
fn copies_from_hidden_places() {
    let place = Place::new();
    let old = place.repository.fs().revision_root(Revnum(3)).unwrap();
    place.commit("published", |txn| {
        txn.copy(&old, FsPath::trusted("/secret/plan"), FsPath::trusted("/trunk/plan"), true)
            .unwrap();
    });
    let rules = Hides("/secret");
    for page in
        ["/rev/4", "/log/trunk/plan", "/blame/trunk/plan", "/feed/trunk/plan", "/tree/trunk/plan"]
    {
        assert!(!place.body(&rules, page).contains("secret"), "{page}");
    }
    assert!(place.body(&Everything, "/rev/4").contains("/secret/plan"));
    assert!(matches!(place.ask(&rules, "/tree/trunk/plan?p=4&r=2"), Err(Fault::Missing)));
    assert!(place.ask(&Everything, "/tree/trunk/plan?p=4&r=2").is_ok());
}

/// A folder that was copied out of a hidden one and changed: what it was there stays hidden, what it became does not.
#[test]
fn changes_of_copies_from_hidden_places() {
    let place = Place::new();
    let old = place.repository.fs().revision_root(Revnum(3)).unwrap();
    place.commit("published with a change", |txn| {
        txn.copy(&old, FsPath::trusted("/secret"), FsPath::trusted("/first"), true).unwrap();
        text(txn, "/first/plan", "the open text\n");
    });
    place.commit("published as it is", |txn| {
        txn.copy(&old, FsPath::trusted("/secret"), FsPath::trusted("/second"), true).unwrap();
    });
    place.commit("changed later", |txn| {
        text(txn, "/first/plan", "the last text\n");
        text(txn, "/second/plan", "the last text\n");
    });
    let rules = Hides("/secret");
    let published = place.body(&rules, "/rev/4");
    assert!(published.contains("the open text") && !published.contains("another"), "{published}");
    assert!(place.body(&Everything, "/rev/4").contains("another plan"));
    // Both could be read where they were before.
    let later = plain(&place.body(&rules, "/rev/6"));
    assert!(later.contains("the open text") && later.contains("another plan"), "{later}");
    assert_eq!(later.matches("<tr class=\"del\">").count(), 2, "{later}");
}

#[test]
fn histories_have_pages_that_follow_each_other() {
    let place = Place::new();
    for n in 0..120 {
        place.commit(&format!("change {n}"), |txn| text(txn, "/trunk/code.c", &format!("{n}\n")));
    }
    let (mut page, mut seen) = ("/log/trunk/code.c".to_owned(), Vec::new());
    let mut pages = 0;
    loop {
        let body = place.body(&Everything, &page);
        pages += 1;
        seen.extend(
            body.split("<a class=\"rev\" href=\"/r/-/rev/")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().parse::<u64>().unwrap()),
        );
        let next = body.split("rel=\"nofollow next\" href=\"/r/-").nth(1);
        let Some(next) = next.and_then(|rest| rest.split('"').next()) else { break };
        page = next.to_owned();
    }
    let expected: Vec<u64> = (4..=123).rev().chain([2, 1]).collect();
    assert_eq!((seen, pages), (expected, 3));
    // Blame stops at the first revision that made every line.
    assert!(place.body(&Everything, "/blame/trunk/code.c").contains("/r/-/rev/123"));
}

#[test]
fn directories_have_pages() {
    let place = Place::new();
    place.commit("many", |txn| {
        txn.make_dir(FsPath::trusted("/many")).unwrap();
        for n in 0..501 {
            file(txn, &format!("/many/f{n:03}"), "");
        }
    });
    let first = place.body(&Everything, "/tree/many");
    assert!(first.contains("f499") && !first.contains("f500"));
    assert!(first.contains("href=\"/r/-/tree/many?page=2\""), "{first}");
    assert!(place.body(&Everything, "/tree/many?page=2").contains("f500"));
    for page in ["0", "3"] {
        assert!(place.ask(&Everything, &format!("/tree/many?page={page}")).is_err());
    }
}

#[test]
fn long_files_come_in_pieces() {
    let place = Place::new();
    let long: String = (1..=4_500).map(|n| format!("line {n}\n")).collect();
    place.commit("long", |txn| file(txn, "/long", &long));
    let first = place.body(&Everything, "/tree/long");
    assert!(first.contains(">line 2000<") && !first.contains(">line 2001<"));
    assert!(first.contains("href=\"/r/-/tree/long?page=2001\""));
    let last = place.body(&Everything, "/tree/long?page=4001");
    assert!(last.contains(">line 4500<") && !last.contains(words::LATER_LINES), "{last}");
    let range = place.body(&Everything, "/tree/long?l=3000-3002");
    assert_eq!(range.matches("marked").count(), 3);
    place.commit("binary", |txn| file(txn, "/binary", "a\0b"));
    assert!(place.body(&Everything, "/tree/binary").contains(words::BINARY));
    assert!(place.body(&Everything, "/blame/binary").contains(words::BINARY));
}

#[test]
fn tags_change_with_what_the_page_depends_on() {
    let place = Place::new();
    let tag =
        |access: &dyn PathAuthorizer, page: &str| place.with(access, page, crate::tag).unwrap();
    let pages = ["/tree/trunk", "/rev/2", "/log/"];
    let before = pages.map(|page| tag(&Everything, page));
    assert_eq!(before, pages.map(|page| tag(&Everything, page)));
    assert!(before.iter().all(Option::is_some));
    // Rules without a number have no tags: another user's page may differ.
    assert_eq!(tag(&Hides("/secret"), "/tree/trunk"), None);
    let fs = place.repository.fs();
    let writer = Writer::new(fs, WriteOptions::default()).unwrap();
    writer
        .change_revision_prop(Revnum(2), "svn:log", Some(HOSTILE.as_bytes()), Some(b"edited"))
        .unwrap();
    assert_ne!(tag(&Everything, "/rev/2"), before[1]);
    place.commit("more", |txn| text(txn, "/trunk/code.c", "new\n"));
    assert_ne!(tag(&Everything, "/tree/trunk"), before[0]);
    assert_ne!(tag(&Everything, "/log/"), before[2]);
}

#[test]
fn a_search_finds_what_may_be_seen_and_nothing_else() {
    let place = Place::new();
    let page = |access: &dyn PathAuthorizer, query: &str| {
        place.ask(access, &format!("/search?{query}")).unwrap().body
    };
    let before = page(&Everything, "q=hidden");
    assert!(before.contains(words::NO_INDEX), "{before}");
    assert!(matches!(place.ask(&Everything, "/api/v1/search?q=one"), Err(Fault::Missing)));
    place.search_index();
    let all = page(&Everything, "q=plan");
    for part in ["/secret/plan", "another plan"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let secret = page(&Everything, "q=secret");
    assert!(secret.contains("only the secret") && secret.contains("/-/rev/3"), "{secret}");
    // To one who may not read it, all of it answers as words that are nowhere.
    let nothing = page(&Hides("/secret"), "q=nowhere-at-all");
    for asked in ["plan", "secret", "another", "only+the", "hidden"] {
        for section in ["all", "paths", "revisions", "texts", "properties", "changes"] {
            let hidden = page(&Hides("/secret"), &format!("q={asked}&in={section}"));
            let none = page(&Hides("/secret"), &format!("q=nowhere-at-all&in={section}"));
            let [typed, sent] = [" ", "%20"].map(|space| asked.replace('+', space));
            let plain = hidden.replace(&typed, "nowhere-at-all").replace(&sent, "nowhere-at-all");
            assert_eq!(plain, none, "{asked} in {section}");
        }
    }
    assert!(nothing.contains(words::NOTHING_FOUND), "{nothing}");
    let json = place.ask(&Hides("/secret"), "/api/v1/search?q=three").unwrap().body;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["texts"][0]["path"], "/trunk/code.c");
    assert_eq!(json["texts"][0]["lines"][0]["number"], 3);
    assert_eq!((&json["index"], &json["complete"]), (&3.into(), &true.into()));
}

/// A pattern is looked for in lines; the index leaves out what cannot have it, and nothing is found that may not be read.
#[test]
fn a_search_finds_lines_by_patterns() {
    let place = Place::new();
    place.commit("functions", |txn| {
        file(txn, "/trunk/a.rs", "fn new_name() {}\nfn\nold_name\n");
        file(txn, "/trunk/b.rs", "fn name() {}\n");
        file(txn, "/secret/c.rs", "fn hidden_name() {}\n");
    });
    place.search_index();
    let found = |access: &dyn PathAuthorizer| -> Value {
        let page = "/api/v1/search?q=re:%22FN+%5Cw%2B_name%22&in=texts";
        serde_json::from_str(&place.body(access, page)).unwrap()
    };
    let all = found(&Everything);
    let hits = all["texts"].as_array().unwrap();
    let mut paths: Vec<_> = hits.iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/secret/c.rs", "/trunk/a.rs"]);
    assert!(hits.iter().all(|hit| hit["lines"].as_array().map(Vec::len) == Some(1)), "{all}");
    let hidden = found(&Hides("/secret"));
    assert_eq!(hidden["texts"].as_array().map(Vec::len), Some(1));
    let short = place.ask(&Everything, "/search?q=re:a.b").unwrap().body;
    assert!(short.contains("three letters in a row"), "{short}");
}

#[test]
fn a_search_escapes_what_it_finds_and_what_was_typed() {
    let place = Place::new();
    place.search_index();
    let page = place.ask(&Everything, "/search?q=onerror%3Dalert(1)%3E").unwrap().body;
    assert!(page.contains(ESCAPED) && !page.contains(HOSTILE), "{page}");
    let typed = place.ask(&Everything, "/search?q=%22%3E%3Cimg%3E").unwrap().body;
    assert!(!typed.contains("<img>"), "{typed}");
    let wrong = place.ask(&Everything, "/search?q=rev:x").unwrap().body;
    assert!(wrong.contains("needs a number"), "{wrong}");
    let json = place.ask(&Everything, "/api/v1/search?q=rev:x");
    assert!(matches!(json, Err(Fault::Bad(_))));
}

/// A page goes on behind its last hit, without a hit twice.
#[test]
fn a_search_has_pages() {
    let place = Place::new();
    for number in 0..60 {
        place.commit(&format!("needle {number}"), |txn| {
            file(txn, &format!("/trunk/f{number}"), "needle\n");
        });
    }
    place.search_index();
    for (section, key) in [("revisions", "revision"), ("texts", "path"), ("changes", "path")] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let asked = format!("/api/v1/search?q=needle&in={section}&after={after}");
            let json = place.ask(&Everything, &asked).unwrap().body;
            let json: Value = serde_json::from_str(&json).unwrap();
            seen.extend(json[section].as_array().unwrap().iter().map(|hit| hit[key].to_string()));
            let Some(next) = json["next"].as_str() else { break };
            after = next.to_owned();
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((all, seen.len()), (60, 60), "{section}");
    }
}

#[test]
fn locks_show_who_has_them_where_they_may_be_seen() {
    let place = Place::new();
    let none = place.body(&Everything, "/locks/");
    assert!(none.contains(words::NO_LOCKS), "{none}");
    for path in ["/trunk/code.c", "/secret/plan"] {
        let options = LockOptions {
            user: "ada",
            comment: Some(HOSTILE),
            is_dav_comment: false,
            expires: None,
            steal: false,
        };
        let target =
            LockTarget { path: FsPath::trusted(path).to_owned(), token: None, revision: None };
        let writer = Writer::new(place.repository.fs(), WriteOptions::default()).unwrap();
        assert!(writer.lock_paths(&[target], &options).failure.is_none());
    }
    let all = place.body(&Everything, "/locks/");
    for part in ["/trunk/code.c", "/secret/plan", "ada", ESCAPED] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("opaquelocktoken") && !all.contains(HOSTILE), "{all}");
    let trunk = place.body(&Everything, "/locks/trunk/code.c");
    assert!(trunk.contains(ESCAPED) && !trunk.contains("secret"), "{trunk}");
    let seen = place.body(&Hides("/secret"), "/api/v1/locks/");
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["locks"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&seen["locks"][0]["path"], &seen["more"]),
        (&"/trunk/code.c".into(), &false.into())
    );
    // Where nothing may be seen there is nothing, and no page.
    let hidden = place.ask(&Hides("/secret"), "/locks/secret");
    assert!(matches!(hidden, Err(Fault::Missing)));
    let rest = place.body(&Hides("/trunk"), "/locks/");
    assert!(rest.contains("plan") && !rest.contains("code.c"), "{rest}");
}
