//! Names of headers and of the words in them. Names are in lower case, as http libraries require.

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
/// The prefix of [`crate::Resource::RevisionRoot`]s.
pub const REV_ROOT_STUB: &str = "svn-rev-root-stub";
/// The prefix of [`crate::Resource::Revision`]s.
pub const REV_STUB: &str = "svn-rev-stub";
/// The prefix of [`crate::Resource::TxnRoot`]s.
pub const TXN_ROOT_STUB: &str = "svn-txn-root-stub";
/// The prefix of [`crate::Resource::Txn`]s.
pub const TXN_STUB: &str = "svn-txn-stub";
/// The prefix of [`crate::Resource::VTxnRoot`]s.
pub const VTXN_ROOT_STUB: &str = "svn-vtxn-root-stub";
/// The prefix of [`crate::Resource::VTxn`]s.
pub const VTXN_STUB: &str = "svn-vtxn-stub";
/// `On`, `Off` or `Prefer`: whether update reports may hold texts.
pub const ALLOW_BULK_UPDATES: &str = "svn-allow-bulk-updates";
/// The skels that may be posted to [`crate::Resource::Me`].
pub const SUPPORTED_POSTS: &str = "svn-supported-posts";
/// The name of a new transaction.
pub const TXN_NAME: &str = "svn-txn-name";
/// The client's own name for a transaction.
pub const VTXN_NAME: &str = "svn-vtxn-name";
/// The client's revision of the node that it changes.
pub const VERSION_NAME: &str = "x-svn-version-name";
/// Words of [`options`].
pub const OPTIONS: &str = "x-svn-options";
/// The version of the requested node that the client has, as an address.
pub const VR_BASE: &str = "x-svn-vr-base";
/// MD5 of the base of a text delta, in hexadecimal digits.
pub const BASE_MD5: &str = "x-svn-base-fulltext-md5";
/// MD5 of the result of a text delta.
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
    /// MERGE: the reply shall not list the changed nodes.
    pub const NO_MERGE_RESPONSE: &str = "no-merge-response";
    /// UNLOCK: break the lock, even of another user.
    pub const LOCK_BREAK: &str = "lock-break";
    /// LOCK: steal the lock, even of another user.
    pub const LOCK_STEAL: &str = "lock-steal";
    /// MERGE: release the locks of committed nodes.
    pub const RELEASE_LOCKS: &str = "release-locks";
    /// DELETE: keep locks.
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
/// Capability tokens of servers that take commits themselves (no proxies).
pub const COMMIT_CAPABILITIES: [&str; 4] = [
    "http://subversion.tigris.org/xmlns/dav/svn/ephemeral-txnprops",
    "http://subversion.tigris.org/xmlns/dav/svn/svndiff1",
    "http://subversion.tigris.org/xmlns/dav/svn/svndiff2",
    "http://subversion.tigris.org/xmlns/dav/svn/put-result-checksum",
];
