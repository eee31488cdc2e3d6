//! Skels: what is read is written back, and read again the same.

use sapwood_core::skel::Skel;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(skel) = Skel::parse(data) else { return };
    let mut out = Vec::new();
    skel.write(&mut out);
    assert_eq!(Skel::parse(&out), Ok(skel));
}
