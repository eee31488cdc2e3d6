//! Searches within the history of one path: what they find, for whom, and where their pages end.

use super::*;
use crate::history::History;
use sapwood_search::Query;

/// A history of two authors and two paths.
fn place() -> Place {
    let place = Place::new();
    for n in 4..=120 {
        place.commit(if n % 40 == 0 { "a needle" } else { "hay" }, |txn| {
            text(txn, "/trunk/code.c", &format!("{n}\n"));
            if n == 80 {
                txn.props_mut().set("svn:author", "bob");
            }
        });
    }
    place.commit("a needle elsewhere", |txn| text(txn, "/trunk/README.md", "x\n"));
    place
}

fn revisions(place: &Place, access: &dyn PathAuthorizer, page: &str) -> Vec<u64> {
    let value: Value = serde_json::from_str(&place.body(access, page)).unwrap();
    let changes = value["changes"].as_array().unwrap();
    changes.iter().map(|change| change["revision"].as_u64().unwrap()).collect()
}

#[test]
fn the_history_of_a_path_can_be_searched() {
    let place = place();
    let found = |query: &str| {
        revisions(&place, &Everything, &format!("/api/v1/log/trunk/code.c?q={query}"))
    };
    assert_eq!(found("needle"), [120, 80, 40]);
    assert_eq!(found("author:bob"), [80]);
    assert_eq!(found("author:ada+needle"), [120, 40]);
    assert_eq!(found("needle+rev:40-100"), [80, 40]);
    assert_eq!(found("rev:1-4"), [4, 2, 1]);
    assert_eq!(found("re:%22need%5Cw%2B%22"), [120, 80, 40]);
    assert_eq!(found("nowhere"), [0u64; 0]);
    assert_eq!(found("date:1999"), [0u64; 0]);
    // Behind a copy it goes on.
    let old = place.repository.fs().revision_root(Revnum(100)).unwrap();
    place.commit("a branch", |txn| {
        txn.copy(&old, FsPath::trusted("/trunk"), FsPath::trusted("/branch"), true).unwrap();
    });
    assert_eq!(revisions(&place, &Everything, "/api/v1/log/branch/code.c?q=needle"), [80, 40]);
    let page = place.body(&Everything, "/log/trunk/code.c?q=needle");
    assert!(
        page.contains("/-/rev/80")
            && !page.contains("/-/rev/79\"")
            && page.contains("value=\"needle\""),
        "{page}"
    );
    // The page says what it does not understand, and a program gets an error.
    assert!(place.body(&Everything, "/log/trunk?q=path:/x").contains(words::HISTORY_HAS_NO_FILES));
    assert!(place.body(&Everything, "/log/trunk?q=rev:x").contains("needs a number"));
    assert!(matches!(place.ask(&Everything, "/api/v1/log/trunk?q=rev:x"), Err(Fault::Bad(_))));
    let typed = place.body(&Everything, "/log/trunk?q=%22%3E%3Cimg%3E");
    assert!(!typed.contains("<img>") && typed.contains(words::NOTHING_FOUND), "{typed}");
}

/// Pages follow each other without a gap or a change twice; one whose time is over says where the next goes on.
#[test]
fn searches_of_a_history_have_pages() {
    let place = place();
    let (mut page, mut seen) = ("/log/trunk/code.c?q=hay".to_owned(), Vec::new());
    loop {
        let body = place.body(&Everything, &page);
        let all = body.split("<a class=\"rev\" href=\"/r/-/rev/").skip(1);
        seen.extend(all.map(|rest| rest.split('"').next().unwrap().parse::<u64>().unwrap()));
        let next = body.split("rel=\"nofollow next\" href=\"/r/-").nth(1);
        let Some(next) = next.and_then(|rest| rest.split('"').next()) else { break };
        page = next.replace("&amp;", "&");
    }
    let expected: Vec<u64> = (4..=120).rev().filter(|n| n % 40 != 0).collect();
    assert_eq!(seen, expected);
    // With time for five looks at a time, too.
    let query = Query::parse("needle").unwrap();
    let (mut at, mut found, mut pages) = ("/log/trunk/code.c".to_owned(), Vec::new(), 0);
    loop {
        let history = place.with(&Everything, &at, |request| {
            let found = request.view.at(request.address)?;
            History::search(request, &found, &query, &Budget::of_asks(5))
        });
        let history = history.unwrap();
        found.extend(history.changes.iter().map(|change| change.revision.0));
        pages += 1;
        let Some((path, next)) = history.next else { break };
        at = format!("/log{path}?p={next}");
    }
    assert_eq!(found, [120, 80, 40]);
    assert!((20..40).contains(&pages), "{pages}");
    let late = place.with(&Everything, "/log/trunk/code.c", |request| {
        let found = request.view.at(request.address)?;
        History::search(request, &found, &query, &Budget::of_no_time())
    });
    assert_eq!(
        late.unwrap().next.map(|(_, next)| next),
        Some(Revnum(119)),
        "a page always goes on"
    );
}

/// What may not be read has no words: a message that is hidden is not found, and not counted.
#[test]
fn hidden_messages_are_not_found() {
    let place = place();
    place.commit("the needle of a plan", |txn| {
        text(txn, "/trunk/code.c", "with a secret\n");
        text(txn, "/secret/plan", "changed\n");
    });
    let all = revisions(&place, &Everything, "/api/v1/log/trunk/code.c?q=needle");
    assert_eq!(all, [122, 120, 80, 40]);
    let rules = Hides("/secret");
    let seen = revisions(&place, &rules, "/api/v1/log/trunk/code.c?q=needle");
    assert_eq!(seen, [120, 80, 40]);
    let (hidden, none) =
        (place.body(&rules, "/log/trunk?q=plan"), place.body(&rules, "/log/trunk?q=none"));
    assert_eq!(hidden.replace("plan", "none"), none);
    assert!(matches!(place.ask(&rules, "/log/secret?q=plan"), Err(Fault::Missing)));
}

/// A search looks at the revisions of its path, not at those of the repository: at one more where a page is full.
#[test]
fn a_search_looks_at_its_own_history() {
    let place = place();
    let looked = |page: &str, asks: usize| {
        place
            .with(&Everything, page, |request| {
                let found = request.view.at(request.address)?;
                let query = Query::parse("first things").unwrap();
                History::search(request, &found, &query, &Budget::of_asks(asks))
            })
            .unwrap()
    };
    // Two looks are enough for a file of two revisions, among 121 of the repository.
    let history = looked("/log/trunk/README.md", 2);
    assert_eq!((history.changes.len(), history.next), (1, None));
    assert!(looked("/log/trunk/code.c", 2).next.is_some());
}

/// Authors, and the names in the path of a page, are markup to no browser.
#[test]
fn authors_and_paths_are_escaped() {
    let place = Place::new();
    place.commit("by a hostile one", |txn| {
        txn.props_mut().set("svn:author", HOSTILE);
        text(txn, "/trunk/code.c", "a new line\n");
    });
    let path = crate::links::field(HOSTILE);
    for page in [
        "/tree/trunk".to_owned(),
        "/tree/trunk/code.c".to_owned(),
        "/log/trunk".to_owned(),
        "/rev/4".to_owned(),
        "/blame/trunk/code.c".to_owned(),
        "/feed/trunk".to_owned(),
        format!("/tree/trunk/{path}"),
        format!("/log/trunk/{path}"),
        format!("/blame/trunk/{path}"),
        format!("/locks/trunk/{path}"),
    ] {
        let body = place.body(&Everything, &page);
        assert!(body.contains(ESCAPED) && !body.contains("<img"), "{page}: {body}");
    }
}
