//! Searches in what was ever there, and in properties.

use super::*;

fn found(place: &Place, access: &dyn PathAuthorizer, query: &str) -> Value {
    let page = format!("/api/v1/search?q={query}");
    serde_json::from_str(&place.body(access, &page)).unwrap()
}

/// The hits as `r2 /path -line +line`.
fn changes(value: &Value) -> Vec<String> {
    let hit = |hit: &Value| {
        let lines = hit["lines"].as_array().unwrap().iter().map(|line| {
            let sign = if line["kind"] == "added" { '+' } else { '-' };
            format!(" {sign}{}", line["text"].as_str().unwrap())
        });
        let lines: String = lines.collect();
        format!("r{} {}{lines}", hit["revision"], hit["path"].as_str().unwrap())
    };
    value["changes"].as_array().unwrap().iter().map(hit).collect()
}

#[test]
fn lines_that_were_ever_there_are_found() {
    let place = Place::new();
    let at = |revision: u64| place.repository.fs().revision_root(Revnum(revision)).unwrap();
    place.commit("gone", |txn| txn.delete(FsPath::trusted("/trunk/README.md")).unwrap());
    place.commit("moved", |txn| {
        txn.copy(&at(4), FsPath::trusted("/trunk/code.c"), FsPath::trusted("/trunk/b.c"), true)
            .unwrap();
        txn.delete(FsPath::trusted("/trunk/code.c")).unwrap();
    });
    place.search_index();
    let of = |query: &str| changes(&found(&place, &Everything, &format!("{query}&in=changes")));
    assert_eq!(of("two"), ["r2 /trunk/code.c -two", "r1 /trunk/code.c +two"]);
    assert_eq!(of("Hello"), ["r4 /trunk/README.md -# Hello", "r1 /trunk/README.md +# Hello"]);
    // A move adds no line and removes none.
    assert_eq!(of("three"), ["r1 /trunk/code.c +three"]);
    assert_eq!(of("two+rev:2"), ["r2 /trunk/code.c -two"]);
    assert_eq!(of("plan+path:/secret+author:ada").len(), 2);
    assert_eq!((of("two+author:bob").len(), of("two+ext:h").len()), (0, 0));
    assert_eq!((of("re:%22thr%5Be%5D%2B%22").len(), of("nowhere-at-all").len()), (1, 0));
    let page = place.body(&Everything, "/search?q=Hello&in=changes");
    assert!(page.contains("href=\"/r/-/tree/trunk/README.md?p=3\""), "{page}");
    assert!(page.contains("Lines of all revisions can be found."), "{page}");
}

/// Of a copy out of a hidden folder only the new text is found, and of what is hidden nothing.
#[test]
fn what_was_hidden_has_no_lines() {
    let place = Place::new();
    let old = place.repository.fs().revision_root(Revnum(3)).unwrap();
    place.commit("published with a change", |txn| {
        txn.copy(&old, FsPath::trusted("/secret"), FsPath::trusted("/open"), true).unwrap();
        text(txn, "/open/plan", "the open plan\n");
        txn.delete(FsPath::trusted("/secret/plan")).unwrap();
    });
    place.search_index();
    let of = |access: &dyn PathAuthorizer, query: &str| {
        changes(&found(&place, access, &format!("{query}&in=changes")))
    };
    let rules = Hides("/secret");
    assert_eq!(of(&rules, "plan"), ["r4 /open/plan +the open plan"]);
    assert_eq!(of(&rules, "another").len() + of(&rules, "hidden").len(), 0);
    let all = of(&Everything, "another");
    assert_eq!(all[0], "r4 /secret/plan -another plan");
    assert_eq!((all.len(), &*all[1]), (3, "r4 /open/plan -another plan"));
}

