//! Tree deltas on the wire: editor commands.
//!
//! [`WireEditor`] is an editor that writes commands; [`command`] reads them one by one;
//! [`drive()`] reads them all and drives an editor.

pub mod command;
pub mod drive;
pub mod write;

pub use command::EditCommand;
pub use drive::{CommandSource, DriveError, Outcome, drive};
pub use write::{EditSink, WireEditor, WireOptions};
