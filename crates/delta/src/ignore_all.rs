//! An editor that takes every call and keeps nothing: where only the driver is of interest, in
//! measurements, tests and fuzzing.

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum, SvnResult};

use crate::editor::{Editor, Handle};
use crate::stream::TextDelta;

/// Takes everything, texts to their ends, and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreAll;

impl Editor for IgnoreAll {
    crate::ignore_absent!();
    crate::ignore_directories!();
    crate::nothing_to_abort!();

    fn add_file(&mut self, _: &RelPath, _: Handle, _: Option<(&str, Revnum)>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }

    fn open_file(&mut self, _: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(Handle(0))
    }

    fn apply_textdelta(
        &mut self,
        _: Handle,
        _: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        while delta.next_window()?.is_some() {}
        Ok(())
    }

    fn change_file_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        Ok(())
    }

    fn close_file(&mut self, _: Handle, _: Option<Md5>) -> SvnResult<()> {
        Ok(())
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
