//! Where the changes of a commit go: a transaction (HTTPv2), or an activity (DeltaV), into which each version is checked out.

use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, uri};
use sapwood_wire_dav::headers;
use sapwood_wire_dav::post::Post;
use sapwood_wire_dav::xml::{HEADER, Xml as _};

use super::{HttpCommit, changes, out_of_order};
use crate::http::client::Call;
use crate::http::endpoints::{below, path_of};
use crate::http::revprops::proppatch;
use crate::http::transport::Payload;
use crate::session::SessionInfo as _;

/// Where the changes go.
#[derive(Debug)]
pub(super) enum Route {
    /// A transaction: its own address, and that of the session's directory in it.
    Txn { txn: String, root: String },
    /// An activity.
    Activity(String),
}

impl HttpCommit<'_> {
    pub(super) fn route(&self) -> SvnResult<&Route> {
        self.route.as_ref().ok_or_else(out_of_order)
    }

    /// Makes the transaction or activity, and sets the revision properties.
    pub(super) fn begin(&mut self) -> SvnResult<()> {
        let session = self.session;
        let route = match &session.places.stubs {
            Some(stubs) => {
                let post = if session.places.posts_props {
                    Post::CreateTxnWithProps(self.revprops.clone())
                } else {
                    Post::CreateTxn
                };
                let call = Call::new("POST", &stubs.me)
                    .carrying(headers::SKEL_TYPE, Payload::Bytes(post.write().into()));
                let reply = session.client.run_expecting(&call, &[201])?;
                let name = |header| reply.header(header).map(str::to_owned);
                let (root, txn) = match (name(headers::VTXN_NAME), name(headers::TXN_NAME)) {
                    (Some(name), _) => (below(&stubs.vtxn_root, &name), below(&stubs.vtxn, &name)),
                    (None, Some(name)) => (below(&stubs.txn_root, &name), below(&stubs.txn, &name)),
                    (None, None) => {
                        return Err(SvnError::new(
                            ErrorCode::RA_DAV_REQUEST_FAILED,
                            "POST request did not return transaction information",
                        ));
                    }
                };
                reply.finish()?;
                let root = below(&root, &session.in_repository(RelPath::ROOT));
                Route::Txn { txn, root }
            }
            None => self.make_activity()?,
        };
        let target = match &route {
            Route::Txn { txn, .. } if !session.places.posts_props => Some(txn.clone()),
            Route::Txn { .. } => None,
            Route::Activity(activity) => {
                let baseline = session.places.head_baseline(&session.client)?;
                Some(self.check_out(&baseline, activity)?)
            }
        };
        self.route = Some(route);
        if let Some(target) = target {
            let props: Vec<(String, Option<Vec<u8>>)> = self
                .revprops
                .iter()
                .map(|(name, value)| (name.to_owned(), Some(value.to_vec())))
                .collect();
            let call = Call::new("PROPPATCH", &target);
            proppatch(&session.client, call, &changes(&props))?;
        }
        Ok(())
    }

    fn make_activity(&self) -> SvnResult<Route> {
        let session = self.session;
        let place = session.places.activities.as_ref().ok_or_else(|| {
            SvnError::new(
                ErrorCode::RA_DAV_OPTIONS_REQ_FAILED,
                "The OPTIONS response did not include the requested activity-collection-set value",
            )
        })?;
        let mut random = [0u8; 16];
        getrandom::fill(&mut random)
            .map_err(|_| SvnError::new(ErrorCode::RA_DAV_CREATING_REQUEST, "No random numbers"))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let activity = format!("{place}/{name}");
        session.client.run(&Call::new("MKACTIVITY", &activity), &[201])?;
        Ok(Route::Activity(activity))
    }

    /// Checks a version out into the activity: the address where it can be changed.
    fn check_out(&self, version: &str, activity: &str) -> SvnResult<String> {
        let mut body = Vec::new();
        body.raw(HEADER);
        body.raw("<D:checkout xmlns:D=\"DAV:\"><D:activity-set>");
        body.element("D:href", activity);
        body.raw("</D:activity-set><D:apply-to-version/></D:checkout>\n");
        let call = Call::new("CHECKOUT", version).xml(body);
        let reply = self.session.client.run_expecting(&call, &[201])?;
        let location = reply.header("location").map(path_of).ok_or_else(|| {
            SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, "No Location header received")
        })?;
        reply.finish()?;
        Ok(location)
    }

    /// Where the node can be changed.
    pub(super) fn place(&mut self, at: usize) -> SvnResult<String> {
        let node = self.nodes.get(at).ok_or_else(out_of_order)?;
        if let Some(working) = &node.working {
            return Ok(working.clone());
        }
        if let Route::Txn { root, .. } = self.route()? {
            return Ok(below(root, &node.path));
        }
        let (path, base, parent) = (node.path.clone(), node.base, node.parent);
        let added = node.added;
        let working = match parent {
            // What is new or copied is there already, below its parent.
            Some(parent) if added || self.within_added(parent) => {
                below(&self.place(parent)?, path.name())
            }
            _ => {
                let session = self.session;
                let target = match base {
                    Some(base) => session.stable(&path, Some(base))?.0,
                    None => session.public(&path),
                };
                let version = session.places.checked_in(&session.client, &target, None)?;
                let Some(Route::Activity(activity)) = &self.route else {
                    return Err(out_of_order());
                };
                self.check_out(&version, activity)?
            }
        };
        if let Some(node) = self.nodes.get_mut(at) {
            node.working = Some(working.clone());
        }
        Ok(working)
    }

    fn within_added(&self, at: usize) -> bool {
        let mut at = Some(at);
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            if node.added {
                return true;
            }
            at = node.parent;
        }
        false
    }

    /// Where a child of `parent` can be made or removed.
    pub(super) fn child_place(&mut self, parent: usize, path: &RelPath) -> SvnResult<String> {
        if let Route::Txn { root, .. } = self.route()? {
            return Ok(below(root, path));
        }
        Ok(below(&self.place(parent)?, path.name()))
    }

    /// The address of a source of copies, which is a URL or a repository path.
    pub(super) fn source(&self, from: &str, revision: Revnum) -> SvnResult<String> {
        let path = if uri::is_url(from) {
            let url = Url::new(from).ok();
            url.and_then(|url| url.below(&self.session.root_url())).ok_or_else(|| {
                SvnError::new(
                    ErrorCode::FS_GENERAL,
                    format!("Source url '{from}' is from different repository"),
                )
            })?
        } else {
            RelPathBuf::canonicalize(from)
        };
        self.session.places.node(&self.session.client, &path, revision)
    }
}
