//! The codec of the svn protocol (`svn://`), both directions; see `docs/formats/svn-protocol.md`.
//!
//! * [`buffer`]: what has arrived, until it is taken item by item.
//! * [`decode`]: bytes in, items out. [`Decoder`] finds the end of one item in a buffer that grows
//!   as the network delivers, and [`Tuple`] walks its parts without copying them.
//! * [`encode`]: values in, bytes out, appended to a `Vec<u8>`; [`Sink`] is such a buffer with
//!   somewhere to go when it is full.
//! * [`error`]: what can be wrong with bytes from the other side.
//! * [`failure`], [`data`]: error chains, property lists, log entries, directory entries, locks.
//! * [`editor`]: tree deltas: an [`sapwood_delta::Editor`] that writes editor commands, and a
//!   driver that reads them.
//! * [`scram`], [`digest_md5`]: what both sides say when a password is proved by SCRAM or DIGEST-MD5.
//! * [`security_layer`]: the packets of a connection that SASL signs or encrypts.
//!
//! Nothing here does I/O. Invariant: no input makes this crate panic, recurse, or take memory that
//! is not in proportion to the bytes that really arrived, within [`Limits`].

pub mod buffer;
pub mod data;
pub mod decode;
pub mod digest_md5;
pub mod editor;
pub mod encode;
pub mod error;
pub mod failure;
pub mod scram;
pub mod security_layer;

pub use buffer::InputBuffer;
pub use decode::{Decoder, Item, Limits, List, Progress, Tuple};
pub use encode::{Encode, Sink};
pub use error::{Error, Result};
