//! Items of the svn protocol, as commands, replies, log entries, locks and edits.

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta, Version};
use sapwood_wire_svn::editor::drive;
use sapwood_wire_svn::editor::drive::MemorySource;
use sapwood_wire_svn::failure::read_reply;
use sapwood_wire_svn::{Decoder, Item, Limits, Progress, data};

/// Takes everything, keeps nothing.
struct Sink(u64, bool);

impl Sink {
    fn open(&mut self) -> SvnResult<Handle> {
        self.0 += 1;
        Ok(Handle(self.0))
    }
}

impl Editor for Sink {
    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        self.open()
    }
    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn add_directory(
        &mut self,
        _: &RelPath,
        _: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open()
    }
    fn open_directory(&mut self, _: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        self.open()
    }
    fn change_dir_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        Ok(())
    }
    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn absent_directory(&mut self, _: &RelPath, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn add_file(&mut self, _: &RelPath, _: Handle, _: Option<(&str, Revnum)>) -> SvnResult<Handle> {
        self.open()
    }
    fn open_file(&mut self, _: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        self.open()
    }
    fn apply_textdelta(
        &mut self,
        _: Handle,
        _: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        self.1 = !self.1;
        if self.1
            && let Some(encoded) = delta.encoded(Version::V2)
        {
            while encoded.next_bytes()?.is_some() {}
            return Ok(());
        }
        while delta.next_window()?.is_some() {}
        Ok(())
    }
    fn change_file_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        Ok(())
    }
    fn close_file(&mut self, _: Handle, _: Option<Md5>) -> SvnResult<()> {
        Ok(())
    }
    fn absent_file(&mut self, _: &RelPath, _: Handle) -> SvnResult<()> {
        Ok(())
    }
    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
    fn abort_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

/// Finds one item; however the bytes arrive, the verdict must be the same.
fn find(bytes: &[u8], cut: usize) -> Option<usize> {
    let limits = Limits { bytes: 1 << 16, tokens: 1 << 12 };
    let mut whole = Decoder::new(limits);
    let verdict = whole.advance(bytes);
    let mut parts = Decoder::new(limits);
    let early = parts.advance(&bytes[..cut.min(bytes.len())]);
    let late = early.and_then(|_| parts.advance(bytes));
    assert_eq!(verdict.is_ok(), late.is_ok());
    let Ok(Progress::Complete(len)) = verdict else { return None };
    assert_eq!(late, Ok(Progress::Complete(len)));
    let item = &bytes[..len];
    if let Ok(Item::List(list)) = whole.item(item) {
        let _ = list.tuple().remaining();
        let _ = data::read_props(list);
        let _ = data::read_prop_changes(list);
        let _ = data::read_lock(list);
        let _ = data::read_changed_path(list);
        let _ = data::read_dirent_fields(Some(list));
        if let Ok(entry) = data::read_log_entry(list) {
            for change in entry.changes {
                let _ = change.list().map(data::read_changed_path);
            }
        }
        let _ = read_reply(list.tuple());
    }
    Some(len)
}

/// Reads `data` as items, then as an edit.
pub fn run(data: &[u8]) {
    let mut rest = data;
    let cut = data.first().map_or(0, |b| usize::from(*b));
    while let Some(len) = find(rest, cut) {
        rest = &rest[len..];
    }
    let _ = drive(&mut MemorySource::new(data), &mut Sink(0, false), data.len().is_multiple_of(2));
}
