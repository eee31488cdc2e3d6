//! A terminal that does not show what is typed, while a secret is asked for.
//!
//! Invariant: the terminal shows it again after the secret, and before the program ends by a signal.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal that does not show what is typed, and how it was before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Makes the terminal show again what is typed.
pub(crate) fn show_typing_again() {
    if let Some((terminal, before)) = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(terminal, OptionalActions::Flush, &before);
    }
}

/// Makes a terminal show what is typed again, whatever happens meanwhile.
pub(crate) struct EchoOff;

impl EchoOff {
    pub(crate) fn begin(terminal: &File) -> Option<Self> {
        let before = tcgetattr(terminal).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        let kept = terminal.try_clone().ok()?;
        *HIDDEN.lock().unwrap_or_else(PoisonError::into_inner) = Some((kept, before));
        let hidden = Self;
        tcsetattr(terminal, OptionalActions::Flush, &quiet).ok()?;
        Some(hidden)
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        show_typing_again();
    }
}
