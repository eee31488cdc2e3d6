//! Locks of paths.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Lock, Revnum, SvnError, SvnResult, path as paths};
use sapwood_wire_svn::failure::read_failure;
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, List, Tuple};

use super::connection::Connection;
use super::replies::read_lock;
use super::session::{SvnSession, old_server};
use crate::session::{LockReceiver, Locks};

pub(super) const OLD_SERVER: &str = "Server doesn't support the get-lock command";

/// Receives the outcome for one path; `None` when the server has ended the series before.
fn outcome<T>(
    conn: &mut Connection,
    not_a_list: &'static str,
    unknown: &'static str,
    success: impl FnOnce(List<'_>) -> SvnResult<T>,
) -> SvnResult<Option<Result<T, SvnError>>> {
    conn.receive(|item| match item {
        Item::Word("done") => Ok(None),
        Item::List(list) => {
            let mut tuple = list.tuple();
            let (status, list) = (tuple.word()?, tuple.list()?);
            match status {
                "success" => success(list).map(|value| Some(Ok(value))),
                "failure" => Ok(Some(Err(read_failure(list)))),
                _ => Err(WireError::Part(unknown).into()),
            }
        }
        _ => Err(WireError::Part(not_a_list).into()),
    })
}

/// The word that ends the series, and the reply. A fatal error ends the series early.
fn finish(conn: &mut Connection, all: bool, missing: &'static str) -> SvnResult<()> {
    if all {
        conn.receive(|item| match item {
            Item::Word("done") => Ok(()),
            _ => Err(SvnError::from(WireError::Part(missing))),
        })?;
    }
    conn.reply(|_| Ok(()))
}

pub(super) fn write_get_lock(out: &mut Vec<u8>, path: &RelPath) {
    out.raw(b"( get-lock ( ");
    out.text(path);
    out.raw(b") ) ");
}

pub(super) fn read_get_lock(mut reply: Tuple<'_>) -> SvnResult<Option<Lock>> {
    reply.tuple()?.opt_list()?.map(read_lock).transpose()
}

impl Locks for SvnSession {
    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        write_get_lock(conn.out(), &path);
        self.authenticate_new(&mut conn, OLD_SERVER)?;
        conn.reply(read_get_lock)
    }

    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        let (full, path) = (self.fs_path(path)?, self.at(path));
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-locks ( ");
        out.text(&path);
        out.open();
        out.depth(depth);
        out.raw(b") ) ) ");
        self.authenticate_new(&mut conn, OLD_SERVER)?;
        conn.reply(|mut reply| {
            let mut found = Vec::new();
            for item in reply.list()? {
                let list = item.list().map_err(|_| WireError::Part("Lock element not a list"))?;
                let lock = read_lock(list)?;
                // Old servers know no depth. Only files have locks.
                let below = paths::skip_ancestor(&full, &lock.path);
                let wanted = below.is_some_and(|below| {
                    below.is_empty()
                        || depth == Depth::Infinity
                        || (depth >= Depth::Files && !below.contains('/'))
                });
                if wanted {
                    found.push(lock);
                }
            }
            Ok(found)
        })
    }

    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        receiver: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( lock-many ( ");
        out.bracketed_text(comment);
        out.bool(steal);
        out.open();
        for (path, revision) in paths {
            out.open();
            out.text(&self.at(path));
            out.bracketed_rev(*revision);
            out.close();
        }
        out.raw(b") ) ) ");
        self.authenticate(&mut conn)
            .map_err(|e| old_server(e, "Server doesn't support the lock command"))?;
        let mut all = true;
        for (path, _) in paths {
            let found = outcome(
                &mut conn,
                "Lock response not a list",
                "Unknown status for lock command",
                read_lock,
            )?;
            let Some(found) = found else {
                all = false;
                break;
            };
            receiver(path, found)?;
        }
        finish(&mut conn, all, "Didn't receive end marker for lock responses")
    }

    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        receiver: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( unlock-many ( ");
        out.bool(break_lock);
        out.open();
        for (path, token) in paths {
            out.open();
            out.text(&self.at(path));
            out.bracketed_text(token.as_deref());
            out.close();
        }
        out.raw(b") ) ) ");
        self.authenticate(&mut conn)
            .map_err(|e| old_server(e, "Server doesn't support the unlock command"))?;
        let mut all = true;
        for (path, _) in paths {
            let found = outcome(
                &mut conn,
                "Unlock response not a list",
                "Unknown status for unlock command",
                |_| Ok(()),
            )?;
            let Some(found) = found else {
                all = false;
                break;
            };
            receiver(path, found)?;
        }
        finish(&mut conn, all, "Didn't receive end marker for unlock responses")
    }
}
