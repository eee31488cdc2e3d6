//! One window of a text delta, decoded.

/// One instruction of a [`Window`]. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Copy from the source view.
    Source {
        /// Where to start in the source view.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
    /// Copy from the target view made so far; may run past its present end, which repeats it.
    Target {
        /// Where to start in the target view.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
    /// Copy from the window's new data.
    New {
        /// Where to start in the new data.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
}

/// One window: makes `target_len` bytes of the target out of a view of the source and new data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where the source view starts in the source, in bytes.
    pub source_offset: u64,
    /// How long the source view is, in bytes.
    pub source_len: usize,
    /// How many bytes of target this window makes.
    pub target_len: usize,
    /// The instructions, in target order; their lengths add up to `target_len`.
    pub ops: Vec<Op>,
    /// The data that [`Op::New`] copies from.
    pub new_data: Vec<u8>,
}
