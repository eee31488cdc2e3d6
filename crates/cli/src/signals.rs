//! Ctrl-C and its kin: long work is asked to stop, and ends with an error.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use sapwood_core::CancelToken;

/// A token that is cancelled when the program is told to end.
pub(crate) fn cancel_token() -> CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN
        .get_or_init(|| {
            let token = CancelToken::new();
            watch(token.clone());
            token
        })
        .clone()
}

fn watch(token: CancelToken) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // A second signal ends the program at once.
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let _ = signal_hook::flag::register_conditional_default(signal, again.clone());
        let _ = signal_hook::flag::register(signal, again.clone());
    }
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if signals.forever().next().is_some() {
                token.cancel();
            }
        });
    }
}
