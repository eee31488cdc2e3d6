//! SASL's GSSAPI (RFC 4752), after the tokens of the library: the server offers how the connection may be protected, the client
//! chooses. An offer and a choice are four bytes: the layers as bits, and the largest packet that is received; the choice may
//! name the user to act as.
//!
//! Invariant: a layer is agreed on only if its strength is within the range that was asked for.

use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_wire_svn::security_layer::{Layer, LayerError, MAX_PACKET, Open, Seal};

use crate::{Context, KerberosError, Step, Use};

/// The name of the mechanism.
pub const MECHANISM: &str = "GSSAPI";
/// By how much a wrapped message may be longer than the message: 88 bytes with the keys of today.
const WRAPPING: usize = 256;

/// How a connection is protected after the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Signed and encrypted.
    Confidential,
    /// Signed.
    Integrity,
    /// Not at all.
    None,
}

impl Protection {
    const ALL: [Self; 3] = [Self::Confidential, Self::Integrity, Self::None];

    /// The strength that SASL says of it: keys have 128 bits at least.
    const fn strength(self) -> u32 {
        match self {
            Self::Confidential => 128,
            Self::Integrity => 1,
            Self::None => 0,
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::None => 1,
            Self::Integrity => 2,
            Self::Confidential => 4,
        }
    }

    /// Those within a range of strengths, the stronger ones first.
    pub fn within(strengths: &RangeInclusive<u32>) -> impl Iterator<Item = Self> + '_ {
        Self::ALL.into_iter().filter(|protection| strengths.contains(&protection.strength()))
    }
}

/// The four bytes of an offer or a choice.
fn write(layers: u8, max_packet: u32) -> [u8; 4] {
    let [_, size @ ..] = max_packet.to_be_bytes();
    let mut bytes = [layers; 4];
    bytes.iter_mut().skip(1).zip(size).for_each(|(byte, size)| *byte = size);
    bytes
}

/// The layers, the size and what follows.
fn read(message: &[u8]) -> Result<(u8, u32, &[u8]), KerberosError> {
    let ([layers, size @ ..], rest) =
        message.split_first_chunk::<4>().ok_or(KerberosError::Malformed)?;
    let [a, b, c] = *size;
    Ok((*layers, u32::from_be_bytes([0, a, b, c]), rest))
}

/// What a side says next.
#[derive(Debug)]
pub enum Turn {
    /// This, and it waits for an answer.
    Say(Vec<u8>),
    /// The login has succeeded; the client's last message, for a server the user's name.
    Done(Login),
}

/// A login that has succeeded.
#[derive(Debug)]
pub struct Login {
    /// What a client says last.
    pub last: Vec<u8>,
    /// Who has logged in to a server.
    pub user: String,
    /// What protects the connection from now on.
    pub layer: Option<Layer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Tokens of the library go back and forth.
    Tokens,
    /// The server waits for the empty message that ends them.
    Empty,
    /// The offer was sent, or is waited for.
    Layers,
}

/// One side of an exchange.
#[derive(Debug)]
pub struct Exchange {
    context: Context,
    stage: Stage,
    strengths: RangeInclusive<u32>,
}

#[allow(clippy::missing_errors_doc, reason = "`KerberosError` says what its variants mean")]
impl Exchange {
    /// A client's: also its first message. May block.
    pub fn client(
        host: &str,
        strengths: RangeInclusive<u32>,
    ) -> Result<(Self, Vec<u8>), KerberosError> {
        let mut context = Context::initiate(Use::Sasl, host)?;
        let Step { token, is_done } = context.step(None)?;
        let stage = if is_done { Stage::Layers } else { Stage::Tokens };
        Ok((Self { context, stage, strengths }, token.unwrap_or_else(Vec::new)))
    }

    /// A server's, which waits for the client's first message.
    pub fn server(strengths: RangeInclusive<u32>) -> Result<Self, KerberosError> {
        Ok(Self { context: Context::accept(Use::Sasl)?, stage: Stage::Tokens, strengths })
    }

    /// A client takes a message of the server. May block.
    pub fn answer(mut self, message: &[u8]) -> Result<(Option<Self>, Turn), KerberosError> {
        if self.stage == Stage::Tokens {
            let Step { token, is_done } = self.context.step(Some(message))?;
            if is_done {
                self.stage = Stage::Layers;
            }
            let turn = Turn::Say(token.unwrap_or_else(Vec::new));
            return Ok((Some(self), turn));
        }
        let offer = self.context.unwrap_token(false, message)?;
        let (layers, max_packet, _) = read(&offer)?;
        let mut allowed = Protection::within(&self.strengths);
        let chosen = allowed.find(|allowed| layers & allowed.bit() != 0);
        let chosen = chosen.ok_or(KerberosError::TooWeak)?;
        let ours = if chosen == Protection::None { 0 } else { MAX_PACKET };
        let last = self.context.wrap(false, &write(chosen.bit(), ours))?;
        let layer = layer(self.context, chosen, max_packet)?;
        Ok((None, Turn::Done(Login { last, user: String::new(), layer })))
    }

