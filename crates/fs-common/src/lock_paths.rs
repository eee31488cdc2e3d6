//! Locking and unlocking paths.
//!
//! A process that changes locks holds `write-lock`. A lock is the digest file of its path; the digest file
//! of each directory above lists it, so that a subtree's locks are found. The order keeps this
//! true when a process stops anywhere: directories list a lock before it is there, and until after
//! it is gone. A listed lock that is not there is no lock.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, Lock, Md5, NodeKind, Revnum, SvnError, path as paths};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::lockfile::{self, DigestFile, StoredLock};

use sapwood_store::write::create_beside;
use sapwood_store::{HeldLock, WriteStorage, uuid};

use crate::locks::{LockFiles, from_stored, is_expired, now};

/// What locking asks of an engine.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
pub trait LockHost {
    /// The engine's errors.
    type Error: From<SvnError>;
    /// The youngest revision, to be looked at.
    type Head;

    /// Where the files are.
    fn storage(&self) -> &dyn WriteStorage;
    /// The locks.
    fn files(&self) -> LockFiles<'_>;
    /// The filesystem's UUID, which messages name.
    fn uuid(&self) -> &str;
    /// Whether what is written is made durable.
    fn is_synced(&self) -> bool;
    /// Waits for the right to change locks.
    fn write_lock(&self) -> std::result::Result<Box<dyn HeldLock>, Self::Error>;
    /// The youngest revision now.
    fn head(&self) -> std::result::Result<(Revnum, Self::Head), Self::Error>;
    /// Kind and revision of the node at a path of that; `None` when there is none.
    fn node(
        &self,
        head: &Self::Head,
        path: &FsPath,
    ) -> std::result::Result<Option<(NodeKind, Option<Revnum>)>, Self::Error>;
    /// The error for a revision that does not exist.
    fn no_such_revision(revision: Revnum) -> Self::Error;
    /// The permissions that digest files get: those of the file of revision 0, which may come into a pack and be gone at any
    /// moment.
    fn permissions(&self) -> std::result::Result<u32, Self::Error>;
}

/// Results for the engine.
type Result<T, H> = std::result::Result<T, <H as LockHost>::Error>;

fn error<E: From<SvnError>>(code: ErrorCode, message: impl Into<String>) -> E {
    SvnError::new(code, message.into()).into()
}

fn io<E: From<SvnError>>(error: &std::io::Error, verb: &str, path: &Path) -> E {
    SvnError::io(error, format_args!("{verb} '{}'", path.display())).into()
}

/// What lock tokens begin with.
const TOKEN_SCHEME: &str = "opaquelocktoken";
/// How many paths may be locked or unlocked at once with the contents of every file made durable.
/// The reference syncs none; a thousand files would take seconds.
const SYNCED_AT_ONCE: usize = 64;

/// A path that shall be locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTarget {
    /// Its path.
    pub path: FsPathBuf,
    /// The token to use, when it is not to be a new one.
    pub token: Option<String>,
    /// The revision of the file that the user has: a newer one in the repository is an error.
    pub revision: Option<Revnum>,
}

/// How paths shall be locked.
#[derive(Clone, Copy, Debug)]
pub struct LockOptions<'a> {
    /// The user that locks.
    pub user: &'a str,
    /// Why.
    pub comment: Option<&'a str>,
    /// Whether the comment is a DAV client's XML.
    pub is_dav_comment: bool,
    /// When the locks end, in microseconds since 1970; `None` for never.
    pub expires: Option<i64>,
    /// Whether to take over locks of others.
    pub steal: bool,
}

/// A path that shall be unlocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlockTarget {
    /// Its path.
    pub path: FsPathBuf,
    /// The token of its lock; of no concern when the lock is broken.
    pub token: String,
}

/// What became of several paths.
#[derive(Debug)]
pub struct LockOutcome<T, E> {
    /// One result for each path. Paths that were given twice have one; those that were not looked at
    /// because of a failure have none.
    pub each: Vec<(FsPathBuf, std::result::Result<T, E>)>,
    /// What went wrong with all of them.
    pub failure: Option<E>,
}

