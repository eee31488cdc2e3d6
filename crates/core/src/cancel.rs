//! A way to ask long work to stop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::{ErrorCode, SvnError, SvnResult};

/// Shared flag that a signal handler or a closing connection sets; long loops look at it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    noticed: Arc<AtomicBool>,
    watch: Option<Arc<Watch>>,
}

/// What else ends the work of a token: another token, and something that has to be asked.
struct Watch {
    outer: CancelToken,
    asked: AtomicU32,
    /// In how many looks `gone` is asked once.
    every: u32,
    gone: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("outer", &self.outer).finish_non_exhaustive()
    }
}

/// Asking may take a system call: it is done once in so many looks at the token.
const LOOKS: u32 = 64;

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled when this one is, and when `gone` says so, which is asked once in
    /// 64 looks at the token, by any thread.
    #[must_use]
    pub fn or_when(&self, gone: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let (outer, asked) = (self.clone(), AtomicU32::new(0));
        let watch = Watch { outer, asked, every: LOOKS, gone: Box::new(gone) };
        Self { watch: Some(Arc::new(watch)), ..Self::default() }
    }

    /// A token that asks at every look, with the number of the look: so that a test stops work wherever it
    /// can be stopped.
    #[must_use]
    pub fn at_look(ends: impl Fn(u32) -> bool + Send + Sync + 'static) -> Self {
        let looks = AtomicU32::new(0);
        let gone = move || ends(looks.fetch_add(1, Ordering::Relaxed).wrapping_add(1));
        let outer = Self::new();
        let watch = Watch { outer, asked: AtomicU32::new(0), every: 1, gone: Box::new(gone) };
        Self { watch: Some(Arc::new(watch)), ..Self::default() }
    }

    /// Asks the work to stop. Safe to call from any thread, any number of times.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        if self.flag.load(Ordering::Relaxed) {
            self.noticed.store(true, Ordering::Relaxed);
            return true;
        }
        self.watch.as_deref().is_some_and(|watch| self.look(watch))
    }

    fn look(&self, watch: &Watch) -> bool {
        // Not one atomic step, which costs more than all the rest: threads that look at the same
        // moment may count as one.
        let looks = watch.asked.load(Ordering::Relaxed).wrapping_add(1);
        watch.asked.store(looks, Ordering::Relaxed);
        self.ends_with(watch, looks.is_multiple_of(watch.every))
    }

    fn ends_with(&self, watch: &Watch, ask: bool) -> bool {
        let ends = watch.outer.is_cancelled() || (ask && (watch.gone)());
        if ends {
            self.cancel();
        }
        ends
    }

    /// Whether the work has seen that it was asked to stop, and so is about to.
    #[must_use]
    pub fn was_noticed(&self) -> bool {
        self.noticed.load(Ordering::Relaxed)
    }

    /// As [`CancelToken::check`], but whatever has to be asked is asked at once: for steps that are
    /// long themselves.
    ///
    /// # Errors
    /// E200015 when the work was asked to stop.
    pub fn check_now(&self) -> SvnResult<()> {
        if let Some(watch) = &self.watch {
            self.ends_with(watch, true);
        }
        self.check()
    }

    /// As [`CancelToken::is_cancelled`], as an error to be passed on.
    ///
    /// # Errors
    /// E200015 when the work was asked to stop.
    pub fn check(&self) -> SvnResult<()> {
        if self.is_cancelled() { Err(SvnError::new(ErrorCode::CANCELLED, "")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_and_noticed() {
        let token = CancelToken::new();
        let work = token.clone();
        assert!(!work.is_cancelled() && !token.was_noticed());
        token.cancel();
        assert!(!token.was_noticed());
        assert!(work.is_cancelled() && token.was_noticed());
    }

    #[test]
    fn a_token_that_is_cancelled_at_a_look() {
        let token = CancelToken::at_look(|look| look == 3);
        let looks = [0; 5].map(|_| token.is_cancelled());
        assert_eq!(looks, [false, false, true, true, true]);
        assert!(CancelToken::at_look(|look| look == 1).check().is_err());
    }

    #[test]
    fn an_inner_token_ends_with_the_outer_one_and_when_its_condition_holds() {
        let outer = CancelToken::new();
        let gone = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&gone);
        let inner = outer.or_when(move || asked.load(Ordering::Relaxed));
        assert!((0..200).all(|_| !inner.is_cancelled()));
        gone.store(true, Ordering::Relaxed);
        let looks = (0..200).take_while(|_| !inner.is_cancelled()).count();
        assert!(looks < 64, "noticed after {looks} looks");
        assert!(inner.check().is_err() && !outer.is_cancelled());
        let at_once = outer.or_when(|| true);
        assert!(!at_once.is_cancelled() && at_once.check_now().is_err());
        let other = outer.or_when(|| false);
        outer.cancel();
        assert!(other.clone().is_cancelled());
    }
}
