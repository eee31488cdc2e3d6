//! A file's properties and contents.

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::Node;

use super::FileSession;
use crate::session::{FetchedFile, FileReceiver, Files};

impl FileSession {
    /// The file, its revision, and its properties where they are wanted.
    fn find_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<(Node, FetchedFile)> {
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
        Ok((node, file))
    }
}

impl Files for FileSession {
    fn file_head(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        Ok(self.find_file(path, revision, want_props)?.1)
    }

    fn read_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        let (node, file) = self.find_file(path, revision, want_props)?;
        let sink = receiver.begin(file)?;
        let mut source = node.contents()?;
        while let Some(piece) = source.next_piece()? {
            sink.write_all(piece).map_err(SvnError::from_stream)?;
        }
        Ok(())
    }
}
