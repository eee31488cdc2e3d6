//! What a connection sends, through its security layer if there is one.
//!
//! Invariant: packets are sent whole and in their order, also when a probe of the client was sent in part.

use std::fmt;
use std::io::{self, Write};

use rustix::io::{Errno, Result as SystemResult};
use sapwood_wire_svn::buffer::write_both;
use sapwood_wire_svn::security_layer::Sealer;

/// The output of one connection.
#[derive(Default)]
pub struct OutgoingQueue {
    sealer: Option<Sealer>,
    /// The rest of a probe.
    unsent: Vec<u8>,
}

impl fmt::Debug for OutgoingQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingQueue").field("sealer", &self.sealer).finish_non_exhaustive()
    }
}

impl OutgoingQueue {
    /// Seals all that follows.
    pub(super) fn protect(&mut self, sealer: Sealer) {
        self.sealer = Some(sealer);
    }

    /// Writes two pieces, one after the other.
    pub(super) fn write_both(
        &mut self,
        out: &mut dyn Write,
        first: &[u8],
        second: &[u8],
    ) -> io::Result<()> {
        let Some(sealer) = &mut self.sealer else { return write_both(out, first, second) };
        sealer.send_both(&mut self.unsent, first, second, |packets| out.write_all(packets))
    }

    /// Sends a space, which means nothing between items, as far as can be without waiting. Whether the client has gone.
    pub(super) fn nudge(&mut self, send: impl FnOnce(&[u8]) -> SystemResult<usize>) -> bool {
        let sent = match &mut self.sealer {
            None => send(b" "),
            Some(sealer) => {
                if self.unsent.is_empty() && sealer.seal(b" ", &mut self.unsent).is_err() {
                    return true;
                }
                send(&self.unsent)
            }
        };
        if let Ok(sent) = sent
            && self.sealer.is_some()
        {
            self.unsent.drain(..sent.min(self.unsent.len()));
        }
        sent.is_err_and(|error| error != Errno::AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_wire_svn::digest_md5::{DigestClient, DigestLogin, DigestServer};

    #[test]
    fn a_probe_that_was_sent_in_part_is_finished_first() {
        let strengths = 1..=256;
        let server = DigestServer::new("A place", &strengths, &[1; 24]);
        let login = DigestLogin {
            user: "ada",
            password: "secret",
            host: "h",
            realm: "A place",
            strengths: &strengths,
        };
        let client = DigestClient::new(server.challenge().as_bytes(), &login, &[2; 24]).unwrap();
        let proven = server.finish(client.answer().as_bytes(), &|_| Some(b"secret".to_vec()));
        let mut outgoing = OutgoingQueue::default();
        outgoing.protect(proven.unwrap().layer.unwrap().sealer);
        let mut wire = Vec::new();
        let mut few = |bytes: &[u8]| {
            wire.extend_from_slice(&bytes[..3]);
            Ok(3)
        };
        assert!(!outgoing.nudge(&mut few) && !outgoing.nudge(&mut few));
        assert!(!outgoing.nudge(|_| Err(Errno::AGAIN)));
        outgoing.write_both(&mut wire, b"( success", b" ( ) ) ").unwrap();
        assert!(outgoing.nudge(|_| Err(Errno::PIPE)));
        let mut opener = client.into_layer().unwrap().opener;
        opener.begin_with(&wire);
        let (mut found, mut room) = (Vec::new(), [0; 64]);
        while opener.is_ready() {
            let got = opener.read(&mut room, |_| Ok(0)).unwrap();
            found.extend_from_slice(&room[..got]);
        }
        assert_eq!(found, b" ( success ( ) ) ");
    }
}
