//! Encoding windows as a svndiff stream.

use std::cell::Cell;

use crate::pack::Packer;
use crate::svndiff::Version;
use crate::varint;
use crate::window::{Op, Window};

/// Makes a svndiff stream out of windows. Byte for byte what the reference makes of them, as far
/// as the compressors agree.
#[derive(Debug)]
pub struct Encoder {
    version: Version,
    level: u8,
    header_done: bool,
    tools: Option<Box<Tools>>,
}

/// What it takes to encode. Each thread keeps the last ones for the next stream, unless they have
/// grown large: most streams are short, and getting memory for them would take longer than they do.
#[derive(Debug)]
struct Tools {
    version: Version,
    level: u8,
    packer: Packer,
    instructions: Vec<u8>,
    packed_instructions: Vec<u8>,
    packed_data: Vec<u8>,
}

thread_local! {
    static KEPT: Cell<Option<Box<Tools>>> = const { Cell::new(None) };
}

impl Tools {
    /// Those that the thread keeps, if they are for such a stream; else new ones.
    fn take(version: Version, level: u8) -> Box<Self> {
        let kept = KEPT.take().filter(|tools| tools.version == version && tools.level == level);
        kept.unwrap_or_else(|| {
            Box::new(Self {
                version,
                level,
                packer: Packer::new(version, level),
                instructions: Vec::new(),
                packed_instructions: Vec::new(),
                packed_data: Vec::new(),
            })
        })
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if let Some(tools) = self.tools.take().filter(|tools| tools.packer.is_small()) {
            // When the thread is ending, they are not kept.
            let _ = KEPT.try_with(|kept| kept.set(Some(tools)));
        }
    }
}

impl Encoder {
    /// An encoder for a new stream. `level` is zlib's, 0 to 9, and counts for version 1 only.
    #[must_use]
    pub const fn new(version: Version, level: u8) -> Self {
        Self { version, level, header_done: false, tools: None }
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
        let (version, level) = (self.version, self.level);
        let tools = &mut **self.tools.get_or_insert_with(|| Tools::take(version, level));
        let Tools { packer, instructions, packed_instructions, packed_data, .. } = tools;
        instructions.clear();
        for op in &window.ops {
            encode_op(op, instructions);
        }
        varint::encode(out, window.source_offset);
        varint::encode_len(out, window.source_len);
        varint::encode_len(out, window.target_len);
        if self.version == Version::V0 {
            varint::encode_len(out, instructions.len());
            varint::encode_len(out, window.new_data.len());
            out.extend_from_slice(instructions);
            out.extend_from_slice(&window.new_data);
        } else {
            packer.pack(instructions, packed_instructions);
            packer.pack(&window.new_data, packed_data);
            varint::encode_len(out, packed_instructions.len());
            varint::encode_len(out, packed_data.len());
            out.extend_from_slice(packed_instructions);
            out.extend_from_slice(packed_data);
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
