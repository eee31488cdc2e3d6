//! Text deltas and tree deltas.
//!
//! A *text delta* turns one file's contents into another's; it travels as a series of *windows*
//! ([`window::Window`]), stored and sent in one of the three svndiff encodings
//! (`docs/formats/svndiff.md`). A *tree delta* turns one directory tree into another; it is a
//! series of calls on an [`editor::Editor`].
//!
//! Nothing here does I/O of its own: streams are handed in as traits.

pub mod editor;
pub mod stream;
pub mod svndiff;
pub mod window;

pub use editor::{Editor, Handle};
pub use stream::{EncodedDelta, TextDelta};
pub use svndiff::Version;
pub use window::{Op, Window};
