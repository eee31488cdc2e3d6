//! Encoding windows as a svndiff stream.

use crate::pack::Packer;
use crate::svndiff::Version;
use crate::varint;
use crate::window::{Op, Window};

/// Makes a svndiff stream out of windows. Byte for byte what the reference makes of them, as far
/// as the compressors agree.
#[derive(Debug)]
pub struct Encoder {
    version: Version,
    header_done: bool,
    packer: Packer,
    instructions: Vec<u8>,
    packed_instructions: Vec<u8>,
    packed_data: Vec<u8>,
}

impl Encoder {
    /// An encoder for a new stream. `level` is zlib's, 0 to 9, and counts for version 1 only.
    #[must_use]
    pub const fn new(version: Version, level: u8) -> Self {
        Self {
            version,
            header_done: false,
            packer: Packer::new(version, level),
            instructions: Vec::new(),
            packed_instructions: Vec::new(),
            packed_data: Vec::new(),
        }
    }

    /// The encoding of the stream.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Appends the stream's header, if that was not done yet. [`Encoder::encode`] does it, too;
    /// a stream without windows is still a header.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.header_done {
            self.header_done = true;
            out.extend_from_slice(&self.version.header());
        }
    }

    /// Appends a window, and the stream's header before the first.
    pub fn encode(&mut self, window: &Window, out: &mut Vec<u8>) {
        self.finish(out);
        self.instructions.clear();
        for op in &window.ops {
            encode_op(op, &mut self.instructions);
        }
        varint::encode(out, window.source_offset);
        varint::encode_len(out, window.source_len);
        varint::encode_len(out, window.target_len);
        if self.version == Version::V0 {
            varint::encode_len(out, self.instructions.len());
            varint::encode_len(out, window.new_data.len());
            out.extend_from_slice(&self.instructions);
            out.extend_from_slice(&window.new_data);
        } else {
            self.packer.pack(&self.instructions, &mut self.packed_instructions);
            self.packer.pack(&window.new_data, &mut self.packed_data);
            varint::encode_len(out, self.packed_instructions.len());
            varint::encode_len(out, self.packed_data.len());
            out.extend_from_slice(&self.packed_instructions);
            out.extend_from_slice(&self.packed_data);
        }
    }
}

fn encode_op(op: &Op, out: &mut Vec<u8>) {
    let (kind, offset, len) = match *op {
        // An instruction of length zero has no encoding.
        _ if op.is_empty() => return,
        Op::Source { offset, len } => (0x00, Some(offset), len),
        Op::Target { offset, len } => (0x40, Some(offset), len),
        Op::New { len, .. } => (0x80, None, len),
    };
    match u8::try_from(len) {
        Ok(short @ 0..=0x3f) => out.push(kind | short),
        _ => {
            out.push(kind);
            varint::encode_len(out, len);
        }
    }
    if let Some(offset) = offset {
        varint::encode_len(out, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_window() {
        let mut w = Window { source_offset: 130, source_len: 100, ..Window::default() };
        w.push_source(2, 63);
        w.push_target(1, 64);
        w.push_new(b"xyz");
        let mut out = Vec::new();
        Encoder::new(Version::V0, 5).encode(&w, &mut out);
        assert_eq!(out, b"SVN\0\x81\x02\x64\x81\x02\x06\x03\x3f\x02\x40\x40\x01\x83xyz");
        let mut out = Vec::new();
        let mut encoder = Encoder::new(Version::V1, 5);
        encoder.encode(&Window::full_text(b"ab".to_vec()), &mut out);
        encoder.finish(&mut out);
        assert_eq!(out, b"SVN\x01\0\0\x02\x02\x03\x01\x82\x02ab");
    }
}
