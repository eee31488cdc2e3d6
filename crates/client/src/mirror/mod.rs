//! `svnsync`: keeps a repository the mirror of another.
//!
//! All state is in properties of the mirror's revision 0, so that a run that was interrupted
//! anywhere can be taken up again by whichever program comes next.

mod copy_revprops;
mod editor;
mod initialize;
mod properties;
mod synchronize;

use sapwood_core::paths::Url;
use sapwood_core::{CancelToken, ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, RevpropChange, Session, Settings};

pub use self::properties::{Encoding, ascii};
pub use crate::oplock::{LockAttempt, LockNotice};

use crate::oplock::OperationalLock;
use crate::target::canonical_url;

/// The prefix of svnsync's own properties.
pub const PREFIX: &str = "svn:sync-";
/// The URL that is mirrored.
pub const FROM_URL: &str = "svn:sync-from-url";
/// The UUID of its repository.
pub const FROM_UUID: &str = "svn:sync-from-uuid";
/// The last complete revision.
pub const LAST_MERGED: &str = "svn:sync-last-merged-rev";
/// The revision that is being copied.
const COPYING: &str = "svn:sync-currently-copying";
/// Which process is at work.
const LOCK: &str = "svn:sync-lock";

/// The events of work on a mirror.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The mirror's server cannot change properties in one step: a lock may fail to keep others out.
    LocksAreWeak(&'a SvnError),
    /// Another process has the lock, or had it.
    Lock(LockNotice<'a>),
    /// The text of a file is being sent; whether it is the first of its revision.
    Text(bool),
    /// All texts of the revision are sent.
    TextsSent,
    /// Mergeinfo of the revision named revision 0, and does not any more.
    MergeinfoAdjusted,
    /// The revision is about to be committed: earlier output must be visible.
    Closing,
    /// The revision is made.
    Committed(Revnum),
    /// The properties of a revision are copied; whether svnsync's own were left out.
    PropsCopied(Revnum, bool),
    /// The numbers of properties of revisions and of nodes with other line ends.
    Normalized(u64, u64),
}

/// Receives the events.
pub type Notify<'a> = dyn FnMut(Event<'_>) -> SvnResult<()> + 'a;

/// One run on a mirror.
pub struct Mirror<'a> {
    /// A session at the mirror's root, by [`open`].
    pub session: &'a dyn Session,
    /// Opens the source.
    pub open_source: &'a dyn Fn(&Url) -> SvnResult<Box<dyn Session>>,
    /// How the text of the source's properties is encoded.
    pub encoding: Encoding,
    /// Whether properties of revisions stay alone that are the same already.
    pub skip_unchanged: bool,
    /// How the mirror is locked; it is not when there is nothing.
    pub locking: Option<LockAttempt>,
    /// Asks the work to stop.
    pub cancel: CancelToken,
    /// Receives the events.
    pub notify: &'a mut Notify<'a>,
}

impl std::fmt::Debug for Mirror<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

/// Opens a mirror, whose root the URL must be.
///
/// # Errors
/// E22 when it is not the root; those of opening a session.
pub fn open(url: &Url, settings: &Settings) -> SvnResult<Box<dyn Session>> {
    let session = sapwood_ra::open(url, settings)?;
    let root = session.root_url();
    if root != url {
        return Err(invalid(format!(
            "Session is rooted at '{url}' but the repos root is '{root}'"
        )));
    }
    Ok(session)
}

/// The properties that say of what a repository is the mirror.
///
/// # Errors
/// E125002 when it is the mirror of nothing.
pub fn info(session: &dyn Session) -> SvnResult<PropList> {
    let props = session.rev_proplist(Revnum::ZERO)?;
    if props.get(FROM_URL).is_none() {
        let url = session.url();
        return Err(SvnError::new(
            ErrorCode::BAD_URL,
            format!("Repository '{url}' is not initialized for synchronization"),
        ));
    }
    Ok(props)
}

/// The error for mirrors that are not as they should be.
fn invalid(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::EINVAL, text)
}

/// Sets a property of revision 0 of the mirror.
fn set(mirror: &dyn Session, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
    mirror.change_rev_prop(&RevpropChange { revision: Revnum::ZERO, name, expected: None, value })
}

