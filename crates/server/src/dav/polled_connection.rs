//! A connection that two threads drive: the runtime, and the thread that handles its request.
//!
//! hyper's connection is a future. If only a task of the runtime polled it, each piece of a reply
//! would have to wake that task on another thread, which costs several times as much as writing the
//! piece. So the thread that has a piece hands it over and then polls the connection itself: as long
//! as the socket accepts the data, no other thread has to wake. When the socket is full, the task is
//! woken in the usual way once there is room again.
//!
//! Invariant: what happens while wakes are held back is seen by the poll that follows.
//!
//! What it gains (docs/results/what-pays.tsv): 3 of 121 ms of an export of 3,000 files, 1 of 8.5 ms of one GET.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// The connection's handler is about to poll it: no wake is needed.
const HELD: u8 = 1;
/// The connection was to be woken.
const WOKEN: u8 = 2;

/// Wakes the task of a connection, unless its handler polls the connection next.
#[derive(Debug, Default)]
struct Gate {
    state: AtomicU8,
    task: Mutex<Option<Waker>>,
}

impl Gate {
    fn hold(&self) {
        self.state.fetch_or(HELD, Ordering::AcqRel);
    }

    /// Everything that was done before a held-back wake is visible to the caller afterwards.
    fn release(&self) {
        self.state.swap(0, Ordering::AcqRel);
    }

    fn wake_task(&self) {
        let task = self.task.lock().clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(WOKEN, Ordering::AcqRel) & HELD == 0 {
            self.wake_task();
        }
    }
}

/// `None` when it has ended.
type Connection = Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>;

/// The connection, as the task that owns it awaits it.
pub(super) struct PolledConnection {
    connection: Connection,
    gate: Arc<Gate>,
}

impl PolledConnection {
    /// The connection that `make` makes, which gets the state that its handlers drive it by.
    pub(super) fn new<F>(make: impl FnOnce(Driver) -> F) -> Arc<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Arc::new_cyclic(|driven| {
            let connection = make(Driver(Weak::clone(driven)));
            Self { connection: Mutex::new(Some(Box::pin(connection))), gate: Arc::default() }
        })
    }

    /// Waits for its end. One task may do that.
    pub(super) async fn ended(self: Arc<Self>) {
        std::future::poll_fn(|cx| {
            {
                let mut task = self.gate.task.lock();
                if !task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
                    *task = Some(cx.waker().clone());
                }
            }
            if self.poll() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Lets the connection do what it can without waiting; returns whether it has ended.
    fn poll(&self) -> bool {
        let mut connection = self.connection.lock();
        let Some(future) = connection.as_mut() else { return true };
        let waker = Waker::from(Arc::clone(&self.gate));
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            return false;
        }
        *connection = None;
        true
    }
}

/// A handler's reference to its connection, which does not keep it alive.
#[derive(Clone, Debug)]
pub(super) struct Driver(Weak<PolledConnection>);

impl Driver {
    /// A reference to no connection, for code that runs within the connection itself: no wake is needed
    /// there.
    pub(super) const fn none() -> Self {
        Self(Weak::new())
    }

    /// Does `work`, which hands something to the connection, and lets the connection send it.
    pub(super) fn hand_over<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(driven) = self.0.upgrade() else { return work() };
        driven.gate.hold();
        let done = work();
        driven.gate.release();
        if driven.poll() {
            driven.gate.wake_task();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::mpsc;

    use super::*;

    /// Counts how often a task was woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_handed_over_wakes_no_other_thread() {
        let (send, mut receive) = mpsc::channel(8);
        let got = Arc::new(Mutex::new(Vec::new()));
        let connection = {
            let got = Arc::clone(&got);
            async move {
                while let Some(piece) = receive.recv().await {
                    got.lock().push(piece);
                }
            }
        };
        let mut driver = None;
        let driven = PolledConnection::new(|its| {
            driver = Some(its);
            connection
        });
        let driver = driver.unwrap();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        let woken = || wakes.0.load(Ordering::Relaxed);
        let mut task = std::pin::pin!(driven.ended());
        assert!(task.as_mut().poll(&mut cx).is_pending());

        for piece in 0..5 {
            driver.hand_over(|| send.try_send(piece)).unwrap();
        }
        assert_eq!((got.lock().as_slice(), woken()), (&[0, 1, 2, 3, 4][..], 0));

        // Wakes from elsewhere wake the task, as if there were no handler.
        send.try_send(5).unwrap();
        assert_eq!((got.lock().len(), woken()), (5, 1));
        assert!(task.as_mut().poll(&mut cx).is_pending());
        assert_eq!(got.lock().len(), 6);

        // The task gets the end, and the handler may go on after it.
        driver.hand_over(|| drop(send));
        assert_eq!(woken(), 2);
        assert!(task.as_mut().poll(&mut cx).is_ready());
        assert_eq!(driver.hand_over(|| 7), 7);
    }
}
