//! Archives: what is in them, and what is not. (`cli/tests/http_archives.rs` unpacks them with other programs.)

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::*;
use crate::budget;

fn archive(place: &Place, access: &SharedAuthorizer, rest: &str) -> Result<Vec<u8>, Fault> {
    place.with(&**access, rest, |request| {
        let mut archive = crate::archive(request, access)?.ok_or(Fault::Missing)?;
        let (mut bytes, mut longest) = (Vec::new(), 0);
        loop {
            let before = bytes.len();
            let goes_on = archive.make(&mut bytes)?;
            longest = longest.max(bytes.len() - before);
            if !goes_on {
                break;
            }
        }
        assert!(longest < 256 << 10, "one piece has {longest} bytes");
        Ok(bytes)
    })
}

fn tar(place: &Place, access: &SharedAuthorizer, rest: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = archive(place, access, rest).unwrap();
    GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn what_may_not_be_read_is_in_no_archive() {
    let place = Place::new();
    let (all, some): (SharedAuthorizer, SharedAuthorizer) =
        (Arc::new(Everything), Arc::new(Hides("/secret")));
    let open = tar(&place, &all, "/tar.gz/");
    assert!(contains(&open, "r-r3/secret/plan") && contains(&open, "another plan"));
    let hidden = tar(&place, &some, "/tar.gz/");
    assert!(contains(&hidden, "r-r3/trunk/code.c") && contains(&hidden, "2 < 3"));
    assert!(!contains(&hidden, "secret") && !contains(&hidden, "plan"));
    // It is the archive of a tree in which that never was.
    place.commit("without it", |txn| txn.delete(FsPath::trusted("/secret")).unwrap());
    let without = tar(&place, &all, "/tar.gz/?p=4");
    let named = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("r-r3", "r-r4");
    assert_eq!(named(&hidden).len(), named(&without).len());
    let zipped = archive(&place, &some, "/zip/?p=3").unwrap();
    assert!(contains(&zipped, "r-r3/trunk/code.c") && !contains(&zipped, "secret"));
    for kind in ["zip", "tar.gz"] {
        for path in ["secret", "secret/plan", "none", "trunk/code.c", "secret?p=3", "?p=99"] {
            let got = archive(&place, &some, &format!("/{kind}/{path}"));
            assert!(matches!(got, Err(Fault::Missing)), "{kind} {path}");
        }
    }
}

/// It is known before the first byte is sent, without what may not be read.
#[test]
fn what_is_too_large_has_no_archive() {
    let place = Place::new();
    let everything: SharedAuthorizer = Arc::new(Everything);
    place.commit("many", |txn| {
        txn.make_dir(FsPath::trusted("/secret/many")).unwrap();
        for n in 0..budget::ARCHIVE_ENTRIES {
            txn.make_file(FsPath::trusted(&format!("/secret/many/f{n}"))).unwrap();
        }
    });
    let got = archive(&place, &everything, "/zip/");
    assert!(matches!(got, Err(Fault::TooMuch(words::ARCHIVE_TOO_LARGE))));
    let hides: SharedAuthorizer = Arc::new(Hides("/secret"));
    assert!(archive(&place, &hides, "/zip/").is_ok());
    assert!(archive(&place, &everything, "/zip/trunk").is_ok());
    // A name that has no room in a `.zip`.
    place.commit("long", |txn| {
        let mut path = "/trunk".to_owned();
        while path.len() <= budget::ARCHIVE_NAME {
            path = format!("{path}/{}", "n".repeat(4_000));
            txn.make_dir(FsPath::trusted(&path)).unwrap();
        }
    });
    let long = archive(&place, &everything, "/zip/trunk");
    assert!(matches!(long, Err(Fault::TooMuch(_))));
}

/// The same address has the same bytes, whenever it is asked for.
#[test]
fn archives_stay_what_they_are() {
    let place = Place::new();
    let everything: SharedAuthorizer = Arc::new(Everything);
    for kind in ["zip", "tar.gz"] {
        let of = || archive(&place, &everything, &format!("/{kind}/trunk?p=2")).unwrap();
        assert_eq!(of(), of(), "{kind}");
    }
}
