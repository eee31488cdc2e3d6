//! The numbers and examples of `docs/formats/svndiff.md` are those of the code.

use sapwood_core::SvnError;
use sapwood_delta::svndiff::{INSTRUCTIONS_MAX, NEW_DATA_MAX, WINDOW_HEADER_MAX};
use sapwood_delta::{Decoder, Error, WINDOW_MAX, varint};

const PAGE: &str = include_str!("../../../docs/formats/svndiff.md");

/// The bytes of the fenced blocks that begin with `fence`; each line's bytes end at the first two
/// spaces.
fn examples(fence: &str) -> Vec<Vec<u8>> {
    PAGE.split("```")
        .filter_map(|block| block.strip_prefix(fence))
        .map(|block| {
            block
                .lines()
                .flat_map(|line| line.split("  ").next().unwrap().split_whitespace())
                .map_while(|pair| u8::from_str_radix(pair, 16).ok())
                .collect()
        })
        .collect()
}

#[test]
fn limits() {
    for (name, value) in [
        ("WINDOW_MAX", WINDOW_MAX),
        ("INSTRUCTIONS_MAX", INSTRUCTIONS_MAX),
        ("NEW_DATA_MAX", NEW_DATA_MAX),
        ("WINDOW_HEADER_MAX", WINDOW_HEADER_MAX),
        ("varint::MAX_LEN", varint::MAX_LEN),
    ] {
        let row = format!("| {value} | `{name}` |");
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn error_numbers() {
    for error in [
        Error::Header,
        Error::LargeWindow,
        Error::BackwardView,
        Error::TargetShort,
        Error::UnexpectedEnd,
        Error::PackedMismatch,
        Error::Zlib,
        Error::Lz4,
    ] {
        let row = format!("| {} |", SvnError::from(error).code());
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn the_example_decodes() {
    let valid = examples("hex valid\n");
    assert_eq!(valid.len(), 1);
    let mut decoder = Decoder::new();
    decoder.push(&valid[0]);
    let window = decoder.next_window().unwrap().unwrap();
    decoder.finish().unwrap();
    let mut made = Vec::new();
    window.apply(b"the dog sat on the rug", &mut made).unwrap();
    assert_eq!(String::from_utf8(made).unwrap(), "the cat sat on the mat!!!!!!!!");

    let refused = examples("hex\n");
    assert_eq!(refused.len(), 1);
    let mut decoder = Decoder::new();
    decoder.push(&refused[0]);
    assert_eq!(decoder.next_window(), Err(Error::Undecodable(5)));
}
