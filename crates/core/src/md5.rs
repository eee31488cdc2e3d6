//! MD5, as RFC 1321 describes it.
//!
//! Each text that enters or leaves a repository goes through it, and it can only be computed one step after the other:
//! how fast a step is decides how fast large files are. Invariant: what a step adds that does not depend on the step
//! before it is added up before that one is done.

use std::hint::black_box;

use crate::exact::{clamped, len64};

/// The bytes that are hashed together.
const BLOCK: usize = 64;

/// The four words of the state.
type State = [u32; 4];

const START: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// What the steps of the four rounds add.
#[rustfmt::skip]
static ADDED: [[u32; 16]; 4] = [
    [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee,
        0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be,
        0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    ],
    [
        0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa,
        0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed,
        0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    ],
    [
        0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c,
        0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
        0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05,
        0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    ],
    [
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039,
        0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
        0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1,
        0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ],
];

/// MD5 in the making.
#[derive(Clone)]
pub(crate) struct Engine {
    state: State,
    /// The begin of a block that is not whole.
    rest: [u8; BLOCK],
    /// How many bytes came.
    len: u64,
}

impl Default for Engine {
    fn default() -> Self {
        Self { state: START, rest: [0; BLOCK], len: 0 }
    }
}

impl Engine {
    /// The digest of `bytes`.
    pub(crate) fn digest(bytes: &[u8]) -> [u8; 16] {
        let mut engine = Self::default();
        engine.update(bytes);
        engine.finalize()
    }

    /// Adds the next piece.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let waiting = clamped(self.len % len64(BLOCK));
        self.len = self.len.wrapping_add(len64(bytes.len()));
        if waiting > 0 {
            let (_, free) = self.rest.split_at_mut(waiting);
            let (now, later) = bytes.split_at(bytes.len().min(free.len()));
            let full = now.len() == free.len();
            free.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
            if !full {
                return;
            }
            compress(&mut self.state, std::slice::from_ref(&self.rest));
            bytes = later;
        }
        let (blocks, rest) = bytes.as_chunks();
        compress(&mut self.state, blocks);
        self.rest.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    }

    /// The digest of all that was added: a bit, zeros, and the length in bits end the text.
    pub(crate) fn finalize(mut self) -> [u8; 16] {
        let bits = self.len.wrapping_mul(8).to_le_bytes();
        self.update(&[0x80]);
        while self.len % 64 != 56 {
            self.update(&[0]);
        }
        self.update(&bits);
        let mut digest = [0; 16];
        for (to, word) in digest.as_chunks_mut().0.iter_mut().zip(self.state) {
            *to = word.to_le_bytes();
        }
        digest
    }
}

/// Adds whole blocks.
fn compress(state: &mut State, blocks: &[[u8; BLOCK]]) {
    // What the compiler does not know it cannot add last, where the next step waits for it.
    let [first, second, third, fourth] = black_box(&ADDED);
    for block in blocks {
        let [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = words(block);
        let words = [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15];
        let now = round(*state, words, first, [7, 12, 17, 22], |x, y, z, sum| {
            (z ^ (x & (y ^ z))).wrapping_add(sum)
        });
        let words = [m1, m6, m11, m0, m5, m10, m15, m4, m9, m14, m3, m8, m13, m2, m7, m12];
        // Both halves have no bit in common: their sum is their union.
        let now = round(now, words, second, [5, 9, 14, 20], |x, y, z, sum| {
            (x & z).wrapping_add(sum.wrapping_add(y & !z))
        });
        let words = [m5, m8, m11, m14, m1, m4, m7, m10, m13, m0, m3, m6, m9, m12, m15, m2];
        let now = round(now, words, third, [4, 11, 16, 23], |x, y, z, sum| {
            (x ^ (y ^ z)).wrapping_add(sum)
        });
        let words = [m0, m7, m14, m5, m12, m3, m10, m1, m8, m15, m6, m13, m4, m11, m2, m9];
        let [a, b, c, d] = round(now, words, fourth, [6, 10, 15, 21], |x, y, z, sum| {
            (y ^ (x | !z)).wrapping_add(sum)
        });
        let [a0, b0, c0, d0] = *state;
        *state = [a0.wrapping_add(a), b0.wrapping_add(b), c0.wrapping_add(c), d0.wrapping_add(d)];
    }
}

/// The words of a block.
#[inline(always)]
fn words(block: &[u8; BLOCK]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// Sixteen steps, written out: where the compiler makes a loop of them, what the order of the additions gains is lost.
#[inline(always)]
fn round(
    state: State,
    words: [u32; 16],
    added: &[u32; 16],
    turns: [u32; 4],
    mix: impl Fn(u32, u32, u32, u32) -> u32 + Copy,
) -> State {
    let [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15] = words;
    let [k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15] = *added;
    let now = four(state, [w0, w1, w2, w3], [k0, k1, k2, k3], turns, mix);
    let now = four(now, [w4, w5, w6, w7], [k4, k5, k6, k7], turns, mix);
    let now = four(now, [w8, w9, w10, w11], [k8, k9, k10, k11], turns, mix);
    four(now, [w12, w13, w14, w15], [k12, k13, k14, k15], turns, mix)
}

/// Four steps: `mix` adds what it makes of three words of the state to a sum.
#[inline(always)]
fn four(
    [a, b, c, d]: State,
    [w0, w1, w2, w3]: [u32; 4],
    [k0, k1, k2, k3]: [u32; 4],
    [t0, t1, t2, t3]: [u32; 4],
    mix: impl Fn(u32, u32, u32, u32) -> u32,
) -> State {
    let a = mix(b, c, d, a.wrapping_add(w0).wrapping_add(k0)).rotate_left(t0).wrapping_add(b);
    let d = mix(a, b, c, d.wrapping_add(w1).wrapping_add(k1)).rotate_left(t1).wrapping_add(a);
    let c = mix(d, a, b, c.wrapping_add(w2).wrapping_add(k2)).rotate_left(t2).wrapping_add(d);
    let b = mix(c, d, a, b.wrapping_add(w3).wrapping_add(k3)).rotate_left(t3).wrapping_add(c);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use md5::Digest as _;
    use proptest::prelude::*;

    use super::*;

    /// The digests of RFC 1321.
    #[test]
    fn digests_of_the_standard() {
        let hex = |text: &str| crate::Md5(Engine::digest(text.as_bytes())).to_hex();
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("a"), "0cc175b9c0f1b6a831c399e269772661");
        assert_eq!(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        assert_eq!(hex("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
        assert_eq!(hex(&"1234567890".repeat(8)), "57edf4a22be3c955ac49da2e2107b67a");
    }

    proptest! {
        /// Whatever the text is, and in whatever pieces it comes: the digest is that of another program.
        #[test]
        fn digests_are_those_of_another_program(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
        ) {
            let mut engine = Engine::default();
            pieces.iter().for_each(|piece| engine.update(piece));
            let expected: [u8; 16] = md5::Md5::digest(pieces.concat()).into();
            prop_assert_eq!(engine.finalize(), expected);
        }
    }

    /// Each length of what is left, cut in each way.
    #[test]
    fn lengths_around_a_block() {
        let text: Vec<u8> = (0..130).collect();
        for len in 0..=text.len() {
            let text = &text[..len];
            let expected: [u8; 16] = md5::Md5::digest(text).into();
            for cut in 0..=len {
                let mut engine = Engine::default();
                engine.update(&text[..cut]);
                engine.update(&text[cut..]);
                assert_eq!(engine.finalize(), expected, "{len} bytes cut at {cut}");
            }
        }
    }
}
