//! Definitions of externals in all their forms.

use proptest::prelude::*;

use super::*;

fn at(text: &str) -> &Url {
    Url::new(text).unwrap()
}

fn parse_all(value: &str) -> SvnResult<Vec<External>> {
    parse(value, "dir", &|text| Timestamp::parse(text.as_bytes()).ok())
}

fn one(line: &str) -> External {
    let mut all = parse_all(line).unwrap();
    assert_eq!(all.len(), 1, "{line}");
    all.remove(0)
}

fn revision(n: u64) -> Revision {
    Revision::Number(Revnum(n))
}

#[test]
fn six_forms() {
    use Form::{DirectoryFirst, UrlFirst};
    for (line, form, peg, rev) in [
        ("d http://h/x", DirectoryFirst, Revision::Head, Revision::Head),
        ("d -r 5 http://h/x", DirectoryFirst, revision(5), revision(5)),
        ("d -r5 http://h/x", DirectoryFirst, revision(5), revision(5)),
        ("http://h/x d", UrlFirst, Revision::Head, Revision::Head),
        ("-r 5 http://h/x d", UrlFirst, Revision::Head, revision(5)),
        ("-r5 http://h/x@7 ./d/", UrlFirst, revision(7), revision(5)),
        ("http://h/x@7 d", UrlFirst, revision(7), revision(7)),
        ("\"http://h/x\" 'd'", UrlFirst, Revision::Head, Revision::Head),
    ] {
        let got = one(line);
        assert_eq!((got.form, got.peg, got.revision), (form, peg, rev), "{line}");
        assert_eq!((got.url.as_str(), got.target.as_str()), ("http://h/x", "d"), "{line}");
    }
    let dated = one("-r{2020-01-01T00:00:00.000000Z} ^/x d");
    assert!(matches!(dated.revision, Revision::Date(_)));
    assert_eq!(dated.revision_text.as_deref(), Some("-r{2020-01-01T00:00:00.000000Z}"));
    assert_eq!(one("/x d").form, UrlFirst);
    assert_eq!(one("^/x@ d").url, "^/x");
    assert_eq!(one("^/a\\ b \"c d\"").target, "c d");
}

#[test]
fn comments_and_several() {
    assert_eq!(parse_all("# no\n\n  ^/a b\r\n^/c b\n^/d b").unwrap().len(), 3);
    let list = parse_all("^/a x\n^/b x\n^/c x\n^/d y").unwrap();
    assert_eq!(duplicate_targets(&list), ["x"]);
}

#[test]
fn refused() {
    for (line, words) in [
        ("one", "Error parsing svn:externals property on 'dir': 'one'"),
        ("a b c", "Error parsing svn:externals property on 'dir': 'a b c'"),
        ("-rHEAD ^/a b", "Error parsing svn:externals property on 'dir': '-rHEAD ^/a b'"),
        (
            "^/a ../b",
            "Invalid svn:externals property on 'dir': target '../b' is an absolute path or involves '..'",
        ),
        (
            "^/a /b/",
            "Invalid svn:externals property on 'dir': target '/b' is an absolute path or involves '..'",
        ),
        (
            "-r1 a http://h/b",
            "Invalid svn:externals property on 'dir': cannot use a URL 'http://h/b' as the target directory for an external definition",
        ),
    ] {
        let error = parse_all(line).unwrap_err();
        assert_eq!(error.message(), words);
        assert_eq!(error.code(), ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION);
    }
    assert!(parse_all("http://h/a http://h/b").is_err());
    assert_eq!(parse_all("^/a@x b").unwrap_err().code(), ErrorCode::CL_ARG_PARSING_ERROR);
}

#[test]
fn relative_urls() {
    let (root, directory) = ("svn://h/r", "svn://h/r/trunk/d");
    for (url, want) in [
        ("^/x", "svn://h/r/x"),
        ("^/../q/./x", "svn://h/q/x"),
        ("^/../../../q", "svn://h/q"),
        ("../x", "svn://h/r/trunk/x"),
        ("//g/x/", "svn://g/x"),
        ("/q/x", "svn://h/q/x"),
        ("http://G/x/", "http://g/x"),
        ("^/a b", "svn://h/r/a%20b"),
    ] {
        let external = External { url: url.to_owned(), ..one("^/a b") };
        let found = external.resolve(at(root), at(directory)).unwrap();
        assert_eq!(found, want, "{url}");
    }
    for url in ["//h/../x", "/a/../b", "x/y"] {
        let external = External { url: url.to_owned(), ..one("^/a b") };
        let error = external.resolve(at(root), at(directory)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::BAD_URL);
    }
}

proptest! {
    /// No target leads out of its directory, and no text does harm.
    #[test]
    fn targets_stay_inside(text in "([-rd ^/.\"'\\\\@\n#{}0-9]|\\.\\./|http://|[a-z]){0,30}") {
        if let Ok(list) = parse_all(&text) {
            for external in list {
                let _resolved = external.resolve(at("svn://h/r"), at("svn://h/r/t"));
                prop_assert!(!external.target.is_empty());
                prop_assert!(!external.target.starts_with('/'));
                prop_assert!(path::components(&external.target).all(|c| c != ".." && c != "."));
            }
        }
    }
}
