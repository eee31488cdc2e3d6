//! The list of repositories: what the page and the values say.

use super::*;
use crate::repositories::{ListQuery, ListedRepository, RepositoryList, last_change};

fn listed(name: &str, change: Option<crate::Change>) -> ListedRepository {
    let page = change.as_ref().map(|_| format!("{name}/!svn/-/rev/3"));
    ListedRepository { name: name.to_owned(), url: format!("{name}/"), change, page }
}

#[test]
fn lists_have_the_last_change_and_escape() {
    let place = Place::new();
    let change =
        |access: &dyn PathAuthorizer| place.with(access, "/", |request| last_change(request.view));
    let last = change(&Everything).unwrap();
    assert_eq!((last.revision, last.author.as_deref()), (Revnum(3), Some("ada")));
    assert!(matches!(change(&Hides("/")), Err(Fault::Missing)), "of a root that may not be read");
    let query = ListQuery::parse(Some("q=%22%3E%3Cimg%3E&after=a%26b")).unwrap();
    let rows = vec![listed("b", Some(last)), listed(HOSTILE, None)];
    let list = RepositoryList { title: HOSTILE.to_owned(), query, rows, are_more: true };
    let page = list.page(&Visitor::default(), 2_000_000_000).body;
    assert!(!page.contains("<img") && page.contains(ESCAPED), "{page}");
    assert!(
        page.contains("<a href=\"b/!svn/-/rev/3\" rel=\"nofollow\">r3</a>") && page.contains("ada"),
        "{page}"
    );
    assert!(page.contains(words::NOT_READABLE) && page.contains("noindex,nofollow"), "{page}");
    // The next page has the same words, and begins behind the last name.
    let next = format!("href=\"?q=%22%3E%3Cimg%3E&amp;after={}\"", crate::links::field(HOSTILE));
    assert!(page.contains(&next) && page.contains("href=\"?q=%22%3E%3Cimg%3E\""), "{page}");
    let all: Value =
        serde_json::from_str(&place.body(&Everything, "/api/v1/openapi.json")).unwrap();
    let values: Value = serde_json::from_str(&list.values().body).unwrap();
    let schema = &all["components"]["schemas"]["Repositories"];
    assert!(schema.is_object());
    assert_eq!(misfit(&values, schema, &all, "list"), None);
    assert_eq!(
        (&values["next"], &values["repositories"][0]["last_change"]["revision"]),
        (&HOSTILE.into(), &3.into())
    );
    let whole = RepositoryList { are_more: false, query: ListQuery::default(), ..list };
    let values: Value = serde_json::from_str(&whole.values().body).unwrap();
    assert!(values["next"].is_null());
    let page = whole.page(&Visitor::default(), 0).body;
    assert!(!page.contains("noindex"), "crawlers go on from it: {page}");
    assert!(!page.contains("role=\"search\"") && !page.contains(words::NEXT_PAGE), "{page}");
}

#[test]
fn names_are_found_by_parts_of_them() {
    let of = |query: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found: Vec<String> =
            ListQuery::parse(Some(query)).unwrap().of(&names).cloned().collect();
        found.join(" ")
    };
    assert_eq!(of("q=WEB+back", &["backend-Web", "web"]), "backend-Web");
    assert_eq!(of("", &["a", "b"]), "a b");
    for (after, behind) in [("0", "a b c"), ("a", "b c"), ("aa", "b c"), ("c", ""), ("d", "")] {
        assert_eq!(of(&format!("after={after}"), &["a", "b", "c"]), behind, "{after}");
    }
    let long = format!("q={}", "x".repeat(2_000));
    assert!(matches!(ListQuery::parse(Some(&long)), Err(Fault::Bad(_))));
    assert!(matches!(ListQuery::parse(Some("q=%ff")), Err(Fault::Bad(_))));
}
