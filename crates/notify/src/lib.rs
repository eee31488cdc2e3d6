//! Messages to other systems after commits: webhooks and mail.
//!
//! * [`Target`]: who gets messages, and about which commits; a [`Webhook`] or a [`Mail`];
//! * [`Commit`]: what a message says, which a [`Source`] reads from a repository;
//! * [`Notifier`]: sends the messages, from a queue on disk that outlives the process.
//!
//! The queue is, for each target and repository, the number of the next revision (`docs/formats/queue.md`). So it does not
//! grow while a target is down, each target gets the revisions of a repository in their order, and revisions that another
//! program made are in it as well.
//!
//! Invariants: a commit never waits for a target; a message is sent again until its target has answered (a target may get
//! it twice: [`Commit::id`] says so); no message goes to an address inside the network unless the settings allow it.

mod address;
mod commit;
mod error;
mod mail;
mod message;
mod notifier;
mod position;
mod sending;
mod shared;
mod target;
mod waiting;
mod webhook;

pub use commit::{Action, ChangedPath, Commit, MOST_MESSAGE, MOST_PATHS, Source};
pub use error::{Error, Result};
pub use mail::{Mail, MailSettings};
pub use notifier::Notifier;
pub use position::Position;
pub use sapwood_core::WrongSetting;
pub use shared::Report;
pub use target::{Carrier, Filter, Target};
pub use waiting::{QueueReader, TargetQueue};
pub use webhook::{Webhook, WebhookSettings};
