//! The packets of a layer: the bytes, a signature over them and their number, both encrypted where that was agreed,
//! then the version and the number.

use std::fmt;

use des::TdesEde2;
use des::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rc4::{Rc4, StreamCipher as _};
use sapwood_core::Md5;
use sapwood_core::exact::{Cut, Exact, clamped};

use super::{Cipher, Protection};
use crate::scram::is_same;
use crate::security_layer::{Layer, LayerError, Open, Seal};

/// Bytes of a signature.
const SIGNATURE: usize = 10;
/// Bytes of the version and the number at the end.
const TRAILER: usize = 6;
const VERSION: [u8; 2] = [0, 1];
/// Bytes of a block of DES.
const BLOCK: usize = 8;

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// The layer of a protection, unless there is none; `max_packet` is what the other side receives.
pub(super) fn layer(
    side: Side,
    protection: Protection,
    session_key: Md5,
    max_packet: u32,
) -> Option<Layer> {
    let cipher = match protection {
        Protection::None => return None,
        Protection::Integrity => None,
        Protection::Confidential(cipher) => Some(cipher),
    };
    let from_client = Keys::new(session_key, "client-to-server");
    let from_server = Keys::new(session_key, "server-to-client");
    let (sent, received) = match side {
        Side::Client => (from_client, from_server),
        Side::Server => (from_server, from_client),
    };
    // A byte at a time is the least that there is.
    let max_plain = clamped(max_packet).checked_sub(SIGNATURE + TRAILER + BLOCK).unwrap_or(1);
    let (sent, received) = (sent.packets(cipher)?, received.packets(cipher)?);
    Some(Layer::new(Box::new(sent), Box::new(received), max_plain))
}

/// The keys of one direction.
struct Keys {
    signing: Md5,
    sealing: Md5,
}

impl Keys {
    fn new(session_key: Md5, direction: &str) -> Self {
        let of = |what: &str| Md5::of(&[&session_key.0[..], what.as_bytes()].concat());
        Self {
            signing: of(&format!("Digest session key to {direction} signing key magic constant")),
            sealing: of(&format!("Digest H(A1) to {direction} sealing key magic constant")),
        }
    }

    /// `None` cannot happen: the keys have the length that they must have.
    fn packets(&self, cipher: Option<Cipher>) -> Option<Packets> {
        let mac = Hmac::<md5::Md5>::new_from_slice(&self.signing.0).ok()?;
        let cipher = match cipher {
            None => None,
            Some(Cipher::Rc4) => {
                let cipher = Rc4::new_from_slice(&self.sealing.0).ok()?;
                Some(State::Rc4(Box::new(cipher)))
            }
            Some(Cipher::TripleDes) => {
                let [first, second] = [self.sealing.0.piece(..7), self.sealing.0.piece(7..14)];
                let key = [spread(first)?, spread(second)?].concat();
                let cipher = TdesEde2::new_from_slice(&key).ok()?;
                State::triple_des(cipher, self.sealing.0.tail(BLOCK))
            }
        };
        Some(Packets { mac, number: 0, cipher })
    }
}

/// Seven bytes of key as the eight of DES, whose lowest bits are not used.
fn spread(key: &[u8]) -> Option<[u8; 8]> {
    let mut bytes = [0; 8];
    bytes.get_mut(1..)?.copy_from_slice(key);
    let bits = u64::from_be_bytes(bytes);
    let byte = |at: u32| u8::try_from((bits >> 49_u32.minus(at.times(7))) & 0x7f).ok();
    let mut out = [0; 8];
    for (at, out) in (0..).zip(&mut out) {
        *out = byte(at)? << 1;
    }
    Some(out)
}

/// A cipher in the midst of its stream.
enum State {
    Rc4(Box<Rc4>),
    TripleDes { cipher: Box<TdesEde2>, before: [u8; BLOCK] },
}

impl State {
    fn triple_des(cipher: TdesEde2, start: &[u8]) -> Option<Self> {
        let before = start.try_into().ok()?;
        Some(Self::TripleDes { cipher: Box::new(cipher), before })
    }

