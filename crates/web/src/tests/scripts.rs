//! Our one script: which pages have it, what browsers allow it, and what it finds on a page. What it does is looked at in Chromium.

use super::*;

fn header<'r>(reply: &'r Reply, name: &str) -> &'r str {
    reply.headers.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value)
}

/// Pages allow our script and none besides; what is no page allows none.
#[test]
fn pages_have_one_script_and_nothing_else_has_any() {
    let place = Place::new();
    for page in PAGES {
        let reply = place.ask(&Everything, page).unwrap();
        let policy = header(&reply, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{page}: {policy}");
        let is_page = header(&reply, "content-type").starts_with("text/html");
        assert_eq!(policy.contains("script-src 'self';"), is_page, "{page}: {policy}");
        assert_eq!(policy.contains("require-trusted-types-for 'script'"), is_page, "{page}");
        assert!(!policy.contains("unsafe"), "{page}: {policy}");
        assert!(!reply.body.contains(" onclick="), "{page}");
        let source = reply.body.split("<script src=\"/r/-").nth(1);
        let Some(source) = source.filter(|_| is_page) else { continue };
        let script = place.ask(&Everything, source.split('"').next().unwrap()).unwrap();
        assert_eq!(header(&script, "content-type"), "text/javascript; charset=utf-8");
        assert!(!header(&script, "content-security-policy").contains("script-src"));
        assert!(header(&script, "cache-control").contains("immutable"));
    }
    for (value, _) in VALUES.into_iter().chain([("/feed/", "")]) {
        let Ok(reply) = place.ask(&Everything, value) else { continue };
        assert!(!header(&reply, "content-security-policy").contains("script-src"), "{value}");
    }
    // A browser that has a page has its policy too.
    assert_eq!(header(&Reply::unchanged(), "content-security-policy"), "");
}

/// The script's address has a tag, as long as the program is the same.
#[test]
fn the_script_has_a_tag() {
    let place = Place::new();
    let name = crate::style::script_name();
    let tag = place.with(&Everything, &format!("/style/{name}"), crate::tag).unwrap();
    assert_eq!(tag, Some(format!("\"{name}\"")));
    assert_eq!(place.with(&Everything, "/style/x.js", crate::tag).unwrap(), None);
    assert!(matches!(place.ask(&Everything, "/style/x.js"), Err(Fault::Missing)));
    let same = place.ask(&Everything, &format!("/style/{name}")).unwrap().emptied();
    assert!(
        (same.status, &*same.body) == (304, "")
            && header(&same, "cache-control").contains("immutable")
    );
}

/// What is copied is the path and revision of the page, and a link that shows the same later.
#[test]
fn pages_say_what_can_be_copied() {
    let place = Place::new();
    let says = |page: &str, said: &str| {
        let body = place.body(&Everything, page);
        assert!(body.contains(said), "{page}: {body}");
    };
    says(
        "/tree/trunk/code.c",
        "data-path=\"/trunk/code.c\" data-revision=\"3\" data-link=\"/r/-/tree/trunk/code.c?p=3\"",
    );
    says("/blame/trunk/code.c?p=2", "data-link=\"/r/-/blame/trunk/code.c?p=2\"");
    says("/rev/2", "data-link=\"/r/-/rev/2\"");
    says("/locks/", "data-path=\"/\" data-revision=\"3\">");
    // Times are whole, for a zone to be chosen.
    assert!(place.body(&Everything, "/rev/2").contains("<time class=\"full\" datetime=\"20"));
}

/// Long lines: a link switches how they are shown, and other links of the page keep that.
#[test]
fn long_lines_are_wrapped_or_not_by_a_link() {
    let place = Place::new();
    let long: String = (1..=4_500).map(|n| format!("line {n}\n")).collect();
    place.commit("long", |txn| file(txn, "/long", &long));
    let switch = |page: &str, other: &str, word: &str| {
        let body = place.body(&Everything, page);
        let link =
            format!("href=\"/r/-{}\" rel=\"nofollow\" data-wrap", other.replace('&', "&amp;"));
        assert!(body.contains(&link) && body.contains(word), "{page}: {body}");
        assert_eq!(
            body.contains("class=\"lines unwrapped\" tabindex=\"0\""),
            page.contains("wrap=0"),
            "{page}"
        );
        body
    };
    for page in [
        "/tree/trunk/code.c?p=2",
        "/tree/long?l=1-2",
        "/rev/2?view=split&w=1",
        "/blame/trunk/code.c?p=2&g=1",
    ] {
        switch(page, &format!("{page}&wrap=0"), words::UNWRAPPED);
        switch(&format!("{page}&wrap=0"), page, words::WRAPPED);
    }
    let next = switch("/tree/long?page=2001&wrap=0", "/tree/long?page=2001", words::WRAPPED);
    assert!(
        next.contains("/tree/long?page=4001&amp;wrap=0")
            && next.contains("/tree/long?page=1&amp;wrap=0"),
        "{next}"
    );
    let noindex = |page: &str| place.body(&Everything, page).contains("noindex");
    assert!(
        noindex("/tree/trunk/code.c?wrap=0") && !noindex("/tree/trunk/code.c"),
        "one of both is enough"
    );
    let compared = place.body(&Everything, "/compare/trunk?from=1&wrap=0");
    assert!(compared.contains("name=\"wrap\" value=\"0\""), "{compared}");
}
