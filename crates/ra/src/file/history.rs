//! What became of nodes: mergeinfo, logs, locations, revisions of files.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{Revnum, Segment, SvnResult};

use super::{ALL, FileSession};
use crate::session::{
    FileRevReceiver, FileRevsRequest, History, LogReceiver, LogRequest, MergeinfoRequest,
    once_a_path, require_mergeinfo,
};

impl History for FileSession {
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        require_mergeinfo(self, true)?;
        let wanted = self.all_at(request.paths);
        let wanted: Vec<&FsPath> = wanted.iter().map(FsPathBuf::as_path).collect();
        let base = self.fs_path.borrow().clone();
        let mut catalog = Vec::new();
        sapwood_repos::mergeinfo_catalog(
            &self.repository,
            &request.of(&wanted),
            ALL,
            &self.cancel,
            &mut |path, info| {
                let below = path.below(&base).unwrap_or_else(|| path.to_relpath());
                catalog.push((below.to_owned(), info.clone()));
                Ok(())
            },
        )?;
        Ok(catalog)
    }

    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let wanted = self.all_at(request.paths);
        let wanted: Vec<&FsPath> = wanted.iter().map(FsPathBuf::as_path).collect();
        let request = request.of(&wanted);
        let merged = request.include_merged_revisions;
        let mut entries = Entries { merged, receiver };
        sapwood_repos::log_to(&self.repository, &request, ALL, &self.cancel, &mut entries)?;
        Ok(())
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let path = self.at(path);
        Ok(sapwood_repos::locations(&self.repository, &path, peg, revisions, ALL, &self.cancel)?)
    }

    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let path = self.at(path);
        let request = sapwood_repos::SegmentsRequest { path: &path, peg, start, end };
        let cancel = &self.cancel;
        sapwood_repos::location_segments(&self.repository, &request, ALL, cancel, receiver)?;
        Ok(())
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        Ok(sapwood_repos::deleted_rev(&self.repository, &self.at(path), peg, end, &self.cancel)?)
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let path = self.at(request.path);
        let request = request.of(path.as_path());
        sapwood_repos::file_revs(&self.repository, &request, ALL, &self.cancel, receiver)?;
        Ok(())
    }
}

/// Takes the revisions of a log, as the reference's session in the same process does.
struct Entries<'r> {
    merged: bool,
    receiver: LogReceiver<'r>,
}

impl sapwood_repos::LogReceiver for Entries<'_> {
    fn entry(&mut self, entry: &sapwood_repos::LogRevision<'_>) -> SvnResult<()> {
        let mut entry = entry.entry();
        if self.merged {
            once_a_path(&mut entry.changes);
        }
        (self.receiver)(&entry)
    }

    fn takes_all_ends(&self) -> bool {
        self.merged
    }
}
