//! The accounts of a server: users with passwords, groups and personal access tokens, in one file. The format is in
//! `docs/formats/accounts.md`.
//!
//! * [`Accounts`]: what the file says, and who may log in by it;
//! * [`AccountsFile`]: the file: read, changed under a lock, written by a rename;
//! * [`ProviderIdentity`]: users whom a provider of identities knows;
//! * [`TokenUses`]: when each token was used last.
//!
//! Invariant: neither a password nor a token is stored, only what they can be checked against; and a file that is not
//! understood lets no user in.

mod accounts;
mod error;
mod file;
mod names;
mod password;
mod provider_identity;
mod sign_in;
mod token;
mod token_uses;

pub use accounts::{Accounts, Identity, User};
pub use error::{Error, Result};
pub use file::{AccountsFile, MAX_FILE};
pub use names::{GROUP_PREFIX, can_be_named};
pub use password::{decoy, hash_password, verify_password};
pub use provider_identity::ProviderIdentity;
pub use token::{Token, TokenScope, is_token};
pub use token_uses::TokenUses;
