//! The security layer of a connection, once a login agreed on one, between the connection's buffers and its transport.
//!
//! Invariant: once there is a layer, no byte passes either way without it.

use std::io;

use sapwood_wire_svn::security_layer::{Layer, Opener};

use super::transport::Transport;

/// The layer, or none.
#[derive(Debug, Default)]
pub(super) struct Protection(Option<Layer>);

impl Protection {
    /// Whether there is a layer.
    pub(super) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Protects all that follows. `arrived` was read, but belongs to what the layer protects.
    pub(super) fn begin(&mut self, mut layer: Layer, arrived: &[u8]) {
        layer.opener.begin_with(arrived);
        self.0 = Some(layer);
    }

    /// Whether something can be read without the transport.
    pub(super) fn is_ready(&self) -> bool {
        self.0.as_ref().is_some_and(|layer| Opener::is_ready(&layer.opener))
    }

    /// As [`Transport::read`].
    pub(super) fn read(&mut self, transport: &mut Transport, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            None => transport.read(room),
            Some(layer) => layer.opener.read(room, |room| transport.read(room)),
        }
    }

    /// As [`Transport::write_both`].
    pub(super) fn write_both(
        &mut self,
        transport: &mut Transport,
        first: &[u8],
        second: &[u8],
    ) -> io::Result<()> {
        let Some(layer) = &mut self.0 else { return transport.write_both(first, second) };
        let send = |packets: &[u8]| transport.write_both(packets, &[]);
        layer.sealer.send_both(&mut Vec::new(), first, second, send)
    }
}
