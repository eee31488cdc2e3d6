//! Revision properties, and the revision at a date.

use sapwood_core::date::Timestamp;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::multistatus;
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::proppatch::Change;
use sapwood_wire_dav::report::{answer, ask};

use super::client::{Call, Client, children_of, expect_status};
use super::endpoints::propfind;
use super::session::HttpSession;
use super::transport::Reply;
use crate::session::{Revisions, RevpropChange};

/// Changes properties of the resource at `target`, all or none.
pub(super) fn proppatch(client: &Client, call: Call<'_>, changes: &[Change]) -> SvnResult<()> {
    let call = call.xml(multistatus::proppatch(changes));
    patched(client.call(&call)?, &call.target)
}

/// What a reply says of the properties that were changed at `target`.
pub(super) fn patched(reply: Reply, target: &str) -> SvnResult<()> {
    let mut failed = None;
    let patched = expect_status(reply, target, &[207]).and_then(|reply| {
        children_of(reply, |child| {
            if let Some(resource) = multistatus::resource(child)?
                && failed.is_none()
            {
                let what = if resource.href.is_empty() { target } else { &resource.href };
                failed = resource.error(what);
            }
            Ok(())
        })
    });
    let outcome = patched.map(drop).and(failed.map_or(Ok(()), Err));
    outcome.map_err(|error| {
        if error.code() == ErrorCode::RA_DAV_REQUEST_FAILED {
            let renamed = |error: &SvnError| {
                SvnError::new(ErrorCode::RA_DAV_PROPPATCH_FAILED, error.message().to_owned())
            };
            match error.cause() {
                Some(cause) => renamed(&error).with_cause(renamed(cause)),
                None => renamed(&error),
            }
        } else {
            error
        }
    })
}

impl Revisions for HttpSession {
    fn latest_revnum(&self) -> SvnResult<Revnum> {
        // Of the session's own URL: a user that may not read the root may know this.
        self.places.youngest(&self.client, &self.public(RelPath::ROOT))
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        let call = Call::new("REPORT", self.places.report_target()).xml(ask::dated_rev(time));
        let root = self.client.element(&call, &[200])?;
        answer::one_revision(&root)?.ok_or_else(|| {
            SvnError::new(
                ErrorCode::RA_DAV_MALFORMED_DATA,
                "The REPORT response did not include the requested properties",
            )
        })
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        let target = self.places.revision(&self.client, revision)?;
        let found = propfind(&self.client, &target, "0", &PropfindRequest::All, None)?;
        let mut props = match found.first() {
            Some(resource) => resource.properties()?,
            None => PropList::new(),
        };
        // What WebDAV itself says of a revision is none of its properties.
        let live: Vec<String> = props
            .iter()
            .map(|(name, _)| name)
            .filter(|name| name.starts_with(sapwood_core::props::names::ENTRY_PREFIX))
            .map(str::to_owned)
            .collect();
        for name in live {
            props.remove(&name);
        }
        Ok(props)
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        Ok(self.rev_proplist(revision)?.get(name).map(<[u8]>::to_vec))
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        if change.expected.is_some() && !self.places.knows("atomic-revprops") {
            return Err(SvnError::new(
                ErrorCode::RA_NOT_IMPLEMENTED,
                "Server doesn't support atomic changes of revision properties",
            ));
        }
        let mut expected = change.expected.map(|expected| expected.map(<[u8]>::to_vec));
        if expected.is_none() && change.value.is_none() && self.places.knows("atomic-revprops") {
            // mod_dav_svn does not report that a hook refused a plain removal.
            match self.rev_proplist(change.revision)?.get(change.name) {
                None => return Ok(()),
                Some(old) => expected = Some(Some(old.to_vec())),
            }
        }
        let target = self.places.revision(&self.client, change.revision)?;
        let wanted = Change {
            name: Name::of_property(change.name),
            value: change.value.map(<[u8]>::to_vec),
            expected,
            is_xml: false,
        };
        let patched = proppatch(&self.client, Call::new("PROPPATCH", &target), &[wanted]);
        patched.map_err(|error| match error.code() {
            // The reference's tools look for this pair.
            ErrorCode::RA_DAV_PRECONDITION_FAILED | ErrorCode::FS_PROP_BASEVALUE_MISMATCH => {
                SvnError::new(ErrorCode::FS_PROP_BASEVALUE_MISMATCH, error.message().to_owned())
            }
            _ => error,
        })
    }
}
