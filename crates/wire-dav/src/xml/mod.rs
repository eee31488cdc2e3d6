//! XML bodies.

pub mod read;
pub mod write;

pub use read::{Document, Element, Event, Limits};
pub use write::{Xml, is_xml_safe};

/// The beginning of every body.
pub const HEADER: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
