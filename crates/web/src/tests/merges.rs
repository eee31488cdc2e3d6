//! What pages make of mergeinfo: lines of branches, and what branches lack.

use super::*;

/// A merged line is from the branch, unless that may not be read; before a change the file is where it was.
#[test]
fn blame_looks_into_merges() {
    let place = Place::new();
    let at = |revision: u64| place.repository.fs().revision_root(Revnum(revision)).unwrap();
    place.commit("a branch", |txn| {
        txn.copy(&at(3), FsPath::trusted("/trunk"), FsPath::trusted("/branch"), true).unwrap();
    });
    place.commit("on the branch", |txn| text(txn, "/branch/code.c", "one\n2 < 3\nthree\nfour\n"));
    place.commit("merged", |txn| {
        text(txn, "/trunk/code.c", "one\n2 < 3\nthree\nfour\n");
        let value = Some(&b"/branch/code.c:4-5"[..]);
        txn.change_prop(FsPath::trusted("/trunk/code.c"), "svn:mergeinfo", value).unwrap();
    });
    let origins = |access: &dyn PathAuthorizer, query: &str| -> Vec<(u64, String)> {
        let page = format!("/api/v1/blame/trunk/code.c?p=6{query}");
        let value: Value = serde_json::from_str(&place.body(access, &page)).unwrap();
        let lines = value["lines"].as_array().unwrap().iter();
        lines
            .map(|line| (line["revision"].as_u64().unwrap(), line["path"].as_str().unwrap().into()))
            .collect()
    };
    let trunk = |revision| (revision, "/trunk/code.c".to_owned());
    let plain = [trunk(1), trunk(2), trunk(1), trunk(6)];
    assert_eq!(origins(&Everything, ""), plain);
    let merged = [trunk(1), trunk(2), trunk(1), (5, "/branch/code.c".to_owned())];
    assert_eq!(origins(&Everything, "&g=1"), merged);
    assert_eq!(origins(&Hides("/branch"), "&g=1"), plain);
    let page = place.body(&Everything, "/blame/trunk/code.c?g=1");
    // The line of the branch was made there: before that it was a copy without it.
    assert!(page.contains("href=\"/r/-/blame/branch/code.c?p=4&amp;g=1\""), "{page}");
    let ended = place.with(&Everything, "/blame/trunk/code.c?g=1", |request| {
        let found = request.view.at(request.address)?;
        let text = b"one\n2 < 3\nthree\nfour\n".to_vec();
        crate::blame::merged::search(request.view, &found, text, &Budget::of_no_time())
    });
    let ended = ended.unwrap();
    assert!(!ended.is_whole && ended.origins == [None, None, None, None]);
}

/// What branches and the trunk lack of each other, by mergeinfo; nothing is said of what may not be read.
#[test]
fn branches_are_ahead_and_behind() {
    let place = Place::new();
    let at = |revision: u64| place.repository.fs().revision_root(Revnum(revision)).unwrap();
    let path = FsPath::trusted;
    place.commit("a branch and a tag", |txn| {
        txn.make_dir(path("/branches")).unwrap();
        txn.make_dir(path("/tags")).unwrap();
        txn.copy(&at(3), path("/trunk"), path("/branches/b"), true).unwrap();
        txn.copy(&at(2), path("/trunk"), path("/tags/1.0"), true).unwrap();
        txn.copy(&at(3), path("/secret"), path("/branches/s"), true).unwrap();
    });
    for n in 0..3 {
        place.commit("on the branch", |txn| text(txn, "/branches/b/code.c", &format!("b{n}\n")));
        place.commit("on the trunk", |txn| text(txn, "/trunk/code.c", &format!("t{n}\n")));
    }
    // r5, r7 and r9 are of the branch; r6, r8 and r10 of the trunk.
    place.commit("merged", |txn| {
        let merged = |value: &'static str| Some(value.as_bytes());
        txn.change_prop(path("/trunk"), "svn:mergeinfo", merged("/branches/b:5-7")).unwrap();
        txn.change_prop(path("/branches/b"), "svn:mergeinfo", merged("/trunk:4-6")).unwrap();
    });
    let read = |access: &dyn PathAuthorizer| -> Value {
        serde_json::from_str(&place.body(access, "/api/v1/branches/")).unwrap()
    };
    let all = read(&Everything);
    let branch = |all: &Value, n: usize| {
        let one = &all["branches"][n];
        (one["path"].clone(), one["ahead"]["revisions"].clone(), one["behind"]["revisions"].clone())
    };
    // The merges themselves are revisions of both.
    assert_eq!(branch(&all, 0), ("/branches/b".into(), 2.into(), 3.into()));
    assert_eq!(all["branches"][0]["from"]["revision"], 3);
    assert_eq!(all["branches"][1]["from"]["path"], "/secret");
    assert_eq!(
        (&all["tags"][0]["path"], &all["tags"][0]["ahead"]),
        (&"/tags/1.0".into(), &Value::Null)
    );
    let hidden = read(&Hides("/secret"));
    assert_eq!(
        (&hidden["branches"][1]["path"], &hidden["branches"][1]["from"]),
        (&"/branches/s".into(), &Value::Null)
    );
    let without = read(&Hides("/branches/b"));
    assert_eq!(without["branches"].as_array().map(Vec::len), Some(1));
    let no_trunk = read(&Hides("/trunk"));
    assert_eq!(
        (&no_trunk["branches"][0]["ahead"], &no_trunk["branches"][0]["from"]),
        (&Value::Null, &Value::Null)
    );
    let page = place.body(&Everything, "/branches/");
    assert!(
        page.contains("/-/tree/branches/b\"") && page.contains("/-/tree/trunk?p=3\""),
        "{page}"
    );
    // A branch that was renamed is still one of the trunk.
    let newest = place.repository.fs().youngest().unwrap();
    place.commit("renamed", |txn| {
        txn.copy(&at(newest.0), path("/branches/b"), path("/branches/a"), true).unwrap();
        txn.delete(path("/branches/b")).unwrap();
    });
    let renamed = branch(&read(&Everything), 0);
    assert_eq!((renamed.0, renamed.2), ("/branches/a".into(), 3.into()));
}
