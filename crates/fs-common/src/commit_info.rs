//! How a transaction is to be committed: the properties that its revision gets, by whom, and with which lock tokens.

use sapwood_core::PropList;
use sapwood_core::date::Timestamp;
use sapwood_core::props::names::DATE;

use crate::LockAccess;

/// Properties of a transaction that say how it is to be committed, and that no revision has.
pub mod flags {
    /// Changes were checked against later revisions as they were made.
    pub(crate) const CHECK_OOD: &str = "svn:check-ood";
    /// Changes were checked against locks as they were made.
    pub const CHECK_LOCKS: &str = "svn:check-locks";
    /// `0`: the client may set the date; `1`: it did, and the commit keeps it.
    pub const CLIENT_DATE: &str = "svn:client-date";
}

/// How a transaction is to be committed.
#[derive(Debug, Default)]
pub struct CommitInfo {
    /// The properties that the revision will have, and the [`flags`].
    pub props: PropList,
    /// Whether they were changed here since they were written to disk.
    pub props_changed: bool,
    /// Keep the `svn:date` in `props` instead of setting it on commit.
    pub keep_date: bool,
    /// The user that commits, and the lock tokens that are shown.
    pub access: Option<LockAccess>,
}

impl CommitInfo {
    /// The properties as other processes are to see them: with a date, and whether it stays.
    pub fn props_for_disk(&mut self) -> &PropList {
        if self.keep_date {
            self.props.set(flags::CLIENT_DATE, "1");
        } else if self.props.get(DATE).is_none() {
            self.props.set(DATE, Timestamp::now().to_string());
        }
        &self.props
    }

    /// Takes the properties of the new revision: without flags, and with its date.
    pub fn take_revision_props(&mut self) -> PropList {
        let mut props = std::mem::take(&mut self.props);
        let client_date = props.remove(flags::CLIENT_DATE);
        for flag in [flags::CHECK_OOD, flags::CHECK_LOCKS] {
            props.remove(flag);
        }
        if !self.keep_date && client_date.as_deref() != Some(b"1") {
            props.set(DATE, Timestamp::now().to_string());
        }
        props
    }
}

/// Changes properties of a transaction, one after the other; `None` deletes one. A date that is set where the client may do
/// so is kept by the commit.
pub fn change_txn_props(props: &mut PropList, changes: &[(&str, Option<&[u8]>)]) {
    for (name, value) in changes {
        if *name == DATE && props.get(flags::CLIENT_DATE).is_some() {
            props.set(flags::CLIENT_DATE, "1");
        }
        match value {
            Some(value) => drop(props.set(*name, *value)),
            None => drop(props.remove(name)),
        }
    }
}
