//! What is at a path: files, directories, listings.

use std::borrow::Cow;

use sapwood_core::paths::{FsPath, RelPath, RelPathBuf};
use sapwood_core::{NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::{Node, RevpropsSnapshot};
use sapwood_repos::nodes::{Entries, EntryDetails, EntryProps};
use sapwood_repos::{CommittedInfo, ListEntry, StoredDirent};

use super::{ALL, FileSession};
use crate::session::{
    Dirent, DirentFields, EntryReceiver, FetchedDir, HeadNode, InheritedProps, ListRequest,
    Locks as _, Nodes, Revisions as _,
};

impl FileSession {
    /// The node's properties, with those of its last change.
    pub(super) fn node_props(
        &self,
        node: &Node,
        revprops: &mut RevpropsSnapshot,
    ) -> SvnResult<PropList> {
        let mut props = (*node.props()?).clone();
        for (name, value) in EntryProps::of(revprops, node, &self.uuid)?.iter() {
            props.set(name, value);
        }
        Ok(props)
    }
}

impl Nodes for FileSession {
    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        let root = self.fs().revision_root(self.revision(revision)?)?;
        Ok(root.kind(&self.at(path))?)
    }

    fn stat(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        let root = self.fs().revision_root(self.revision(revision)?)?;
        sapwood_repos::stat(&root, &self.at(path))?.as_ref().map(StoredDirent::value).transpose()
    }

    fn stat_head(&self, path: &RelPath) -> SvnResult<HeadNode> {
        let revision = self.latest_revnum()?;
        let dirent = self.stat(path, Some(revision))?;
        let lock = if dirent.is_some() { self.get_lock(path) } else { Ok(None) };
        Ok(HeadNode { revision, dirent, lock })
    }

    fn get_dir(
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

    fn list(&self, request: &ListRequest<'_>, receiver: EntryReceiver<'_>) -> SvnResult<()> {
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

    fn inherited_props(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps> {
        let root = self.fs().revision_root(self.revision(revision)?)?;
        let found = sapwood_repos::inherited_props(&root, &self.at(path), None, ALL, &self.cancel)?;
        let found = found.into_iter();
        found.map(|(path, props)| Ok((RelPathBuf::new(path)?, (*props).clone()))).collect()
    }
}