/// Writes properties of a revision, all but svnsync's own; `existing` are those that need not be
/// written again. Whether any were left out.
fn write_props(
    mirror: &dyn Session,
    revision: Revnum,
    props: &PropList,
    existing: Option<&PropList>,
) -> SvnResult<bool> {
    let mut skipped = false;
    for (name, value) in props.iter() {
        if name.starts_with(PREFIX) {
            skipped = true;
            continue;
        }
        if existing.is_some_and(|existing| existing.get(name) == Some(value)) {
            continue;
        }
        mirror.change_rev_prop(&RevpropChange {
            revision,
            name,
            expected: None,
            value: Some(value),
        })?;
    }
    Ok(skipped)
}

/// Deletes properties that the source does not have.
fn remove_props(
    mirror: &dyn Session,
    revision: Revnum,
    source: &PropList,
    existing: &PropList,
) -> SvnResult<()> {
    for (name, _) in existing.iter() {
        let own = revision == Revnum::ZERO && name.starts_with(PREFIX);
        if !own && source.get(name).is_none() {
            mirror.change_rev_prop(&RevpropChange {
                revision,
                name,
                expected: None,
                value: None,
            })?;
        }
    }
    Ok(())
}

impl Mirror<'_> {
    /// The source of the mirror, at `url` or where the mirror says; also the last merged revision.
    fn source(&self, url: Option<&Url>) -> SvnResult<(Box<dyn Session>, Revnum)> {
        let props = self.session.rev_proplist(Revnum::ZERO)?;
        let (Some(from_url), Some(uuid), Some(last)) =
            (props.get_str(FROM_URL), props.get_str(FROM_UUID), props.get(LAST_MERGED))
        else {
            return Err(invalid("Destination repository has not been initialized"));
        };
        let url = match url {
            Some(url) => url.to_owned(),
            None => canonical_url(from_url)?,
        };
        let source = (self.open_source)(&url)?;
        let is = source.uuid();
        if is != uuid {
            return Err(SvnError::new(
                ErrorCode::RA_UUID_MISMATCH,
                format!("Repository UUID '{is}' doesn't match expected UUID '{uuid}'"),
            ));
        }
        // Like the reference: whatever does not begin with a number counts as 0.
        let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
        let last = last.get(..digits).and_then(Revnum::parse).unwrap_or(Revnum::ZERO);
        Ok((source, last))
    }

    /// Does some work with the mirror locked, if it is to be.
    fn locked(&mut self, work: impl FnOnce(&mut Self) -> SvnResult<()>) -> SvnResult<()> {
        let Some(locking) = self.locking.take() else { return work(self) };
        let mirror = self.session;
        if !mirror.has_capability(Capability::AtomicRevprops)? {
            (self.notify)(Event::LocksAreWeak(&SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "Target server does not support atomic revision property edits; consider \
                 upgrading it to 1.7 or using an external locking program",
            )))?;
        }
        let notify = &mut *self.notify;
        let lock = OperationalLock::take(mirror, LOCK, &locking, &self.cancel, &mut |notice| {
            notify(Event::Lock(notice))
        })?;
        lock.hold(|| work(self))
    }

    fn notify_normalized(&mut self, revprops: u64, node_props: u64) -> SvnResult<()> {
        if revprops == 0 && node_props == 0 {
            return Ok(());
        }
        (self.notify)(Event::Normalized(revprops, node_props))
    }

    /// Copies all properties of one revision; with `all`, those that the source does not have go away.
    /// The number of normalized properties.
    fn copy_props(&mut self, source: &dyn Session, revision: Revnum, all: bool) -> SvnResult<u64> {
        let mirror = self.session;
        let existing = if all { mirror.rev_proplist(revision)? } else { PropList::new() };
        let mut props = source.rev_proplist(revision)?;
        let normalized = self.encoding.normalize(&mut props)?;
        let skip = all && self.skip_unchanged;
        let skipped = write_props(mirror, revision, &props, skip.then_some(&existing))?;
        if all {
            remove_props(mirror, revision, &props, &existing)?;
        }
        (self.notify)(Event::PropsCopied(revision, skipped))?;
        Ok(normalized)
    }
}
