//! Texts of a container: each is made of pieces of those before it where that makes the container shorter.

use sapwood_core::{Cut, Exact, len64};
use sapwood_delta::xdelta::Xdelta;
use sapwood_delta::{Op, Window};
use sapwood_fsx_format::reps_container::Builder;

/// Bytes of a container in which pieces of the next text are looked for: those of the same path, at most so many...
const VIEW: usize = 256 << 10;
/// ... and so many before them.
const OF_OTHERS: usize = 32 << 10;
/// Pieces of a container, at most: their list is read whole.
const PIECES: usize = 1 << 16;
/// Blocks that a container with the texts of one path may have.
const BLOCKS: u64 = 8;

/// A container of texts that grows.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) builder: Builder,
    /// Where the texts of the present path begin.
    path: usize,
    /// Where the pieces begin that were looked through last.
    view: usize,
    xdelta: Xdelta,
    window: Window,
}

impl Texts {
    /// Whether the container is long enough, for blocks of `block` bytes. The texts of one path stay together, if they are not too
    /// many: they have most in common.
    pub(super) fn is_full(&self, block: u64, is_end_of_path: bool) -> bool {
        let len = len64(self.builder.bytes().len());
        (is_end_of_path && len >= block)
            || len >= block.times(BLOCKS)
            || self.builder.pieces() >= PIECES
    }

    /// Says that the next texts are of another path.
    pub(super) fn begin_path(&mut self) {
        self.path = self.builder.bytes().len();
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &[u8]) {
        let start = self.path.max(OF_OTHERS).minus(OF_OTHERS);
        // It moves in large steps: where it stays, the table of the pieces before only grows.
        let start = match self.builder.bytes().len().minus(self.view.max(start)) > VIEW {
            true => self.builder.bytes().len().minus(VIEW / 2),
            false => self.view.max(start),
        };
        let source = self.builder.bytes().tail(start);
        match start == self.view {
            true => self.xdelta.compute_grown(0, source, text, &mut self.window),
            false => self.xdelta.compute(0, source, text, &mut self.window),
        }
        self.view = start;
        self.builder.begin();
        for op in &self.window.ops {
            match *op {
                Op::Source { offset, len } => self.builder.repeat(start.plus(offset), len),
                Op::New { offset, len } => {
                    self.builder.add(self.window.new_data.piece(offset..offset.plus(len)));
                }
                // A delta between whole texts has none, or it would be wrong here.
                Op::Target { offset, len } => {
                    self.builder.add(text.piece(offset..offset.plus(len)));
                }
            }
        }
    }
}
