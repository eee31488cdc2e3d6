//! Text deltas and tree deltas.
//!
//! A *text delta* turns one file's contents into another's; it travels as a series of *windows*
//! ([`window::Window`]), stored and sent in one of the three svndiff encodings
//! (`docs/formats/svndiff.md`). A *tree delta* turns one directory tree into another; it is a
//! series of calls on an [`editor::Editor`].
//!
//! Nothing here does I/O of its own: streams are handed in as traits.

pub mod apply;
pub mod compose;
pub mod editor;
pub mod error;
pub mod ignore_all;
mod pack;
pub mod report;
pub mod step;
pub mod stream;
pub mod svndiff;
pub mod varint;
mod version;
pub mod window;
pub mod xdelta;

pub use apply::{Applier, ApplyReader};
pub use compose::compose;
pub use editor::{EditTarget, Editor, Handle};
pub use error::Error;
pub use ignore_all::IgnoreAll;
pub use report::{Report, ReportEntry};
pub use step::{EditStep, StepEditor};
pub use stream::{ComputedDelta, EncodedDelta, FullText, StoredDelta, TextDelta, write_svndiff};
pub use svndiff::{Decoder, Encoder, Scratch, Version, WindowHeader};
pub use window::{Op, WINDOW_MAX, Window};