    /// A server takes a message of the client. May block.
    pub fn reply(mut self, message: &[u8]) -> Result<(Option<Self>, Turn), KerberosError> {
        match self.stage {
            Stage::Tokens => {
                let Step { token, is_done } = self.context.step(Some(message))?;
                match token {
                    Some(token) => {
                        self.stage = if is_done { Stage::Empty } else { Stage::Tokens };
                        Ok((Some(self), Turn::Say(token)))
                    }
                    None if is_done => self.offer(),
                    None => Err(KerberosError::Malformed),
                }
            }
            Stage::Empty if message.is_empty() => self.offer(),
            Stage::Empty => Err(KerberosError::Malformed),
            Stage::Layers => self.finish(message),
        }
    }

    fn offer(mut self) -> Result<(Option<Self>, Turn), KerberosError> {
        self.stage = Stage::Layers;
        let layers = Protection::within(&self.strengths).fold(0, |all, one| all | one.bit());
        let ours = if layers <= Protection::None.bit() { 0 } else { MAX_PACKET };
        let offer = self.context.wrap(false, &write(layers, ours))?;
        Ok((Some(self), Turn::Say(offer)))
    }

    fn finish(mut self, message: &[u8]) -> Result<(Option<Self>, Turn), KerberosError> {
        let choice = self.context.unwrap_token(false, message)?;
        let (layers, max_packet, act_as) = read(&choice)?;
        let mut allowed = Protection::within(&self.strengths);
        let chosen = allowed.find(|allowed| layers == allowed.bit());
        let chosen = chosen.ok_or(KerberosError::TooWeak)?;
        let user = self.context.user()?;
        if !act_as.is_empty() && act_as != user.as_bytes() {
            return Err(KerberosError::Library("not authorized".to_owned()));
        }
        let layer = layer(self.context, chosen, max_packet)?;
        Ok((None, Turn::Done(Login { last: Vec::new(), user, layer })))
    }
}

/// The layer of a protection; `max_packet` is what the other side receives.
fn layer(
    context: Context,
    protection: Protection,
    max_packet: u32,
) -> Result<Option<Layer>, KerberosError> {
    if protection == Protection::None {
        return Ok(None);
    }
    let max_packet = usize::try_from(max_packet).map_err(|_| KerberosError::Malformed)?;
    let max_plain = max_packet.checked_sub(WRAPPING).filter(|max| *max > 0);
    let max_plain = max_plain.ok_or(KerberosError::Malformed)?;
    let encrypted = protection == Protection::Confidential;
    let context = Arc::new(Mutex::new(context));
    let sent = Packets { context: Arc::clone(&context), encrypted };
    let received = Packets { context, encrypted };
    Ok(Some(Layer::new(Box::new(sent), Box::new(received), max_plain)))
}

/// The packets of one direction.
#[derive(Debug)]
struct Packets {
    context: Arc<Mutex<Context>>,
    encrypted: bool,
}

fn failed(error: &KerberosError) -> LayerError {
    LayerError::Mechanism(error.to_string())
}

impl Seal for Packets {
    fn seal(&mut self, plain: &[u8], packet: &mut Vec<u8>) -> Result<(), LayerError> {
        let wrapped = self.context.lock().wrap(self.encrypted, plain);
        packet.extend_from_slice(&wrapped.map_err(|error| failed(&error))?);
        Ok(())
    }
}

impl Open for Packets {
    fn open(&mut self, packet: &[u8], plain: &mut Vec<u8>) -> Result<(), LayerError> {
        let opened = self.context.lock().unwrap_token(self.encrypted, packet);
        plain.extend_from_slice(&opened.map_err(|error| failed(&error))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strengths() {
        let of = |range: RangeInclusive<u32>| -> Vec<Protection> {
            Protection::within(&range).collect()
        };
        assert_eq!(of(0..=256), Protection::ALL);
        assert_eq!(of(1..=127), [Protection::Integrity]);
        assert_eq!(of(2..=256), [Protection::Confidential]);
        assert_eq!(of(129..=256), []);
    }

    proptest! {
        #[test]
        fn offers_there_and_back(layers: u8, size in 0u32..1 << 24, rest in prop::collection::vec(any::<u8>(), 0..9)) {
            let message = [&write(layers, size)[..], &rest].concat();
            prop_assert_eq!(read(&message).unwrap(), (layers, size, &*rest));
            prop_assert!(read(&message[..3]).is_err());
        }
    }
}
