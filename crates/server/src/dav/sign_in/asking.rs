//! Questions to the provider. The request that asks has no thread meanwhile, and ends when its client goes.
//!
//! Invariant: no more than a few are asked at a time, of which one address has no more than half of what the others leave;
//! more are refused at once.

use std::net::IpAddr;

use sapwood_oidc::{Error, Proof, Seed, SignedIn};

use super::SignIn;
use crate::common::fair::Caller;

/// What is asked.
#[derive(Clone, Debug)]
pub enum Question {
    /// Where a browser signs in.
    Where(Seed),
    /// Who has signed in, by the code that came back.
    Who {
        /// What binds it to the browser.
        seed: Seed,
        /// The code.
        code: String,
    },
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum SignInOutcome {
    /// The address at the provider.
    Where(Seed, String),
    /// A user.
    Who(Box<SignedIn>),
    /// Nothing.
    Failed(Error),
    /// It was not asked: too many others are.
    Busy,
}

/// Asks the provider, for a client at this address.
pub(crate) async fn ask(sign_in: &SignIn, client: IpAddr, question: Question) -> SignInOutcome {
    let caller = Caller::new(Some(client), None);
    let Some(permit) = sign_in.asking.try_acquire(caller) else { return SignInOutcome::Busy };
    let provider = &sign_in.settings.provider;
    let said = match question {
        Question::Where(seed) => {
            let at = provider.begin(&Proof::of(&sign_in.secret, &seed)).await;
            at.map(|at| SignInOutcome::Where(seed, at))
        }
        Question::Who { seed, code } => {
            let who = provider.finish(&code, &Proof::of(&sign_in.secret, &seed)).await;
            who.map(|who| SignInOutcome::Who(Box::new(who)))
        }
    };
    drop(permit);
    said.unwrap_or_else(SignInOutcome::Failed)
}
