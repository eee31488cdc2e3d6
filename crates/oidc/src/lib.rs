//! Sign-in by a provider of OpenID Connect, with the authorization code flow and PKCE: where a browser is sent, and who the
//! provider says that its user is.
//!
//! * [`Provider`]: asks the provider; keeps its addresses and keys for an hour;
//! * [`Proof`]: what binds a sign-in to one browser: state, nonce and verifier;
//! * [`Settings`]: what is asked of whom, and who may sign in;
//! * `token`: the ID token, `keys`: the keys that may have signed it, `claims`: what it says.
//!
//! Invariants: an ID token counts only with a signature by a key of the provider's, for this client, this sign-in and this
//! time; the methods without a signature, and those with a shared key, are not known here. Nothing is asked without
//! encryption, but on this machine. Each question ends in ten seconds, and no answer is longer than a mebibyte.

mod base64url;
mod claims;
mod discovery;
mod error;
mod http;
mod keys;
mod proof;
mod provider;
mod settings;
mod token;

pub use claims::Person;
pub use error::{Error, Result};
pub use proof::{Proof, Secret, Seed};
pub use provider::{Provider, SignedIn};
pub use sapwood_core::WrongSetting;
pub use settings::Settings;
pub use token::fuzz_token;