    /// How many bytes of padding go between `len` bytes and their signature.
    fn padding(&self, len: usize) -> usize {
        match self {
            Self::Rc4(_) => 0,
            Self::TripleDes { .. } => BLOCK.minus(len.plus(SIGNATURE) % BLOCK),
        }
    }

    fn encrypt(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Rc4(rc4) => rc4.apply_keystream(bytes),
            Self::TripleDes { cipher, before } => {
                for block in bytes.as_chunks_mut::<BLOCK>().0 {
                    block.iter_mut().zip(*before).for_each(|(byte, before)| *byte ^= before);
                    cipher.encrypt_block(block.into());
                    *before = *block;
                }
            }
        }
    }

    /// Decrypts in place; the number of bytes of padding before the signature.
    fn decrypt(&mut self, bytes: &mut [u8]) -> Result<usize, LayerError> {
        let Self::TripleDes { cipher, before } = self else {
            if let Self::Rc4(rc4) = self {
                rc4.apply_keystream(bytes);
            }
            return Ok(0);
        };
        let (blocks, rest) = bytes.as_chunks_mut::<BLOCK>();
        if !rest.is_empty() {
            return Err(LayerError::TooShort);
        }
        for block in blocks {
            let sealed = *block;
            cipher.decrypt_block(block.into());
            block.iter_mut().zip(*before).for_each(|(byte, before)| *byte ^= before);
            *before = sealed;
        }
        let before_signature = bytes.head(bytes.len().minus(SIGNATURE));
        let padding = before_signature.last().copied().ok_or(LayerError::TooShort)?;
        let count = usize::from(padding);
        let is_right = (1..=BLOCK).contains(&count)
            && count <= before_signature.len()
            && before_signature.iter().rev().take(count).all(|byte| *byte == padding);
        if is_right { Ok(count) } else { Err(LayerError::Wrong) }
    }
}

/// The packets of one direction.
struct Packets {
    mac: Hmac<md5::Md5>,
    number: u32,
    cipher: Option<State>,
}

impl fmt::Debug for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are shown nowhere.
        f.debug_struct("Packets").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Packets {
    fn signature(&self, plain: &[u8]) -> [u8; 16] {
        let mac = self.mac.clone().chain_update(self.number.to_be_bytes()).chain_update(plain);
        mac.finalize().into_bytes().into()
    }
}

impl Seal for Packets {
    fn seal(&mut self, plain: &[u8], packet: &mut Vec<u8>) -> Result<(), LayerError> {
        let at = packet.len();
        let signature = self.signature(plain);
        packet.extend_from_slice(plain);
        if let Some(cipher) = &self.cipher {
            let padding = cipher.padding(plain.len());
            let byte = u8::try_from(padding).map_err(|_| LayerError::Wrong)?;
            packet.resize(packet.len().plus(padding), byte);
        }
        packet.extend_from_slice(signature.head(SIGNATURE));
        if let (Some(cipher), Some(bytes)) = (&mut self.cipher, packet.get_mut(at..)) {
            cipher.encrypt(bytes);
        }
        packet.extend_from_slice(&VERSION);
        packet.extend_from_slice(&self.number.to_be_bytes());
        self.number = self.number.wrapping_add(1);
        Ok(())
    }
}

impl Open for Packets {
    fn open(&mut self, packet: &[u8], plain: &mut Vec<u8>) -> Result<(), LayerError> {
        if packet.len() < SIGNATURE + TRAILER {
            return Err(LayerError::TooShort);
        }
        let (sealed, trailer) =
            (packet.head(packet.len().minus(TRAILER)), packet.tail(packet.len().minus(TRAILER)));
        if trailer != [&VERSION[..], &self.number.to_be_bytes()].concat() {
            return Err(LayerError::OutOfSequence);
        }
        let mut bytes = sealed.to_vec();
        let padding = match &mut self.cipher {
            Some(cipher) => cipher.decrypt(&mut bytes)?,
            None => 0,
        };
        let signed = bytes.len().minus(SIGNATURE);
        let text = bytes.head(signed.minus(padding));
        if !is_same(self.signature(text).head(SIGNATURE), bytes.tail(signed)) {
            return Err(LayerError::Wrong);
        }
        self.number = self.number.wrapping_add(1);
        plain.extend_from_slice(text);
        Ok(())
    }
}
