//! Properties that hold for every text, window and stream.

use proptest::collection::vec;
use proptest::prelude::*;
use sapwood_delta::xdelta::Xdelta;
use sapwood_delta::{Decoder, Encoder, Op, Scratch, Version, Window, WindowHeader, compose};

/// A text with repetitions, so that deltas have something to find.
fn text(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..max),
        vec(0u8..3, 0..max),
        (vec(vec(any::<u8>(), 1..80), 1..8), vec(0usize..8, 0..40)).prop_map(|(words, order)| {
            order.iter().flat_map(|n| words[n % words.len()].clone()).collect()
        }),
    ]
}

/// Edits of a text: at a place, so much goes and this comes.
fn edited(max: usize) -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    (text(max), vec((any::<prop::sample::Index>(), 0usize..200, text(100)), 0..6)).prop_map(
        |(source, edits)| {
            let mut target = source.clone();
            for (at, gone, new) in edits {
                let from = at.index(target.len() + 1);
                let to = (from + gone).min(target.len());
                target.splice(from..to, new);
            }
            (source, target)
        },
    )
}

/// Any valid window over `source_len` bytes.
fn window(source_len: usize) -> impl Strategy<Value = Window> {
    let op = (0u8..3, any::<prop::sample::Index>(), 1usize..150, text(60));
    (vec(op, 0..20), 0u64..1 << 40).prop_map(move |(ops, source_offset)| {
        let mut w = Window { source_offset, source_len, ..Window::default() };
        for (kind, at, len, new) in ops {
            match kind {
                0 if source_len > 0 => {
                    let from = at.index(source_len);
                    w.push_source(from, len.min(source_len - from));
                }
                1 if w.target_len > 0 => w.push_target(at.index(w.target_len), len),
                _ => w.push_new(&new),
            }
        }
        w
    })
}

fn apply(window: &Window, source: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    window.apply(source, &mut out).unwrap();
    out
}

/// What the instructions mean, byte by byte.
fn apply_slowly(window: &Window, source: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for op in &window.ops {
        for n in 0..op.len() {
            let byte = match *op {
                Op::Source { offset, .. } => source[offset + n],
                Op::Target { offset, .. } => out[offset + n],
                Op::New { offset, .. } => window.new_data[offset + n],
            };
            out.push(byte);
        }
    }
    out
}

proptest! {
    #[test]
    fn applying_means_what_the_instructions_say(
        (source, w) in vec(any::<u8>(), 0..300).prop_flat_map(|s| {
            let len = s.len();
            (Just(s), window(len))
        })
    ) {
        prop_assert_eq!(apply(&w, &source), apply_slowly(&w, &source));
    }

    #[test]
    fn decoding_undoes_encoding(w in window(300), pieces in 1usize..400) {
        for version in [Version::V0, Version::V1, Version::V2] {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(version, 6);
            encoder.encode(&w, &mut bytes);
            encoder.encode(&w, &mut bytes);
            let mut decoder = Decoder::new();
            let mut seen = Vec::new();
            for piece in bytes.chunks(pieces) {
                decoder.push(piece);
                while let Some(window) = decoder.next_window().unwrap() {
                    seen.push(window);
                }
            }
            decoder.finish().unwrap();
            prop_assert_eq!(&seen, &[w.clone(), w.clone()]);
        }
    }

    #[test]
    fn computed_deltas_make_the_target((source, target) in edited(3000)) {
        let mut w = Window::default();
        let mut xdelta = Xdelta::new();
        xdelta.compute(0, &source, &target, &mut w);
        prop_assert_eq!(apply(&w, &source), &target[..]);
        prop_assert!(w.new_data.len() <= target.len());
        prop_assert!(w.ops.iter().all(|op| !op.is_empty()));
        // The tables hold nothing of the last texts.
        let again = w.clone();
        xdelta.compute(0, &target, &source, &mut w);
        xdelta.compute(0, &source, &target, &mut w);
        prop_assert_eq!(w, again);
    }

    #[test]
    fn composing_is_applying_one_after_the_other(
        (source, first, second) in vec(any::<u8>(), 0..300).prop_flat_map(|s| {
            let len = s.len();
            (Just(s), window(len))
        }).prop_flat_map(|(s, first)| {
            let len = first.target_len;
            (Just(s), Just(first), window(len))
        })
    ) {
        let mut joined = Window::default();
        compose(&first, &second, 0, &mut joined).unwrap();
        let middle = apply(&first, &source);
        prop_assert_eq!(apply(&joined, &source), apply(&second, &middle));
    }

    #[test]
    fn damaged_streams_are_errors_or_valid_windows(
        w in window(300),
        version in 0usize..3,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let version = [Version::V0, Version::V1, Version::V2][version];
        let mut bytes = Vec::new();
        Encoder::new(version, 6).encode(&w, &mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let mut decoder = Decoder::new();
        decoder.push(&bytes);
        while let Ok(Some(window)) = decoder.next_window() {
            let source = vec![0; window.source_len];
            prop_assert_eq!(apply(&window, &source).len(), window.target_len);
        }
    }

    #[test]
    fn any_bytes_decode_or_not(bytes in vec(any::<u8>(), 0..200), version in 0usize..3) {
        let version = [Version::V0, Version::V1, Version::V2][version];
        if let Ok(Some((header, len))) = WindowHeader::parse(&bytes) {
            let mut window = Window::default();
            let body = &bytes[len..];
            let _ = sapwood_delta::svndiff::decode_window(
                version, &header, body, &mut Scratch::new(), &mut window,
            );
        }
    }
}
