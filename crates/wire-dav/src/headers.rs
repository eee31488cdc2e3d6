//! Names of headers and of the words in them. Names are in lower case, as http libraries want them.

/// The capabilities of a server, in several headers of this name.
pub const DAV: &str = "dav";
/// The youngest revision.
pub const YOUNGEST_REV: &str = "svn-youngest-rev";
/// The repository's UUID.
pub const REPOSITORY_UUID: &str = "svn-repository-uuid";
/// `yes` or `no`: whether the repository can hold mergeinfo.
pub const REPOSITORY_MERGEINFO: &str = "svn-repository-mergeinfo";
/// The path of the repository's URL.
pub const REPOSITORY_ROOT: &str = "svn-repository-root";
/// The address of [`crate::Resource::Me`].
pub const ME_RESOURCE: &str = "svn-me-resource";
/// What [`crate::Resource::RevisionRoot`]s begin with.
pub const REV_ROOT_STUB: &str = "svn-rev-root-stub";
/// What [`crate::Resource::Revision`]s begin with.
pub const REV_STUB: &str = "svn-rev-stub";
/// What [`crate::Resource::TxnRoot`]s begin with.
pub const TXN_ROOT_STUB: &str = "svn-txn-root-stub";
/// What [`crate::Resource::Txn`]s begin with.
pub const TXN_STUB: &str = "svn-txn-stub";
/// What [`crate::Resource::VTxnRoot`]s begin with.
pub const VTXN_ROOT_STUB: &str = "svn-vtxn-root-stub";
/// What [`crate::Resource::VTxn`]s begin with.
pub const VTXN_STUB: &str = "svn-vtxn-stub";
/// `On`, `Off` or `Prefer`: whether update reports may hold texts.
pub const ALLOW_BULK_UPDATES: &str = "svn-allow-bulk-updates";
/// What may be posted to [`crate::Resource::Me`].
pub const SUPPORTED_POSTS: &str = "svn-supported-posts";
/// The name of a transaction that was made.
pub const TXN_NAME: &str = "svn-txn-name";
/// The name that a client gives to a transaction.
pub const VTXN_NAME: &str = "svn-vtxn-name";
/// The revision that a client has of what it changes.
pub const VERSION_NAME: &str = "x-svn-version-name";
/// Words of [`options`].
pub const OPTIONS: &str = "x-svn-options";
/// What a client has of what it gets: an address of a version.
pub const VR_BASE: &str = "x-svn-vr-base";
/// MD5 of what a text delta applies to, in hexadecimal digits.
pub const BASE_MD5: &str = "x-svn-base-fulltext-md5";
/// MD5 of what comes of it.
pub const RESULT_MD5: &str = "x-svn-result-fulltext-md5";
/// When a lock was made.
pub const CREATION_DATE: &str = "x-svn-creation-date";
/// The user that made a lock.
pub const LOCK_OWNER: &str = "x-svn-lock-owner";
/// The media type of text deltas.
pub const SVNDIFF_TYPE: &str = "application/vnd.svn-svndiff";
/// The media type of the skels that are posted.
pub const SKEL_TYPE: &str = "application/vnd.svn-skel";

/// Words of [`OPTIONS`].
pub mod options {
    /// MERGE: the reply shall not list what changed.
    pub const NO_MERGE_RESPONSE: &str = "no-merge-response";
    /// UNLOCK: whichever user has the lock.
    pub const LOCK_BREAK: &str = "lock-break";
    /// LOCK: whichever user has the lock.
    pub const LOCK_STEAL: &str = "lock-steal";
    /// MERGE: locks of what was committed end.
    pub const RELEASE_LOCKS: &str = "release-locks";
    /// DELETE: locks are kept.
    pub const KEEP_LOCKS: &str = "keep-locks";
}

/// Capability tokens of every server, in the order in which they are sent.
pub const CAPABILITIES: [&str; 9] = [
    "http://subversion.tigris.org/xmlns/dav/svn/depth",
    "http://subversion.tigris.org/xmlns/dav/svn/log-revprops",
    "http://subversion.tigris.org/xmlns/dav/svn/atomic-revprops",
    "http://subversion.tigris.org/xmlns/dav/svn/partial-replay",
    "http://subversion.tigris.org/xmlns/dav/svn/inherited-props",
    "http://subversion.tigris.org/xmlns/dav/svn/inline-props",
    "http://subversion.tigris.org/xmlns/dav/svn/reverse-file-revs",
    "http://subversion.tigris.org/xmlns/dav/svn/list",
    "http://subversion.tigris.org/xmlns/dav/svn/mergeinfo",
];
/// Sent with HTTPv2's headers.
pub const REPLAY_REV_RESOURCE: &str =
    "http://subversion.tigris.org/xmlns/dav/svn/replay-rev-resource";
/// Capability tokens of those that take commits themselves.
pub const COMMIT_CAPABILITIES: [&str; 4] = [
    "http://subversion.tigris.org/xmlns/dav/svn/ephemeral-txnprops",
    "http://subversion.tigris.org/xmlns/dav/svn/svndiff1",
    "http://subversion.tigris.org/xmlns/dav/svn/svndiff2",
    "http://subversion.tigris.org/xmlns/dav/svn/put-result-checksum",
];
