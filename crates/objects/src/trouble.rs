//! What goes wrong where nothing waits for it: work that only makes later requests cheap.
//!
//! Invariant: such a failure is passed on once, to what the program has named for it ([`set_report`]), and to nothing else.

use std::sync::Arc;

use parking_lot::RwLock;
use sapwood_core::SvnError;

/// Takes what is worth a line in a log.
pub type Report = dyn Fn(&SvnError) + Send + Sync;

/// Where failures go.
static REPORT: RwLock<Option<Arc<Report>>> = RwLock::new(None);

/// Says where failures go from now on: a server's log. Until then, and in programs that have no log, they go nowhere.
pub fn set_report(report: Arc<Report>) {
    *REPORT.write() = Some(report);
}

/// Passes a failure on.
pub fn report(error: &SvnError) {
    let report = REPORT.read().clone();
    if let Some(report) = report {
        report(error);
    }
}
