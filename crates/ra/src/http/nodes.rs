//! Single nodes: what they are, their properties, contents and entries.

use std::io::{Read as _, Write};

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::Cut;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, uri};
use sapwood_wire_dav::multistatus::Resource;
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV};

use super::client::Call;
use super::endpoints::{path_of, propfind};
use super::session::HttpSession;
use crate::session::{Dirent, DirentFields, FetchedDir, FetchedFile};

/// Bytes of a file that are passed on at a time.
const CHUNK: usize = 64 << 10;

/// The properties from which the wanted fields are made.
fn wanted(fields: DirentFields) -> PropfindRequest {
    let names = [
        // What a node is decides whether the others mean anything.
        (true, NS_DAV, "resourcetype"),
        (fields.size, NS_DAV, "getcontentlength"),
        (fields.has_props, NS_SVN_DAV, "deadprop-count"),
        (fields.created_rev, NS_DAV, "version-name"),
        (fields.time, NS_DAV, "creationdate"),
        (fields.last_author, NS_DAV, "creator-displayname"),
    ];
    let names = names.into_iter().filter(|(on, _, _)| *on);
    PropfindRequest::These(names.map(|(_, namespace, name)| Name::new(namespace, name)).collect())
}

fn dirent(resource: &Resource) -> SvnResult<Dirent> {
    let text = |namespace, name| resource.prop(namespace, name).map(|prop| prop.trimmed());
    let kind = resource.kind();
    let size = text(NS_DAV, "getcontentlength").and_then(|text| text.parse().ok());
    let time = match text(NS_DAV, "creationdate") {
        None | Some("") => None,
        Some(date) => Some(Timestamp::parse(date.as_bytes())?),
    };
    Ok(Dirent {
        kind,
        size: size.filter(|_| kind != Some(NodeKind::Dir)),
        has_props: text(NS_SVN_DAV, "deadprop-count").is_some_and(|count| count != "0"),
        created_rev: text(NS_DAV, "version-name")
            .and_then(|text| Revnum::parse(text.as_bytes()))
            .unwrap_or(Revnum::ZERO),
        time,
        last_author: resource
            .prop(NS_DAV, "creator-displayname")
            .map(|prop| prop.text.clone())
            .filter(|author| !author.is_empty()),
    })
}

impl HttpSession {
    /// Where to ask about a node: of the youngest revision at its own URL, which saves a question.
    fn place(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<String> {
        match revision {
            None => Ok(self.public(path)),
            Some(_) => Ok(self.stable(path, revision)?.0),
        }
    }

    /// What is known of a node; `None` when there is none.
    fn look(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        wanted: &PropfindRequest,
    ) -> SvnResult<Option<Resource>> {
        let target = self.place(path, revision)?;
        match propfind(&self.client, &target, "0", wanted, None) {
            Ok(found) => Ok(found.into_iter().next()),
            Err(error) if error.is_no_node() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn kind_of(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<Option<NodeKind>> {
        let wanted = wanted(DirentFields::default());
        Ok(self.look(path, revision, &wanted)?.and_then(|resource| resource.kind()))
    }

    pub(super) fn dirent_of(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<Option<Dirent>> {
        let found = self.look(path, revision, &wanted(DirentFields::ALL))?;
        found.map(|resource| dirent(&resource)).transpose()
    }

    /// The properties of the node at an address that the server sent.
    pub(super) fn props_at(&self, target: &str) -> SvnResult<(Option<NodeKind>, PropList)> {
        let found = propfind(&self.client, target, "0", &PropfindRequest::All, None)?;
        match found.first() {
            Some(resource) => Ok((resource.kind(), resource.properties()?)),
            None => Ok((None, PropList::new())),
        }
    }

    pub(super) fn fetch_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        contents: Option<&mut dyn Write>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        let (target, revision) = self.stable(path, revision)?;
        let asked = if want_props {
            PropfindRequest::All
        } else {
            PropfindRequest::These(vec![
                Name::new(NS_DAV, "resourcetype"),
                Name::new(NS_SVN_DAV, "md5-checksum"),
            ])
        };
        let found = propfind(&self.client, &target, "0", &asked, None)?;
        let resource = found.into_iter().next().ok_or_else(|| {
            let message = "The PROPFIND response did not include the requested resource";
            SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message)
        })?;
        if resource.kind() == Some(NodeKind::Dir) {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FILE,
                "Can't get text contents of a directory",
            ));
        }
        let props = if want_props { resource.properties()? } else { PropList::new() };
        if let Some(contents) = contents {
            let sum = resource.prop(NS_SVN_DAV, "md5-checksum");
            let sum = sum.and_then(|prop| Md5::parse(prop.trimmed().as_bytes()));
            self.copy_text(&target, path, sum, contents)?;
        }
        Ok(FetchedFile { revision, props })
    }

    fn copy_text(
        &self,
        target: &str,
        path: &RelPath,
        expected: Option<Md5>,
        contents: &mut dyn Write,
    ) -> SvnResult<()> {
        let call = Call::new("GET", target).with("accept-encoding", self.client.packings());
        let mut reply = self.client.run_expecting(&call, &[200])?;
        let mut sum = Md5Hasher::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let len = reply.read(&mut chunk).map_err(SvnError::from_stream)?;
            let piece = chunk.head(len);
            if piece.is_empty() {
                break;
            }
            sum.update(piece);
            contents.write_all(piece).map_err(SvnError::from_stream)?;
        }
        let actual = sum.finish();
        match expected {
            Some(expected) if expected != actual => {
                Err(SvnError::checksum_mismatch(path, expected, actual))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn fetch_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        let (target, revision) = self.stable(path, revision)?;
        let mut dir = FetchedDir { revision, ..FetchedDir::default() };
        let not_a_directory =
            || SvnError::new(ErrorCode::FS_NOT_DIRECTORY, "Can't get entries of non-directory");
        if let Some(fields) = entries {
            let own = path_of(&target);
            for resource in propfind(&self.client, &target, "1", &wanted(fields), None)? {
                let place = path_of(&resource.href);
                if place == own {
                    if resource.kind() != Some(NodeKind::Dir) {
                        return Err(not_a_directory());
                    }
                    continue;
                }
                let name = place.rsplit('/').next().unwrap_or("");
                let name = uri::decode_utf8(name)
                    .filter(|name| {
                        !name.is_empty() && !name.contains('/') && name != "." && name != ".."
                    })
                    .ok_or_else(|| {
                        SvnError::new(
                            ErrorCode::RA_DAV_MALFORMED_DATA,
                            format!("Invalid directory entry name '{name}'"),
                        )
                    })?;
                let mut entry = dirent(&resource)?;
                if !fields.kind {
                    entry.kind = None;
                }
                dir.entries.push((name, entry));
            }
        }
        if want_props || entries.is_none() {
            let (kind, props) = self.props_at(&target)?;
            if kind != Some(NodeKind::Dir) {
                return Err(not_a_directory());
            }
            if want_props {
                dir.props = props;
            }
        }
        Ok(dir)
    }
}
