//! Revisions and their properties.

use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::Encode as _;
use sapwood_wire_svn::data::read_props;

use super::session::SvnSession;
use crate::session::{Revisions, RevpropChange};

impl Revisions for SvnSession {
    fn latest_revnum(&self) -> SvnResult<Revnum> {
        self.exchange(|out| out.raw(b"( get-latest-rev ( ) ) "), |mut reply| Ok(reply.rev()?))
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        self.exchange(
            |out| {
                out.raw(b"( get-dated-rev ( ");
                out.text(&time.to_string());
                out.raw(b") ) ");
            },
            |mut reply| Ok(reply.rev()?),
        )
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        self.exchange(
            |out| {
                out.raw(b"( rev-proplist ( ");
                out.rev(revision);
                out.raw(b") ) ");
            },
            |mut reply| Ok(read_props(reply.list()?)?),
        )
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        self.exchange(
            |out| {
                out.raw(b"( rev-prop ( ");
                out.rev(revision);
                out.text(name);
                out.raw(b") ) ");
            },
            |mut reply| Ok(reply.bracketed_bytes()?.map(<[u8]>::to_vec)),
        )
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        let atomic = self.knows("atomic-revprops");
        if change.expected.is_some() && !atomic {
            return Err(SvnError::new(
                ErrorCode::RA_NOT_IMPLEMENTED,
                "Server doesn't support atomic changes of revision properties",
            ));
        }
        let mut conn = self.conn()?;
        let out = conn.out();
        if atomic {
            out.raw(b"( change-rev-prop2 ( ");
            out.rev(change.revision);
            out.text(change.name);
            out.bracketed(change.value);
            out.open();
            out.bool(change.expected.is_none());
            if let Some(Some(old)) = change.expected {
                out.string(old);
            }
            out.raw(b") ) ) ");
        } else {
            out.raw(b"( change-rev-prop ( ");
            out.rev(change.revision);
            out.text(change.name);
            if let Some(value) = change.value {
                out.string(value);
            }
            out.raw(b") ) ");
        }
        self.authenticate(&mut conn)?;
        conn.reply(|_| Ok(()))
    }
}