impl<T, E> LockOutcome<T, E> {
    const fn failed(failure: E) -> Self {
        Self { each: Vec::new(), failure: Some(failure) }
    }
}

/// Locked paths to be entered below each directory, or taken out.
#[derive(Default)]
struct Index<'a>(BTreeMap<&'a str, Vec<Md5>>);

impl<'a> Index<'a> {
    fn add(&mut self, path: &'a FsPath) {
        let digest = lockfile::digest_of(path);
        let mut folder = path;
        while folder != "/" {
            folder = folder.parent();
            self.0.entry(folder).or_default().push(digest);
        }
    }
}

/// Changes locks.
struct LockChanges<'a, H> {
    host: &'a H,
    /// The permissions that digest files get, once one is written: where all go away, revision 0 need not be readable.
    mode: OnceCell<u32>,
}

impl<'a, H> LockChanges<'a, H> {
    const fn new(host: &'a H) -> Self {
        Self { host, mode: OnceCell::new() }
    }
}

/// Locks paths.
///
/// Errors of a path: E160017 for a directory; E160042 or E160013 when it is not there, E160042
/// when it is newer than the user's; E160035 when another user locked it; E160037 for tokens
/// that are none; E160006; system errors. Errors of all: E130004 for a comment that XML cannot
/// hold; corruption and system errors.
#[must_use]
pub fn lock<H: LockHost>(
    host: &H,
    targets: &[LockTarget],
    options: &LockOptions<'_>,
) -> LockOutcome<Lock, H::Error> {
    LockChanges::new(host).lock_paths(targets, options)
}

/// Unlocks paths. `user` makes the request, with `break_lock` also for locks of other users.
///
/// Errors of a path: E160040 when there is no lock, or one with another token; E160039 when it
/// is another's; E160041 when it has expired (and it is gone then). Errors of all: E160034
/// without a user; corruption and system errors.
#[must_use]
pub fn unlock<H: LockHost>(
    host: &H,
    targets: &[UnlockTarget],
    user: Option<&str>,
    break_lock: bool,
) -> LockOutcome<(), H::Error> {
    LockChanges::new(host).unlock_paths(targets, user, break_lock)
}

