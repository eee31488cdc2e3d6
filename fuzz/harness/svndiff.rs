//! svndiff streams: whatever decodes is valid, can be applied, and survives encoding. The first
//! byte says how large the pieces are in which the rest comes.

use sapwood_delta::{Decoder, Encoder, Version, Window, compose};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((size, data)) = data.split_first() else { return };
    let mut decoder = Decoder::new();
    let mut last: Option<(Window, usize)> = None;
    for piece in data.chunks(usize::from(*size).max(1)) {
        decoder.push(piece);
        loop {
            match decoder.next_window() {
                Ok(None) => break,
                Err(_) => return,
                Ok(Some(window)) => check(window, &mut last),
            }
        }
    }
    let _ = decoder.finish();
}

fn check(window: Window, last: &mut Option<(Window, usize)>) {
    let source = vec![b'.'; window.source_len];
    let mut target = Vec::new();
    window.apply(&source, &mut target).expect("what decodes applies");
    assert_eq!(target.len(), window.target_len);
    for version in [Version::V0, Version::V1, Version::V2] {
        let mut bytes = Vec::new();
        Encoder::new(version, 5).encode(&window, &mut bytes);
        let mut again = Decoder::new();
        again.push(&bytes);
        assert_eq!(again.next_window().expect("own encoding"), Some(window.clone()));
    }
    if let Some((first, len)) = last
        && window.source_len <= *len
    {
        let mut joined = Window::default();
        compose(first, &window, 0, &mut joined).expect("windows that fit");
        let mut middle = Vec::new();
        first.apply(&vec![b'.'; first.source_len], &mut middle).expect("applied before");
        let (mut direct, mut at_once) = (Vec::new(), Vec::new());
        window.apply(&middle, &mut direct).expect("applied before");
        joined.apply(&vec![b'.'; first.source_len], &mut at_once).expect("joined");
        assert_eq!(direct, at_once);
    }
    let len = window.target_len;
    *last = Some((window, len));
}
