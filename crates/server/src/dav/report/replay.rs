//! The replay report: a revision as it was committed.

use sapwood_core::FsPath;
use sapwood_core::ReplayRequest;
use sapwood_core::paths::FsPathBuf;
use sapwood_delta::Version;
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::report::replay::ReplayEditor;
use sapwood_wire_dav::report::request;
use sapwood_wire_dav::xml::Element;

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use crate::common::operation_log::Operation;

pub(super) fn replay(session: &Session<'_>, root: &Element, exchange: &mut Exchange) -> DavResult {
    let asked = request::Replay::read(root)?;
    // Clients from 1.8 on send the revision in the address and the path in the body, older ones the
    // other way round.
    let (rev, base) = match (&session.resource, asked.revision) {
        (Resource::Revision(rev) | Resource::Baseline(rev), None) => {
            (*rev, asked.include_path.clone().unwrap_or(String::new()))
        }
        (Resource::Revision(_) | Resource::Baseline(_), Some(_)) => {
            return Err(sapwood_wire_dav::Error::Element("revision").into());
        }
        (_, Some(rev)) => {
            let place = session.resource_path().unwrap_or(FsPath::ROOT);
            let place = asked.include_path.as_deref().unwrap_or(place.to_relpath().as_str());
            (rev, place.to_owned())
        }
        (_, None) => {
            return Err(Fail::status(400, "Request was missing the revision argument"));
        }
    };
    let base = FsPathBuf::canonicalize(&base);
    session.log_command(&Operation::Replay { path: &base, revision: rev });
    let tree = session.repository.fs().revision_root(rev)?;
    let request =
        ReplayRequest { low_water_mark: asked.low_water_mark, send_deltas: asked.send_deltas };
    let version = session.svndiff().unwrap_or(Version::V0);
    let mut editor =
        ReplayEditor::new(exchange, version, session.shared.server.settings.compression);
    sapwood_repos::replay(
        &tree,
        base.to_relpath(),
        request,
        &session.access,
        &session.shared.server.cancel,
        &mut editor,
    )?;
    Ok(editor.finish()?)
}
