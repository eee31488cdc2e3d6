//! The task that orders certificates and renews them.
//!
//! Invariants: while it waits it holds no thread, no lock and no connection; a name is ordered only with the folder's lock,
//! after another look at its file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use sapwood_core::SvnError;
use sapwood_core::exact::signed;

use crate::certificates::Certificates;
use crate::error::Error;
use crate::folder::{Folder, Lock};
use crate::schedule::{self, now};

/// Takes what the administrator should know: an error, and whether the server can go on well without.
pub type Report = dyn Fn(&SvnError, bool) + Send + Sync;

/// Until when a name is not ordered, and how often it failed in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    failures: u32,
    /// Seconds since 1970.
    until: i64,
}

type Waits = BTreeMap<String, Wait>;

fn after(wait: Duration) -> i64 {
    now() + signed(wait.as_secs())
}

impl Certificates {
    /// Orders what is missing and renews what ends, for as long as this is polled. `report` gets what fails.
    pub async fn keep(self: Arc<Self>, report: Arc<Report>) {
        let mut waits = self.waits_of_folder().await;
        loop {
            let sleep = self.look(&mut waits, &report).await;
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.bell.notified() => waits = self.waits_of_folder().await,
            }
        }
    }

    /// The waits after a start or a reload: from the last orders, of which the folder has the results.
    async fn waits_of_folder(&self) -> Waits {
        let names = self.settings().domains.clone();
        let most = schedule::REFUSED_WAIT;
        let of_folder = self.orders.folder.with(move |folder| {
            let wait = |name: &String| {
                let failed = folder.failed_at(name);
                let last = failed.max(folder.stamp(name))?.duration_since(UNIX_EPOCH).ok()?;
                // A file from the future is as one of now.
                let until = signed(last.as_secs()) + signed(most.as_secs());
                let until = until.min(after(most));
                Some((name.clone(), Wait { failures: u32::from(failed.is_some()), until }))
            };
            Ok(names.iter().filter_map(wait).collect())
        });
        // Without them there are none.
        of_folder.await.unwrap_or_else(|_| Waits::new())
    }

    /// Orders what is due; how long there is nothing to do.
    async fn look(self: &Arc<Self>, waits: &mut Waits, report: &Arc<Report>) -> Duration {
        self.read_again(report).await;
        for name in &self.settings().domains {
            if self.due_in(name, waits) > 0 {
                continue;
            }
            match self.orders.folder.with(Folder::lock).await {
                Ok(Some(lock)) => self.order(name, lock, waits, report).await,
                Ok(None) => return schedule::BUSY,
                Err(error) => self.failed(name, error, waits, report).await,
            }
        }
        let next = self.settings().domains.iter().map(|name| self.due_in(name, waits)).min();
        let next = u64::try_from(next.unwrap_or(0)).unwrap_or(0);
        Duration::from_secs(next.max(1)).min(schedule::LOOK)
    }

    /// Reads files that others have changed.
    async fn read_again(self: &Arc<Self>, report: &Arc<Report>) {
        let (own, reporter) = (Arc::clone(self), Arc::clone(report));
        let read = self.orders.folder.with(move |_| {
            own.read_files(&mut |_, error| reporter(&error.into(), true));
            Ok(())
        });
        if let Err(error) = read.await {
            report(&error.into(), true);
        }
    }

    /// Orders a name, unless another server has just done so.
    async fn order(
        self: &Arc<Self>,
        name: &str,
        lock: Lock,
        waits: &mut Waits,
        report: &Arc<Report>,
    ) {
        self.read_again(report).await;
        if self.due_in(name, waits) > 0 {
            return;
        }
        match self.orders.order(name).await {
            Ok(kept) => {
                let until = after(schedule::between(kept.begins, kept.ends));
                waits.insert(name.to_owned(), Wait { failures: 0, until });
                self.ordered(name, Some(kept));
                let done = name.to_owned();
                let forgotten =
                    self.orders.folder.with(move |folder| folder.forget_failure(&done)).await;
                if let Err(error) = forgotten {
                    report(&error.into(), true);
                }
            }
            Err(error) => self.failed(name, error, waits, report).await,
        }
        drop(lock);
    }

    /// Seconds until a name is ordered; none or less if that is now.
    fn due_in(&self, name: &str, waits: &Waits) -> i64 {
        let renewal = self.times(name).map_or(0, |(begins, ends)| schedule::renewal(begins, ends));
        let until = waits.get(name).map_or(0, |wait| wait.until);
        renewal.max(until) - now()
    }

    /// An order failed: it waits, and the administrator gets a line.
    async fn failed(&self, name: &str, error: Error, waits: &mut Waits, report: &Arc<Report>) {
        self.ordered(name, None);
        let failures = waits.get(name).map_or(0, |wait| wait.failures);
        let failures = failures.checked_add(1).unwrap_or(failures);
        let wait = schedule::wait(failures, error.is_refusal());
        waits.insert(name.to_owned(), Wait { failures, until: after(wait) });
        let why = self.sentence(name, &error, wait);
        let (noted, text) = (name.to_owned(), why.clone());
        let written = self.orders.folder.with(move |folder| folder.note_failure(&noted, &text));
        if let Err(error) = written.await {
            report(&error.into(), true);
        }
        let is_served = self.times(name).is_some_and(|(_, ends)| ends > now());
        report(&SvnError::new(SvnError::from(error).code(), why), is_served);
    }

    /// What the administrator reads of an order that failed.
    fn sentence(&self, name: &str, error: &Error, wait: Duration) -> String {
        let old = match self.times(name).map(|(_, ends)| ends - now()) {
            Some(left) if left > 0 => format!("the old one ends in {} hours", left / 3600),
            Some(_) => "the old one has ended".to_owned(),
            None => "there is none".to_owned(),
        };
        let minutes = wait.as_secs() / 60;
        format!("No new certificate for '{name}': {error} ({old}; next try in {minutes} minutes)")
    }
}