impl<H: LockHost> LockChanges<'_, H> {
    fn lock_paths(
        &self,
        targets: &[LockTarget],
        options: &LockOptions<'_>,
    ) -> LockOutcome<Lock, H::Error> {
        if options.comment.is_some_and(|comment| !is_xml_safe(comment)) {
            return LockOutcome::failed(error(
                ErrorCode::XML_UNESCAPABLE_DATA,
                "Lock comment contains illegal characters",
            ));
        }
        if options.expires.is_some_and(|time| time < 0) {
            return LockOutcome::failed(error(
                ErrorCode::INCORRECT_PARAMS,
                "Negative expiration date passed to svn_fs_lock",
            ));
        }
        let mut each = Vec::with_capacity(targets.len());
        let mut wanted: BTreeMap<&str, &LockTarget> = BTreeMap::new();
        for target in targets {
            match target.token.as_deref().map_or(Ok(()), check_token) {
                Err(error) => each.push((target.path.clone(), Err(error))),
                Ok(()) => {
                    let kept = wanted.entry(&target.path).or_insert(target);
                    if kept.token.is_none() {
                        *kept = target;
                    }
                }
            }
        }
        let mut wanted: Vec<&LockTarget> = wanted.into_values().collect();
        wanted.sort_by(|a, b| paths::compare(&a.path, &b.path));
        let mut done = Vec::with_capacity(wanted.len());
        let failure = match wanted.is_empty() {
            true => None,
            false => self.lock_checked(&wanted, options, &mut done).err(),
        };
        each.extend(wanted.iter().zip(done).map(|(target, done)| {
            let result = done.unwrap_or_else(|| Err(not_done("lock", &target.path)));
            (target.path.clone(), result)
        }));
        LockOutcome { each, failure }
    }

    /// Locks what passes the checks; `done` gets a result for each that was checked, `None` for
    /// what passed and was not tried.
    fn lock_checked(
        &self,
        targets: &[&LockTarget],
        options: &LockOptions<'_>,
        done: &mut Vec<Option<Result<Lock, H>>>,
    ) -> Result<(), H> {
        let _lock = self.host.write_lock()?;
        let (youngest, head) = self.host.head()?;
        let mut index = Index::default();
        for target in targets {
            let refused = self.refuses((youngest, &head), target, options.steal)?;
            if refused.is_none() {
                index.add(&target.path);
            }
            done.push(refused.map(Err));
        }
        let sync = self.host.is_synced() && targets.len() <= SYNCED_AT_ONCE;
        for (folder, locked) in index.0 {
            self.enter(folder, &locked, sync)?;
        }
        for (target, done) in targets.iter().zip(done) {
            if done.is_none() {
                *done = Some(self.set_lock(target, options, sync));
            }
        }
        Ok(())
    }

    /// Why a path cannot be locked, if so.
    fn refuses(
        &self,
        (youngest, head): (Revnum, &H::Head),
        target: &LockTarget,
        steal: bool,
    ) -> Result<Option<H::Error>, H> {
        let path = &target.path;
        let refused = |code, message| Ok(Some(error(code, message)));
        let Some((kind, created)) = self.host.node(head, path)? else {
            let code = match target.revision {
                Some(_) => ErrorCode::FS_OUT_OF_DATE,
                None => ErrorCode::FS_NOT_FOUND,
            };
            return refused(code, format!("Path '{path}' doesn't exist in HEAD revision"));
        };
        if kind == NodeKind::Dir {
            let message = format!("'{path}' is not a file in filesystem '{}'", self.host.uuid());
            return refused(ErrorCode::FS_NOT_FILE, message);
        }
        if let Some(revision) = target.revision {
            if revision > youngest {
                return Ok(Some(H::no_such_revision(revision)));
            }
            if created.is_some_and(|created| revision < created) {
                let message = format!("Lock failed: newer version of '{path}' exists");
                return refused(ErrorCode::FS_OUT_OF_DATE, message);
            }
        }
        match self.host.files().lock(path)? {
            Some(lock) if !steal => refused(
                ErrorCode::FS_PATH_ALREADY_LOCKED,
                format!(
                    "Path '{path}' is already locked by user '{}' in filesystem '{}'",
                    lock.owner,
                    self.host.uuid()
                ),
            ),
            // A lock that has expired is written over.
            _ => Ok(None),
        }
    }

    fn set_lock(
        &self,
        target: &LockTarget,
        options: &LockOptions<'_>,
        sync: bool,
    ) -> Result<Lock, H> {
        let digest = lockfile::digest_of(&target.path);
        let token = match &target.token {
            Some(token) => token.clone(),
            None => {
                let uuid = uuid::generate()
                    .map_err(|e| io(&e, "Can't read file", Path::new("/dev/urandom")))?;
                format!("{TOKEN_SCHEME}:{uuid}")
            }
        };
        let lock = StoredLock {
            path: target.path.clone(),
            token,
            owner: options.user.to_owned(),
            comment: options.comment.map(str::to_owned),
            is_dav_comment: options.is_dav_comment,
            created: Timestamp(now()),
            expires: options.expires.map(Timestamp),
        };
        let children = self.host.files().digest_file(digest)?.children;
        let file = DigestFile { lock: Some(lock), children };
        self.write_digest_file(digest, &file, sync)?;
        file.lock.map(from_stored).ok_or_else(|| not_done("lock", &target.path))
    }

    fn unlock_paths(
        &self,
        targets: &[UnlockTarget],
        user: Option<&str>,
        break_lock: bool,
    ) -> LockOutcome<(), H::Error> {
        let Some(user) = user else {
            let fs = self.host.uuid();
            return LockOutcome::failed(error(
                ErrorCode::FS_NO_USER,
                format!("No username is currently associated with filesystem '{fs}'"),
            ));
        };
        let mut wanted: BTreeMap<&str, &UnlockTarget> = BTreeMap::new();
        for target in targets {
            wanted.entry(&target.path).or_insert(target);
        }
        let mut wanted: Vec<&UnlockTarget> = wanted.into_values().collect();
        wanted.sort_by(|a, b| paths::compare(&a.path, &b.path));
        let mut done = Vec::with_capacity(wanted.len());
        let failure = self.unlock_checked(&wanted, user, break_lock, &mut done).err();
        let each = wanted.iter().zip(done).map(|(target, done)| {
            let result = done.unwrap_or_else(|| Err(not_done("unlock", &target.path)));
            (target.path.clone(), result)
        });
        LockOutcome { each: each.collect(), failure }
    }

    fn unlock_checked(
        &self,
        targets: &[&UnlockTarget],
        user: &str,
        break_lock: bool,
        done: &mut Vec<Option<Result<(), H>>>,
    ) -> Result<(), H> {
        let _lock = self.host.write_lock()?;
        let mut index = Index::default();
        let mut removed: Vec<(&str, DigestFile)> = Vec::new();
        for target in targets {
            let path = &*target.path;
            let mut file = match self.host.files().digest_file(lockfile::digest_of(path)) {
                Ok(file) => file,
                Err(error) => {
                    done.push(Some(Err(error.into())));
                    continue;
                }
            };
            let lock = file.lock.take().map(from_stored);
            let user = (!break_lock).then_some(user);
            let refused = self.unlock_refusal(lock.as_ref(), target, user);
            // One that has expired goes too, though no notice says that it was unlocked.
            if refused.is_none() || lock.is_some_and(|lock| is_expired(&lock, now())) {
                index.add(path);
                removed.push((path, file));
            }
            done.push(refused.map(Err));
        }
        let sync = self.host.is_synced() && targets.len() <= SYNCED_AT_ONCE;
        let mut gone: HashSet<&str> = HashSet::with_capacity(removed.len());
        for (path, file) in removed {
            self.write_or_remove(lockfile::digest_of(path), &file, sync)?;
            gone.insert(path);
        }
        for (target, done) in targets.iter().zip(done) {
            if done.is_none() && gone.contains(target.path.as_str()) {
                *done = Some(Ok(()));
            }
        }
        for (folder, unlocked) in index.0 {
            self.take_out(folder, &unlocked, sync)?;
        }
        Ok(())
    }

    /// Why a lock is not removed; `user` is `None` where locks are broken.
    fn unlock_refusal(
        &self,
        lock: Option<&Lock>,
        target: &UnlockTarget,
        user: Option<&str>,
    ) -> Option<H::Error> {
        let fs = self.host.uuid();
        let Some(lock) = lock else { return Some(self.no_such_lock(&target.path)) };
        if is_expired(lock, now()) {
            let message =
                format!("Lock has expired: lock-token '{}' in filesystem '{fs}'", lock.token);
            return Some(error(ErrorCode::FS_LOCK_EXPIRED, message));
        }
        let user = user?;
        if lock.token != target.token {
            return Some(self.no_such_lock(&target.path));
        }
        if lock.owner != user {
            let message = format!(
                "User '{user}' is trying to use a lock owned by '{}' in filesystem '{fs}'",
                lock.owner
            );
            return Some(error(ErrorCode::FS_LOCK_OWNER_MISMATCH, message));
        }
        None
    }

    fn no_such_lock(&self, path: &FsPath) -> H::Error {
        let message = format!("No lock on path '{path}' in filesystem '{}'", self.host.uuid());
        error(ErrorCode::FS_NO_SUCH_LOCK, message)
    }

    /// Enters locked paths in the digest file of a directory above them.
    fn enter(&self, folder: &str, locked: &[Md5], sync: bool) -> Result<(), H> {
        let digest = lockfile::digest_of(folder);
        let mut file = self.host.files().digest_file(digest)?;
        let listed: HashSet<Md5> = file.children.iter().copied().collect();
        let before = file.children.len();
        file.children.extend(locked.iter().filter(|child| !listed.contains(child)));
        if file.children.len() == before {
            return Ok(());
        }
        self.write_digest_file(digest, &file, sync)
    }

    /// Takes paths that are not locked any more out of the digest file of a directory above them.
    fn take_out(&self, folder: &str, unlocked: &[Md5], sync: bool) -> Result<(), H> {
        let digest = lockfile::digest_of(folder);
        let mut file = self.host.files().digest_file(digest)?;
        let unlocked: HashSet<&Md5> = unlocked.iter().collect();
        file.children.retain(|child| !unlocked.contains(child));
        self.write_or_remove(digest, &file, sync)
    }

    /// Writes a digest file, or removes it if it is empty.
    fn write_or_remove(&self, digest: Md5, file: &DigestFile, sync: bool) -> Result<(), H> {
        if file.lock.is_some() || !file.children.is_empty() {
            return self.write_digest_file(digest, file, sync);
        }
        let path = self.host.files().db.join(Layout::lock_file(&digest));
        match self.host.storage().remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io(&e, "Can't remove file", &path)),
            _ => Ok(()),
        }
    }

    fn write_digest_file(&self, digest: Md5, file: &DigestFile, sync: bool) -> Result<(), H> {
        let path = self.host.files().db.join(Layout::lock_file(&digest));
        let mode = self.mode()?;
        let mut contents = Vec::new();
        file.write(&mut contents);
        let mut done = self.put_in_place(&path, &contents, mode, sync);
        if done.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            self.make_folder_of(&path)?;
            done = self.put_in_place(&path, &contents, mode, sync);
        }
        done.map_err(|e| io(&e, "Can't write to file", &path))
    }

    fn mode(&self) -> Result<u32, H> {
        if let Some(mode) = self.mode.get() {
            return Ok(*mode);
        }
        let found = self.host.permissions()?;
        Ok(*self.mode.get_or_init(|| found))
    }

    /// Replaces or makes a file. What moves into place is durable before; the name is not: file
    /// systems keep the order of moves, and a lock that a crash takes back does no harm.
    fn put_in_place(
        &self,
        path: &Path,
        contents: &[u8],
        mode: u32,
        sync: bool,
    ) -> std::io::Result<()> {
        let (beside, mut file) = create_beside(self.host.storage(), path)?;
        let mut write = || {
            file.append(contents)?;
            if sync {
                file.sync()?;
            }
            // The process that makes it has to read it.
            file.set_mode(mode | 0o400)?;
            self.host.storage().rename(&beside, path, false)
        };
        write().inspect_err(|_| {
            // The error that is reported is the first one.
            let _ = self.host.storage().remove_file(&beside);
        })
    }

    /// Makes the folder of a digest file, and that of all of them.
    fn make_folder_of(&self, path: &Path) -> Result<(), H> {
        let Some(folder) = path.parent() else { return Ok(()) };
        for folder in folder.parent().into_iter().chain([folder]) {
            let made =
                self.host.storage().create_dir(folder, false).and_then(|()| {
                    self.host.storage().copy_permissions(self.host.files().db, folder)
                });
            match made {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                    return Err(io(&e, "Can't create directory", folder));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn not_done<E: From<SvnError>>(what: &str, path: &FsPath) -> E {
    error(ErrorCode::FS_LOCK_OPERATION_FAILED, format!("Failed to {what} '{path}'"))
}

/// Whether XML can hold the text.
fn is_xml_safe(text: &str) -> bool {
    text.bytes().all(|b| b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r'))
}

/// Refuses tokens that are no URIs of the lock scheme.
fn check_token<E: From<SvnError>>(token: &str) -> std::result::Result<(), E> {
    let bad = |message| Err(error(ErrorCode::FS_BAD_LOCK_TOKEN, message));
    if token.strip_prefix(TOKEN_SCHEME).is_none_or(|rest| !rest.starts_with(':')) {
        return bad(format!("Lock token URI '{token}' has bad scheme; expected '{TOKEN_SCHEME}'"));
    }
    match token.bytes().position(|b| !b.is_ascii() || b.is_ascii_control()) {
        Some(at) => {
            bad(format!("Lock token '{token}' is not ASCII or is a control character at byte {at}"))
        }
        None => Ok(()),
    }
}
