//! How a thread that serves a connection waits for something that is done without a thread: a directory of users, a hash's
//! turn.
//!
//! Invariant: what no connection waits for any more is given up.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sapwood_core::{SvnError, SvnResult};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// How often it is checked whether the result is still wanted.
const LOOK: Duration = Duration::from_millis(250);

/// A runtime for such tasks; it begins with the first one.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    runtime: OnceLock<Option<Runtime>>,
}

impl Tasks {
    /// The result of a task. `is_wanted` is called every quarter of a second until there is one; its error ends the task.
    ///
    /// # Errors
    /// That of `is_wanted`; an internal error if the task panics, or no runtime can be made.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
        mut is_wanted: impl FnMut() -> SvnResult<()>,
    ) -> SvnResult<T> {
        let runtime = self.runtime()?;
        let (result, results) = mpsc::sync_channel(1);
        let task = runtime.spawn(async move {
            let value = task.await;
            // The thread that waits may have given up.
            let _ = result.send(value);
        });
        loop {
            match results.recv_timeout(LOOK) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => is_wanted().inspect_err(|_| task.abort())?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(SvnError::internal("a task has panicked"));
                }
            }
        }
    }

    /// Runs a task that no thread waits for.
    ///
    /// # Errors
    /// An internal error if no runtime can be made.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> SvnResult<AbortHandle> {
        Ok(self.runtime()?.spawn(task).abort_handle())
    }

    fn runtime(&self) -> SvnResult<&Runtime> {
        let runtime = self.runtime.get_or_init(|| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).thread_name("tasks").enable_all().build().ok()
        });
        runtime.as_ref().ok_or_else(|| SvnError::internal("no thread for tasks can be made"))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // The last owner may be a task of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sapwood_core::ErrorCode;

    use super::*;

    #[test]
    fn a_task_ends_with_its_result_or_when_it_is_not_wanted() {
        let tasks = Tasks::default();
        assert_eq!(tasks.wait(async { 7 }, || Ok(())).unwrap(), 7);
        let held = Arc::new(());
        let within = Arc::clone(&held);
        let given_up = tasks.wait(
            async move {
                std::future::pending::<()>().await;
                drop(within);
            },
            || Err(SvnError::new(ErrorCode::CANCELLED, "")),
        );
        assert_eq!(given_up.unwrap_err().code(), ErrorCode::CANCELLED);
        assert!(sapwood_testkit::patience::wait(60, || Arc::strong_count(&held) == 1));
    }
}
