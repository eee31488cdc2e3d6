//! One inotify instance for all working copies: of these a user has few (128, `fs.inotify.max_user_instances`), and
//! other programs need them.
//!
//! A directory may belong to two working copies (the root of one within the other): it has one watch, and an event
//! of it is for both.
//!
//! For each watch that is taken away the kernel puts an event into the queue, which has an end (16,384): they are
//! taken away some at a time, and the queue is emptied in between.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::{Error, Result};

/// Bytes of events that are read at once.
const EVENTS: usize = 64 << 10;
/// Watches that are taken away at once.
const REMOVED: usize = 2048;
/// What errors of the instance itself speak of.
const SHOWN: &str = "inotify";

/// The number of a working copy.
pub(crate) type Owner = u64;

/// The instance.
#[derive(Debug)]
pub(crate) struct Queue {
    events: OwnedFd,
    /// The owner of each watch, by the watch's number.
    owners: HashMap<i32, Vec<Owner>>,
    /// Watches that an owner no longer needs, and that are still there.
    unwanted: BTreeSet<(Owner, i32)>,
}

/// One event, copied out of the buffer.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) watch: i32,
    pub(crate) what: ReadFlags,
    pub(crate) name: Option<String>,
}

impl Queue {
    /// # Errors
    /// Those of the system: its limit, most often.
    pub(crate) fn new() -> Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|error| Error::io(error, "Can't begin to watch by", SHOWN))?;
        Ok(Self { events, owners: HashMap::new(), unwanted: BTreeSet::new() })
    }

    /// What becomes readable when there is news.
    pub(crate) const fn events(&self) -> &OwnedFd {
        &self.events
    }

    /// Watches a directory; the number of its watch.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn add(&mut self, owner: Owner, way: &Path) -> std::result::Result<i32, Errno> {
        let watch = inotify::add_watch(&self.events, way, wanted())?;
        self.unwanted.remove(&(owner, watch));
        let owners = self.owners.entry(watch).or_default();
        if !owners.contains(&owner) {
            owners.push(owner);
        }
        Ok(watch)
    }

    /// An owner needs a watch no longer.
    pub(crate) fn leave(&mut self, owner: Owner, watch: i32) {
        self.unwanted.insert((owner, watch));
    }

    /// Takes some of the watches away that are not needed; whether there were any.
    pub(crate) fn remove_some(&mut self) -> bool {
        let mut removed = 0;
        while removed < REMOVED
            && let Some((owner, watch)) = self.unwanted.pop_first()
        {
            self.remove(owner, watch);
            removed += 1;
        }
        removed > 0
    }

    /// Watches a directory no longer for an owner, and not at all when that was the last one.
    fn remove(&mut self, owner: Owner, watch: i32) {
        let Some(owners) = self.owners.get_mut(&watch) else { return };
        owners.retain(|one| *one != owner);
        if owners.is_empty() {
            self.owners.remove(&watch);
            // Of a directory that was deleted the kernel took it away itself.
            let _ = inotify::remove_watch(&self.events, watch);
        }
    }

    /// Whom an event is for. With the last event of a watch its number is free.
    pub(crate) fn owners(&mut self, event: &Event) -> Vec<Owner> {
        if event.what.contains(ReadFlags::IGNORED) {
            return self.owners.remove(&event.watch).into_iter().flatten().collect();
        }
        self.owners.get(&event.watch).into_iter().flatten().copied().collect()
    }

    /// One buffer of events; whether some were lost.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn read(&self) -> Result<(Vec<Event>, bool)> {
        let mut buffer = vec![MaybeUninit::uninit(); EVENTS];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut seen = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                        return Ok((seen, true));
                    }
                    let name = event.file_name().map(CStr::to_bytes).map(String::from_utf8_lossy);
                    let name = name.map(std::borrow::Cow::into_owned);
                    seen.push(Event { watch: event.wd(), what: event.events(), name });
                }
                Err(Errno::AGAIN) => return Ok((seen, false)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(Error::io(error, "Can't read events of", SHOWN)),
            }
            if reader.is_buffer_empty() {
                return Ok((seen, false));
            }
        }
    }
}

fn wanted() -> WatchFlags {
    WatchFlags::ATTRIB
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVE
        | WatchFlags::MOVE_SELF
        | WatchFlags::DONT_FOLLOW
        | WatchFlags::ONLYDIR
}
