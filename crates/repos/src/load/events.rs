//! Events of a load in their order: what comes after a revision that is committed, but not there
//! yet, waits until it is.

use std::collections::VecDeque;

use sapwood_core::{Revnum, SvnResult};

use super::{LoadEvent, LoadNotify};

/// Events that wait until one looks.
const MANY: usize = 4096;

/// An event that waits.
enum WaitingEvent {
    /// Waits for its revision; number here and in the stream.
    Committed(Revnum, u64),
    Node(Box<str>),
    Warning(u32, Box<str>),
    /// One that borrows nothing.
    Other(LoadEvent<'static>),
}

/// Reports events in order.
pub(super) struct Events<'a, 'b> {
    notify: &'a mut LoadNotify<'b>,
    waiting: VecDeque<WaitingEvent>,
}

impl<'a, 'b> Events<'a, 'b> {
    pub(super) fn new(notify: &'a mut LoadNotify<'b>) -> Self {
        Self { notify, waiting: VecDeque::new() }
    }

    /// Reports an event once all before it are reported.
    pub(super) fn notify(&mut self, event: LoadEvent<'_>) -> SvnResult<()> {
        if self.waiting.is_empty() {
            return (self.notify)(event);
        }
        self.waiting.push_back(match event {
            LoadEvent::Node(path) => WaitingEvent::Node(path.into()),
            LoadEvent::Warning(code, message) => WaitingEvent::Warning(code, message.into()),
            LoadEvent::Started(number) => WaitingEvent::Other(LoadEvent::Started(number)),
            LoadEvent::Skipped(number) => WaitingEvent::Other(LoadEvent::Skipped(number)),
            LoadEvent::Copied => WaitingEvent::Other(LoadEvent::Copied),
            LoadEvent::NormalizedMergeinfo => WaitingEvent::Other(LoadEvent::NormalizedMergeinfo),
            LoadEvent::NodeDone => WaitingEvent::Other(LoadEvent::NodeDone),
            LoadEvent::Committed(here, number) => {
                WaitingEvent::Other(LoadEvent::Committed(here, number))
            }
            LoadEvent::PropsSet(revision) => WaitingEvent::Other(LoadEvent::PropsSet(revision)),
        });
        Ok(())
    }

    /// A revision that is to be reported once it is published.
    pub(super) fn committed(&mut self, here: Revnum, number: u64) {
        self.waiting.push_back(WaitingEvent::Committed(here, number));
    }

    /// Whether anything waits.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so much waits that it is worth a look whether it still has to.
    pub(super) fn are_many(&self) -> bool {
        self.waiting.len() >= MANY
    }

    /// Reports what waited for revisions up to `published`.
    pub(super) fn emit(&mut self, published: Revnum) -> SvnResult<()> {
        while let Some(event) = self.waiting.pop_front() {
            match event {
                WaitingEvent::Committed(here, _) if here > published => {
                    self.waiting.push_front(event);
                    return Ok(());
                }
                WaitingEvent::Committed(here, number) => {
                    (self.notify)(LoadEvent::Committed(here, number))?;
                }
                WaitingEvent::Node(path) => (self.notify)(LoadEvent::Node(&path))?,
                WaitingEvent::Warning(code, message) => {
                    (self.notify)(LoadEvent::Warning(code, &message))?;
                }
                WaitingEvent::Other(event) => (self.notify)(event)?,
            }
        }
        Ok(())
    }
}
