//! Certificates from authorities that speak ACME (RFC 8555): ordered, kept in a folder and renewed, while the server
//! serves.
//!
//! * [`Settings`]: from whom, for which names, and how they are proved.
//! * [`Certificates`]: what is shown to clients and answered to the authority.
//! * `keeper`: the task that orders and renews.
//! * `order`: one order, from its begin to the certificate.
//! * `folder`: the files.
//!
//! Invariants: the old certificate is shown until a new one was looked at and is on the disk; an authority is asked
//! rarely, whatever fails; only the tokens of orders in progress are answered.

mod answers;
mod certificate;
mod certificates;
mod error;
mod folder;
mod https;
mod keeper;
mod order;
mod schedule;
mod settings;

pub use certificates::{Certificates, Summary};
pub use error::{Error, Result};
pub use folder::{StoredCertificate, stored};
pub use keeper::Report;
pub use sapwood_core::WrongSetting;
pub use settings::{Challenge, LETS_ENCRYPT, Settings};
