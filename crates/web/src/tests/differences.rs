//! Differences as JSON: the lines of the pages, for the same users.

use super::*;

fn value(place: &Place, access: &dyn PathAuthorizer, page: &str) -> Value {
    serde_json::from_str(&place.body(access, page)).unwrap()
}

/// The kinds and texts of the lines of a file.
fn lines(file: &Value) -> Vec<(String, String)> {
    let of = |line: &Value| {
        (line["kind"].as_str().unwrap().to_owned(), line["text"].as_str().unwrap().to_owned())
    };
    let hunks = file["text"]["hunks"].as_array().unwrap().iter();
    hunks.flat_map(|hunk| hunk.as_array().unwrap()).map(of).collect()
}

fn changed(line: &[(&str, &str)]) -> Vec<(String, String)> {
    line.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_revision_has_its_lines_and_properties() {
    let place = Place::new();
    let all = value(&place, &Everything, "/api/v1/diff/2");
    assert_eq!((&all["revision"], &all["complete"]), (&2.into(), &true.into()));
    let files = all["files"].as_array().unwrap();
    let code = files.iter().find(|file| file["path"] == "/trunk/code.c").unwrap();
    let expected = [("same", "one"), ("deleted", "two"), ("added", "2 < 3"), ("same", "three")];
    assert_eq!(lines(code), changed(&expected));
    let deleted = &code["text"]["hunks"][0][1];
    assert_eq!((&deleted["old"], &deleted["new"]), (&2.into(), &Value::Null));
    assert_eq!((&code["action"], &code["old"]["revision"]), (&"modified".into(), &1.into()));
    let property = &code["properties"][0];
    assert_eq!((&property["name"], &property["before"]), (&HOSTILE.into(), &Value::Null));
    assert_eq!(property["after"], HOSTILE);
    let new = files.iter().find(|file| file["action"] == "added").unwrap();
    assert_eq!((&new["old"], lines(new)), (&Value::Null, changed(&[("added", HOSTILE)])));
    assert_eq!(new["text"]["hunks"][0][0]["newline"], false);
    place.commit("binary", |txn| text(txn, "/trunk/code.c", "a\0b"));
    let binary = value(&place, &Everything, "/api/v1/diff/4");
    assert_eq!(binary["files"][0]["text"]["refused"], words::BINARY_DELTA);
    assert!(matches!(place.ask(&Everything, "/api/v1/diff/99"), Err(Fault::Missing)));
    // There is a page of a revision, and none of its differences alone.
    assert!(matches!(place.ask(&Everything, "/diff/2"), Err(Fault::Missing)));
}

#[test]
fn two_places_are_compared() {
    let place = Place::new();
    let old = place.repository.fs().revision_root(Revnum(1)).unwrap();
    place.commit("a branch", |txn| {
        txn.copy(&old, FsPath::trusted("/trunk"), FsPath::trusted("/b"), true).unwrap();
        txn.delete(FsPath::trusted("/b/README.md")).unwrap();
    });
    let all = value(&place, &Everything, "/api/v1/compare/trunk?with=/b");
    assert_eq!((&all["old"]["path"], &all["new"]["path"]), (&"/b".into(), &"/trunk".into()));
    let files = all["files"].as_array().unwrap();
    let of = |action: &str| files.iter().filter(|file| file["action"] == action).count();
    assert_eq!((of("added"), of("modified"), of("deleted")), (2, 1, 0), "{all}");
    // A form sends spaces as '+'.
    let page = place.body(&Everything, "/compare/trunk?from=&with=%2Fb&p=4");
    assert!(page.contains("name=\"with\" size=\"24\" value=\"/b\"") && page.contains(words::ADDED));
    assert!(matches!(place.ask(&Everything, "/compare/trunk?with=/a+b"), Err(Fault::Missing)));
    let wrong = Address::parse("/compare/trunk", Some("with=/a/../b"));
    assert!(matches!(wrong, Err(Fault::Bad(_))));
    let back = value(&place, &Everything, "/api/v1/compare/b?with=/trunk&w=1");
    assert_eq!(back["files"].as_array().unwrap().len(), 3);
    let wrong = place.ask(&Everything, "/api/v1/compare/trunk");
    assert!(matches!(wrong, Err(Fault::Bad(_))));
    // The older side of a copy out of a hidden folder is hidden.
    let newest = place.repository.fs().revision_root(Revnum(4)).unwrap();
    place.commit("published with a change", |txn| {
        txn.copy(&newest, FsPath::trusted("/secret"), FsPath::trusted("/open"), true).unwrap();
        text(txn, "/open/plan", "the open text\n");
    });
    let published = value(&place, &Hides("/secret"), "/api/v1/diff/5");
    assert!(!published.to_string().contains("another plan"), "{published}");
    assert!(!published.to_string().contains("secret"), "{published}");
    assert!(value(&place, &Everything, "/api/v1/diff/5").to_string().contains("another plan"));
}
