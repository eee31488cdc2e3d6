//! Sound, films and PDF within the page of their file.

use super::*;

fn policy(reply: &Reply) -> &str {
    let found = reply.headers.iter().find(|(name, _)| *name == "content-security-policy");
    found.map_or("", |(_, value)| value)
}

/// Each page allows what it shows, and no page anything of what is stored besides.
#[test]
fn players_are_allowed_where_they_are() {
    let place = Place::new();
    place.commit("media", |txn| {
        for name in ["/a.mp3", "/b.webm", "/c.pdf", "/d.html", "/e.pdf"] {
            file(txn, name, "a\0b");
        }
        txn.change_prop(
            FsPath::trusted("/a.mp3"),
            "svn:mime-type",
            Some(b"application/octet-stream"),
        )
        .unwrap();
        txn.change_prop(FsPath::trusted("/e.pdf"), "svn:mime-type", Some(b"text/html")).unwrap();
    });
    for (name, element, allowed) in [
        (
            "a.mp3",
            "<audio controls preload=\"metadata\" src=\"/r/-/media/a.mp3?p=4\"",
            "media-src 'self'",
        ),
        (
            "b.webm",
            "<video controls preload=\"metadata\" src=\"/r/-/media/b.webm?p=4\"",
            "media-src 'self'",
        ),
        (
            "c.pdf",
            "<object type=\"application/pdf\" data=\"/r/-/media/c.pdf?p=4\"",
            "object-src 'self'",
        ),
    ] {
        let reply = place.ask(&Everything, &format!("/tree/{name}")).unwrap();
        assert!(reply.body.contains(element), "{name}: {}", reply.body);
        assert!(
            policy(&reply).ends_with("'self'") && policy(&reply).contains(allowed),
            "{}",
            policy(&reply)
        );
    }
    for page in PAGES.into_iter().chain(["/tree/d.html", "/tree/e.pdf"]) {
        let reply = place.ask(&Everything, page).unwrap();
        for source in ["media-src", "object-src", "frame-src"] {
            assert!(!policy(&reply).contains(source), "{page}: {}", policy(&reply));
        }
    }
    let headers = |page: &str| {
        place.with(&Everything, page, |request| {
            let media = crate::media(request)?;
            Ok((media.headers().collect::<Vec<_>>(), media.is_fixed))
        })
    };
    let (sent, is_fixed) = headers("/media/a.mp3?p=4").unwrap();
    assert!(is_fixed && sent.contains(&("content-type", "audio/mpeg")), "{sent:?}");
    assert!(sent.contains(&("content-security-policy", "default-src 'none'; sandbox")), "{sent:?}");
    assert!(sent.contains(&("x-content-type-options", "nosniff")), "{sent:?}");
    assert!(!headers("/media/c.pdf").unwrap().1);
    // What is not of the list has no such address, whatever its name is.
    for other in [
        "/media/d.html",
        "/media/e.pdf",
        "/media/",
        "/media/trunk",
        "/media/trunk/code.c",
        "/media/none.mp3",
    ] {
        assert!(matches!(headers(other), Err(Fault::Missing)), "{other}");
    }
}

#[test]
fn hidden_media_are_not_there() {
    let place = Place::new();
    place.commit("media", |txn| file(txn, "/secret/a.mp3", "x"));
    let ask = |access: &dyn PathAuthorizer| {
        place.with(access, "/media/secret/a.mp3?p=4", |request| crate::media(request).map(|_| ()))
    };
    assert!(ask(&Everything).is_ok());
    assert!(matches!(ask(&Hides("/secret")), Err(Fault::Missing)));
}
