//! The graph of copies and merges: what it shows, to whom, and where it ends.

use super::*;

fn value(place: &Place, access: &dyn PathAuthorizer, page: &str) -> Value {
    serde_json::from_str(&place.body(access, page)).unwrap()
}

/// Revision, branch, what happened, and from where.
fn events(graph: &Value) -> Vec<String> {
    let of = |event: &Value| {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        let from = event["from"].as_array().unwrap().iter();
        let from = from.map(|source| {
            format!(" {}:{}-{}", source["path"].as_str().unwrap(), source["first"], source["last"])
        });
        let from: String = from.collect();
        format!("{} {} {}{from}", event["revision"], text("branch"), text("action"))
    };
    graph["events"].as_array().unwrap().iter().map(of).collect()
}

/// r4 copies the trunk and the secret, r5 to r7 change, r8 merges.
fn merged() -> Place {
    let place = Place::new();
    let at = |revision: u64| place.repository.fs().revision_root(Revnum(revision)).unwrap();
    let path = FsPath::trusted;
    place.commit("branches and a tag", |txn| {
        txn.make_dir(path("/branches")).unwrap();
        txn.make_dir(path("/tags")).unwrap();
        txn.copy(&at(3), path("/trunk"), path("/branches/b"), true).unwrap();
        txn.copy(&at(2), path("/trunk"), path("/tags/1.0"), true).unwrap();
        txn.copy(&at(3), path("/secret"), path("/branches/s"), true).unwrap();
    });
    place.commit("on the branch", |txn| text(txn, "/branches/b/code.c", "b\n"));
    place.commit("on the trunk", |txn| text(txn, "/trunk/code.c", "t\n"));
    place.commit("properties", |txn| {
        txn.change_prop(path("/trunk"), "other", Some(b"value")).unwrap();
    });
    place.commit("merged", |txn| {
        let info = Some(&b"/branches/b:4-5\n/secret:2-3"[..]);
        txn.change_prop(path("/trunk"), "svn:mergeinfo", info).unwrap();
    });
    place.commit("on the branch again", |txn| text(txn, "/branches/b/code.c", "bb\n"));
    place
}

#[test]
fn copies_and_merges_are_events() {
    let place = merged();
    let graph = value(&place, &Everything, "/api/v1/graph/");
    let expected = [
        "9 /branches/b changed",
        "8 /trunk merged /branches/b:4-5 /secret:2-3",
        "4 /branches/b copied /trunk:3-3",
        "4 /branches/s copied /secret:3-3",
        "4 /tags/1.0 copied /trunk:2-2",
    ];
    assert_eq!(events(&graph), expected);
    assert_eq!((&graph["older"], &graph["complete"]), (&Value::Null, &true.into()));
    let page = place.body(&Everything, "/graph/");
    let (picture, table) = page.split_once("</svg>").unwrap();
    assert!(picture.contains("aria-hidden=\"true\"") && !picture.contains("style="), "{page}");
    for (class, count) in [("circle class=\"copy\"", 3), ("rect class=\"merge\"", 1)] {
        assert_eq!(picture.matches(class).count(), count, "{class}: {page}");
    }
    // From the trunk to the branch and the tag, and back from the branch.
    assert_eq!(picture.matches("<path class=\"copy\"").count(), 2, "{page}");
    assert_eq!(picture.matches("<path class=\"merge\"").count(), 1, "{page}");
    assert!(table.contains("merged from <a rel=\"nofollow\" href=\"/r/-/tree/branches/b?p=5\""));
    assert!(place.body(&Everything, "/branches/").contains("href=\"/r/-/graph/\""));
    // As it was before that.
    let before = value(&place, &Everything, "/api/v1/graph/?p=4");
    assert_eq!(events(&before).len(), 4, "{before}");
    assert!(matches!(place.ask(&Everything, "/graph/trunk/code.c"), Err(Fault::Missing)));
    assert!(matches!(place.ask(&Everything, "/graph/?page=2"), Err(Fault::Missing)));
}

#[test]
fn what_may_not_be_read_has_no_line_and_no_curve() {
    let place = merged();
    let rules = Hides("/secret");
    let graph = value(&place, &rules, "/api/v1/graph/");
    assert!(events(&graph).contains(&"8 /trunk merged /branches/b:4-5".to_owned()), "{graph}");
    assert!(events(&graph).contains(&"4 /branches/s copied".to_owned()), "{graph}");
    assert!(!place.body(&rules, "/graph/").contains("secret"));
    let rules = Hides("/branches");
    assert_eq!(
        events(&value(&place, &rules, "/api/v1/graph/")),
        ["8 /trunk merged /secret:2-3", "4 /tags/1.0 copied /trunk:2-2"]
    );
    assert!(!place.body(&rules, "/graph/").contains("branches/b"));
    let rules = Hides("/trunk");
    let graph = place.body(&rules, "/api/v1/graph/");
    assert!(!graph.contains("trunk"), "{graph}");
}

/// Old events and more branches have pages of their own, and none is there twice.
#[test]
fn graphs_have_pages() {
    let place = Place::new();
    place.commit("folders", |txn| {
        txn.make_dir(FsPath::trusted("/branches")).unwrap();
    });
    for n in 0..20 {
        let newest = place.repository.fs().youngest().unwrap();
        let root = place.repository.fs().revision_root(newest).unwrap();
        let path = format!("/branches/b{n:02}");
        place.commit(&path, |txn| {
            txn.copy(&root, FsPath::trusted("/trunk"), FsPath::trusted(&path), true).unwrap();
        });
    }
    for n in 0..70 {
        place.commit("merged", |txn| {
            let info = format!("/branches/b19:25-{}", 30 + n);
            let trunk = FsPath::trusted("/trunk");
            txn.change_prop(trunk, "svn:mergeinfo", Some(info.as_bytes())).unwrap();
        });
    }
    let first = value(&place, &Everything, "/api/v1/graph/");
    assert_eq!((&first["page"], &first["pages"]), (&1.into(), &2.into()));
    assert_eq!(first["branches"].as_array().map(Vec::len), Some(13));
    assert_eq!((events(&first).len(), &first["older"]), (60, &34.into()));
    let older = value(&place, &Everything, "/api/v1/graph/?p=34");
    let both = [events(&first), events(&older)].concat();
    let mut all = both.clone();
    all.sort_unstable();
    all.dedup();
    assert_eq!((both.len(), all.len()), (60 + 10 + 12, 60 + 10 + 12));
    let second = value(&place, &Everything, "/api/v1/graph/?page=2");
    assert_eq!(second["branches"].as_array().map(Vec::len), Some(9));
    let page = place.body(&Everything, "/graph/");
    assert!(page.contains("/graph/?page=2") && page.contains("/graph/?p=34"), "{page}");
}
