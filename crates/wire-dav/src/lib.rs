//! The codec of the http protocol: WebDAV, DeltaV and Subversion's own "HTTPv2", without I/O.
//! `docs/formats/http-dav.md` describes it.
//!
//! * [`resource`]: the addresses: what a path below a repository's URL stands for.
//! * [`xml`]: reading (with limits) and writing of request and reply bodies.
//! * [`dead`]: how properties of other programs are stored.
//! * [`propfind`], [`proppatch`], [`lock`], [`merge`], [`post`]: the bodies of these methods.
//! * [`multistatus`]: requests for properties and their changes, and the replies, as a client writes and reads them.
//! * [`options`]: the capabilities of a server.
//! * [`report`]: the twelve REPORTs, and the editors that write trees as XML.
//! * [`failure`], [`status`]: errors as XML bodies, written and read, and as status codes.
//! * [`headers`]: names of headers and of their words.
//!
//! Invariant: no allocation follows a length that a body announces; memory grows with the data read, within limits.

pub mod dead;
pub mod error;
pub mod failure;
pub mod headers;
pub mod ifheader;
pub mod lock;
pub mod merge;
pub mod multistatus;
pub mod options;
pub mod post;
mod property_name;
pub mod propfind;
pub mod proppatch;
pub mod report;
pub mod resource;
pub mod status;
pub mod xml;

pub use error::{Error, Result};
pub use resource::Resource;

/// The namespace of WebDAV itself.
pub const NS_DAV: &str = "DAV:";
/// The namespace of Subversion's elements.
pub const NS_SVN: &str = "svn:";
/// The namespace of properties whose names begin with `svn:`.
pub(crate) const NS_SVN_PROPS: &str = "http://subversion.tigris.org/xmlns/svn/";
/// The namespace of all other properties.
pub(crate) const NS_CUSTOM: &str = "http://subversion.tigris.org/xmlns/custom/";
/// The namespace of Subversion's live properties and capability tokens.
pub const NS_SVN_DAV: &str = "http://subversion.tigris.org/xmlns/dav/";