#[test]
fn properties_are_found_where_they_may_be_read() {
    let place = Place::new();
    place.commit("properties", |txn| {
        let mut set = |path: &str, name: &str, value: &str| {
            txn.change_prop(FsPath::trusted(path), name, Some(value.as_bytes())).unwrap();
        };
        set("/trunk", "svn:ignore", "*.o\nzebra\n");
        set("/trunk/README.md", "striped", "<zebra>");
        set("/secret/plan", "svn:ignore", "zebra");
    });
    place.commit("gone", |txn| {
        txn.change_prop(FsPath::trusted("/trunk/README.md"), "striped", None).unwrap();
    });
    place.search_index();
    let of = |access: &dyn PathAuthorizer, query: &str| -> Vec<(String, String)> {
        let value = found(&place, access, &format!("{query}&in=properties"));
        let hits = value["properties"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        hits.map(|hit| (text(&hit["path"]), text(&hit["lines"][0]))).collect()
    };
    let trunk = ("/trunk".to_owned(), "svn:ignore: zebra".to_owned());
    let secret = ("/secret/plan".to_owned(), "svn:ignore: zebra".to_owned());
    let mut all = of(&Everything, "zebra");
    all.sort_unstable();
    assert_eq!(all, [secret, trunk.clone()]);
    assert_eq!(of(&Hides("/secret"), "zebra"), std::slice::from_ref(&trunk));
    assert_eq!(
        of(&Everything, "striped+zebra").len() + of(&Everything, "ignore+zebra+path:/trunk").len(),
        1
    );
    assert!(of(&Everything, "striped").is_empty());
    let page = place.body(&Everything, "/search?q=onerror&in=properties");
    assert!(page.contains(ESCAPED) && !page.contains(HOSTILE), "{page}");
}

/// The root's properties are found too, as it was made and as it changed; it is no name.
#[test]
fn properties_of_the_root_are_found() {
    let place = Place::new();
    let set = |value: Option<&str>| {
        place.commit("a tracker", |txn| {
            let value = value.map(str::as_bytes);
            txn.change_prop(FsPath::ROOT, "bugtraq:url", value).unwrap();
        });
        place.search_index();
    };
    let of = |access: &dyn PathAuthorizer, word: &str| {
        let value = found(&place, access, &format!("{word}&in=properties"));
        let hits = value["properties"].as_array().unwrap().iter();
        hits.map(|hit| format!("{} {}", hit["path"], hit["lines"])).collect::<Vec<_>>()
    };
    let line = |word: &str| [format!("\"/\" [\"bugtraq:url: https://{word}/%BUGID%\"]")];
    set(Some("https://quagga/%BUGID%"));
    assert_eq!(of(&Everything, "quagga"), line("quagga"));
    assert!(of(&Hides("/"), "quagga").is_empty());
    set(Some("https://okapi/%BUGID%"));
    assert!(of(&Everything, "quagga").is_empty());
    assert_eq!(of(&Everything, "okapi"), line("okapi"));
    let names = found(&place, &Everything, "/&in=paths");
    let names = names["paths"].as_array().unwrap();
    assert!(!names.is_empty() && names.iter().all(|name| name["path"] != "/"));
    set(None);
    assert!(of(&Everything, "okapi").is_empty());
}

/// The feed of a search has the revisions that it finds, escaped, and none whose reason may not be read.
#[test]
fn a_search_has_a_feed() {
    let place = Place::new();
    assert!(matches!(place.ask(&Everything, "/search.atom?q=secret"), Err(Fault::Missing)));
    place.search_index();
    let feed = |access: &dyn PathAuthorizer, query: &str| {
        let reply = place.ask(access, &format!("/search.atom?q={query}")).unwrap();
        assert!(reply.headers[0].1.starts_with("application/atom+xml"));
        let entries = reply.body.split("<entry>").skip(1);
        let ids = entries.map(|entry| {
            entry.split_once("/-/rev/").unwrap().1.split('<').next().unwrap().to_owned()
        });
        (ids.collect::<Vec<_>>(), reply.body)
    };
    assert_eq!(feed(&Everything, "the").0, ["3"]);
    assert_eq!(feed(&Everything, "ada").0, ["3", "2", "1"]);
    assert_eq!(feed(&Everything, "plan&in=changes").0, ["3", "1"]);
    let (hostile, body) = feed(&Everything, "onerror");
    assert!(hostile == ["2"] && body.contains(ESCAPED) && !body.contains("<img"), "{body}");
    let rules = Hides("/secret");
    assert!(feed(&rules, "only").0.is_empty() && feed(&rules, "plan&in=changes").0.is_empty());
    let page = place.body(&Everything, "/search?q=ada");
    assert!(page.contains("href=\"/r/-/search.atom?q=ada&amp;in=all\""), "{page}");
    assert!(!place.body(&Everything, "/search?q=ada&in=paths").contains("search.atom"));
    let tag = place.with(&Everything, "/search.atom?q=ada", crate::tag);
    assert!(tag.unwrap().is_none(), "the index changes without a revision");
}
