//! XML bodies.

pub mod read;
pub mod write;

pub use read::{Document, Element, Event, Limits};
pub use write::{Xml, is_xml_safe};

/// What every body begins with.
pub const HEADER: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
