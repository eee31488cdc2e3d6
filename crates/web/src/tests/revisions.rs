//! What the page of a revision has beside its lines: issues in its message, pictures.

use super::*;

/// The tracker is the one of the nearest folder, and one whose folder may not be read is none.
#[test]
fn messages_lead_to_issues() {
    let place = Place::new();
    place.commit("no link", |txn| {
        let mut set = |path: &str, name: &str, value: &str| {
            txn.change_prop(FsPath::trusted(path), name, Some(value.as_bytes())).unwrap();
        };
        set("/", "bugtraq:url", "https://all/%BUGID%");
        set("/", "bugtraq:logregex", "#(\\d+)");
        set("/trunk", "bugtraq:url", "/own/%BUGID%");
        set("/secret", "bugtraq:url", "https://hidden/%BUGID%");
    });
    place.commit("fixes #12 <b>\n\nand #13", |txn| text(txn, "/trunk/code.c", "one\n"));
    let page = place.body(&Everything, "/rev/5");
    for part in ["fixes #<a", "href=\"/own/12\"", "&lt;b&gt;", "href=\"/own/13\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let log = place.body(&Everything, "/log/trunk/code.c");
    assert!(log.contains("href=\"/own/12\"") && log.contains("href=\"/own/13\""), "{log}");
    assert!(place.body(&Everything, "/log/").contains("href=\"https://all/12\""));
    place.commit("hides #14", |txn| text(txn, "/secret/plan", "more\n"));
    assert!(place.body(&Everything, "/rev/6").contains("https://hidden/14"));
    let hidden = place.body(&Hides("/secret"), "/rev/6");
    assert!(!hidden.contains("hidden/") && !hidden.contains("#14"), "{hidden}");
    // What may not be read says nothing of what may.
    place.commit("moved", |txn| {
        txn.change_prop(FsPath::trusted("/"), "bugtraq:url", None).unwrap();
        txn.change_prop(FsPath::trusted("/trunk"), "bugtraq:url", None).unwrap();
    });
    assert!(!place.body(&Everything, "/rev/5").contains("href=\"/own"));
}

/// Hides a folder, and nothing that is in it.
struct HidesFolder(&'static str);

impl PathAuthorizer for HidesFolder {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(*path != *FsPath::trusted(self.0))
    }
}

/// What changed may be read, and the folder that it is in may not: its properties say nothing.
#[test]
fn trackers_of_hidden_folders_are_none() {
    let place = Place::new();
    place.commit("a tracker", |txn| {
        let mut set = |path: &str, value: &str| {
            txn.change_prop(FsPath::trusted(path), "bugtraq:url", Some(value.as_bytes())).unwrap();
        };
        set("/", "https://all/%BUGID%");
        set("/trunk", "https://closed/%BUGID%");
        let (root, pattern) = (FsPath::ROOT, b"#(\\d+)");
        txn.change_prop(root, "bugtraq:logregex", Some(pattern)).unwrap();
    });
    place.commit("fixes #12", |txn| {
        text(txn, "/trunk/code.c", "one\n");
        text(txn, "/trunk/README.md", "two\n");
    });
    assert!(place.body(&Everything, "/rev/5").contains("https://closed/12"));
    let seen = place.body(&HidesFolder("/trunk"), "/rev/5");
    assert!(seen.contains("https://all/12") && !seen.contains("closed"), "{seen}");
}

/// Pictures before and after a change come from where each may be read.
#[test]
fn pictures_stand_beside_each_other() {
    let place = Place::new();
    place.commit("pictures", |txn| {
        for path in ["/trunk/a.png", "/secret/b.png", "/trunk/c.svg"] {
            file(txn, path, "old\0");
        }
        let svg = (FsPath::trusted("/trunk/c.svg"), Some(&b"image/svg+xml"[..]));
        txn.change_prop(svg.0, "svn:mime-type", svg.1).unwrap();
        // As `svn add` has it.
        let png = (FsPath::trusted("/trunk/a.png"), Some(&b"application/octet-stream"[..]));
        txn.change_prop(png.0, "svn:mime-type", png.1).unwrap();
    });
    let old = place.repository.fs().revision_root(Revnum(4)).unwrap();
    place.commit("copied and changed", |txn| {
        txn.copy(&old, FsPath::trusted("/secret/b.png"), FsPath::trusted("/trunk/b.png"), true)
            .unwrap();
        for path in ["/trunk/a.png", "/trunk/b.png", "/trunk/c.svg"] {
            text(txn, path, "new\0");
        }
    });
    let image = |path: &str, revision: u64| format!("<img src=\"/r{path}?p={revision}\"");
    for page in ["/rev/5", "/compare/trunk?from=4"] {
        let all = place.body(&Everything, page);
        for path in ["/trunk/a.png", "/trunk/c.svg"] {
            assert!(
                all.contains(&image(path, 4)) && all.contains(&image(path, 5)),
                "{page}: {all}"
            );
        }
    }
    assert!(place.body(&Everything, "/rev/5").contains(&image("/secret/b.png", 4)));
    let hidden = place.body(&Hides("/secret"), "/rev/5");
    assert!(!hidden.contains("secret"), "{hidden}");
    assert!(hidden.contains(&image("/trunk/b.png", 5)) && hidden.contains(words::NO_PICTURE));
}

/// Many changed paths are folded by their folders, as far as they may be read; few are one list.
#[test]
fn many_paths_are_folded_by_their_folders() {
    let place = Place::new();
    place.commit("many", |txn| {
        for folder in ["/secret/a", "/trunk/<b>", "/trunk/c"] {
            txn.make_dir(FsPath::trusted(folder)).unwrap();
            (0..12).for_each(|n| file(txn, &format!("{folder}/f{n}"), "x\n"));
        }
    });
    let page = place.body(&Everything, "/rev/4");
    let folders = |page: &str| -> Vec<String> {
        let parts = page.split("<details class=\"folder\" open><summary><bdi>").skip(1);
        parts.map(|part| part.split_once("</summary>").unwrap().0.replace("</bdi>", "")).collect()
    };
    let all = [
        "/secret (1)",
        "/secret/a (12)",
        "/trunk (1)",
        "/trunk/&lt;b&gt; (12)",
        "/trunk (1)",
        "/trunk/c (12)",
    ];
    assert_eq!(folders(&page), all);
    assert_eq!(page.matches("<ul class=\"paths\">").count(), all.len());
    let hidden = place.body(&Hides("/secret"), "/rev/4");
    assert_eq!(folders(&hidden), all[2..]);
    assert!(folders(&place.body(&Everything, "/rev/1")).is_empty());
}

/// A change of mergeinfo is said in words; what is stored is there, too.
#[test]
fn mergeinfo_is_said_in_words() {
    let place = Place::new();
    let set = |value: &str| {
        place.commit("merge", |txn| {
            txn.change_prop(FsPath::trusted("/trunk"), "svn:mergeinfo", Some(value.as_bytes()))
                .unwrap();
        });
    };
    set("/b:5-9\n");
    set("/b:5-8,12-14\n");
    let page = place.body(&Everything, "/rev/5");
    let merged = "<li>merged <a href=\"/r/-/rev/12\" rel=\"nofollow\">r12</a>\u{2013}<a href=\"/r/-/rev/14\" rel=\"nofollow\">r14</a> from <bdi>/b</bdi></li>";
    assert!(page.contains(merged), "{page}");
    assert!(
        page.contains("<li>reversed <a href=\"/r/-/rev/9\" rel=\"nofollow\">r9</a> from"),
        "{page}"
    );
    assert!(page.contains(words::AS_STORED) && page.contains("/b:5-8,12-14"), "{page}");
    let compared = place.body(&Everything, "/compare/trunk?from=3");
    assert!(
        compared.contains("merged <a href=\"/r/-/rev/5\"") && compared.contains("/r/-/rev/14"),
        "{compared}"
    );
}
