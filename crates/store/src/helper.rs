//! A second thread that brings what a request will need into the caches, on the machine's other
//! processor.
//!
//! It reports nothing: what is wrong, or may not be read, the request itself will find.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::ReaderPermit;
use crate::cache::Caches;

/// Stack of the thread, in bytes.
const STACK: usize = 512 << 10;

/// The thread. It is stopped and joined when this is dropped: nothing is read after the
/// request.
#[derive(Debug)]
pub struct Helper {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Starts `work`, which often checks the flag that says that it is over. `None` when enough threads read for others.
    pub fn start<E: 'static>(
        caches: &Arc<Caches>,
        name: &str,
        work: impl FnOnce(&AtomicBool) -> Result<(), E> + Send + 'static,
    ) -> Option<Self> {
        let permit = ReaderPermit::take(caches)?;
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let run = move || {
            let _ = work(&flag);
            drop(permit);
        };
        let builder = std::thread::Builder::new().name(name.to_owned());
        let thread = builder.stack_size(STACK).spawn(run).ok()?;
        Some(Self { over, thread: Some(thread) })
    }

    /// Waits until the thread has done all that it can.
    pub fn finish(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
