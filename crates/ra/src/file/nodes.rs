//! What is at a path: files, directories, listings.

use std::borrow::Cow;
use std::io::Write;

use sapwood_core::paths::{FsPath, RelPath};
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::{Node, RevpropsSnapshot};
use sapwood_repos::nodes::{Entries, EntryDetails, EntryProps};
use sapwood_repos::{CommittedInfo, ListEntry, StoredDirent};

use super::{ALL, FileSession};
use crate::session::{Dirent, DirentFields, FetchedDir, FetchedFile, ListRequest};

impl FileSession {
    pub(super) fn dirent_of(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<Option<Dirent>> {
        let root = self.fs().revision_root(self.revision(revision)?)?;
        sapwood_repos::stat(&root, &self.at(path))?.as_ref().map(StoredDirent::value).transpose()
    }

    /// The node's properties, with those of its last change.
    fn node_props(&self, node: &Node, revprops: &mut RevpropsSnapshot) -> SvnResult<PropList> {
        let mut props = (*node.props()?).clone();
        for (name, value) in EntryProps::of(revprops, node, &self.uuid)?.iter() {
            props.set(name, value);
        }
        Ok(props)
    }

    pub(super) fn fetch_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        contents: Option<&mut dyn Write>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        let revision = self.revision(revision)?;
        let at = self.at(path);
        let Some(node) = self.fs().revision_root(revision)?.find(&at)? else {
            let text = format!("'{at}' path not found");
            return Err(SvnError::new(ErrorCode::FS_NOT_FOUND, text));
        };
        if node.kind() != NodeKind::File {
            let text = format!("'{at}' is not a file");
            return Err(SvnError::new(ErrorCode::FS_NOT_FILE, text));
        }
        let mut file = FetchedFile { revision, props: PropList::new() };
        if want_props {
            file.props = self.node_props(&node, &mut self.fs().revprops_snapshot())?;
        }
        if let Some(sink) = contents {
            let mut source = node.contents()?;
            while let Some(piece) = source.next_piece()? {
                sink.write_all(piece).map_err(SvnError::from_stream)?;
            }
        }
        Ok(file)
    }

    pub(super) fn fetch_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        let revision = self.revision(revision)?;
        let root = self.fs().revision_root(revision)?;
        let node = root.node(&self.at(path))?;
        let mut dir = FetchedDir { revision, ..FetchedDir::default() };
        if want_props {
            dir.props = self.node_props(&node, &mut self.fs().revprops_snapshot())?;
        }
        let Some(fields) = entries else { return Ok(dir) };
        let found = &mut dir.entries;
        Entries::of(&root, &node)?.each(fields.into(), ALL, &self.cancel, |entry| {
            let EntryDetails { size, has_props, committed } = entry.details(fields)?;
            let committed = committed.as_ref();
            let dirent = Dirent {
                kind: Some(entry.kind()),
                size,
                has_props,
                created_rev: committed.map_or(Revnum::ZERO, |info| info.revision),
                time: committed.map(CommittedInfo::time).transpose()?.flatten(),
                last_author: committed
                    .and_then(|info| info.printable_author())
                    .map(Cow::into_owned),
            };
            found.push((entry.name().to_owned(), dirent));
            Ok::<_, SvnError>(())
        })?;
        Ok(dir)
    }

    pub(super) fn list_below(
        &self,
        request: &ListRequest<'_>,
        receiver: &mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let root = self.fs().revision_root(self.revision(request.revision)?)?;
        let path = self.at(request.path);
        let wanted = request.of(path.as_path());
        sapwood_repos::list(&root, &wanted, ALL, &self.cancel, &mut |entry: &ListEntry<'_>| {
            let dirent = match entry.dirent {
                Some(dirent) => dirent.value()?,
                None => Dirent {
                    kind: Some(entry.kind),
                    size: None,
                    has_props: false,
                    created_rev: Revnum::ZERO,
                    time: None,
                    last_author: None,
                },
            };
            receiver(FsPath::new(entry.path)?, &dirent)
        })?;
        Ok(())
    }
}
