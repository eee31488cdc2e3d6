//! Files between their two forms. The first line is `svn:keywords`, the second `svn:eol-style`, the rest the text. A
//! text that comes in pieces is translated as one that comes whole, and a working file that was made of a text in
//! normal form stays as it is when it is made again.

use jiff::tz::TimeZone;
use sapwood_core::date::Timestamp;
use sapwood_core::{PropList, Revnum};
use sapwood_wc::translate::{Direction, KeywordSource, Translation};

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let (Some(keywords), Some(eol), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let mut props = PropList::default();
    for (name, value) in [("svn:keywords", keywords), ("svn:eol-style", eol)] {
        if !value.is_empty() {
            props.set(name, value);
        }
    }
    let source = KeywordSource {
        revision: Some(Revnum(17)),
        modified: false,
        date: Some(Timestamp(1_400_000_000_000_000)),
        author: Some("näme"),
        url: "http://host/repo/a%20b/file%25.c",
        root: "http://host/repo",
        zone: &TimeZone::UTC,
    };
    let translation = Translation::of(&props, Some(&source));
    for direction in [Direction::ToNormal, Direction::ToWorking] {
        let whole = translate(&translation, direction, text, text.len());
        for piece in [1, 2, 255] {
            assert_eq!(whole, translate(&translation, direction, text, piece), "pieces of {piece}");
        }
    }
    // To normal form and back: what comes out is a fixed point.
    let Some(normal) = translate(&translation, Direction::ToNormal, text, text.len()) else {
        return;
    };
    let there = |text: &[u8]| translate(&translation, Direction::ToWorking, text, text.len());
    let back = |text: &[u8]| translate(&translation, Direction::ToNormal, text, text.len());
    let Some(working) = there(&normal) else { return };
    let longest = working.len().saturating_sub(normal.len());
    assert!(longest <= normal.len().saturating_mul(255), "{longest} bytes more");
    if let Some(again) = back(&working) {
        assert!(back(&again).is_some(), "what is in normal form can be read");
    }
}

/// Translates in pieces; nothing when line ends are mixed or their style is unknown.
fn translate(
    translation: &Translation,
    direction: Direction,
    text: &[u8],
    piece: usize,
) -> Option<Vec<u8>> {
    let mut translator = translation.translator(direction, false).ok()?;
    let mut out = Vec::new();
    for piece in text.chunks(piece.max(1)) {
        translator.push(piece, &mut out).ok()?;
    }
    translator.finish(&mut out).ok()?;
    Some(out)
}
