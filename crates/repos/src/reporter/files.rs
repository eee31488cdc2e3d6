//! The parts of a report's edit for one node: entry properties, properties, text.

use sapwood_core::props::names;
use sapwood_delta::Handle;
use sapwood_fs::Node;

use super::drive::Drive;
use crate::error::Result;
use crate::node_delta::{NoDelta, Open, send_entry_props, send_node_props};

impl Drive<'_> {
    /// Sends entry properties, the news of a lost lock, and changes of properties.
    pub(super) fn delta_props(
        &mut self,
        open: Open,
        source: Option<&Node>,
        target: &Node,
        lock_token: Option<&str>,
    ) -> Result<()> {
        if let Some(created) = target.created_rev() {
            let date_author = self.revprops.date_author(created)?;
            let had_source = source.is_some();
            send_entry_props(self.editor, open, created, &date_author, &self.uuid, had_source)?;
        }
        if let Some(token) = lock_token
            && self.fs.lock(target.path())?.is_none_or(|lock| lock.token != token)
        {
            open.change_prop(self.editor, names::ENTRY_LOCK_TOKEN, None)?;
        }
        send_node_props(self.editor, open, source, target)
    }

    /// Sends the text delta from `source` (nothing, for a new file) to `target`.
    pub(super) fn delta_files(
        &mut self,
        file: Handle,
        source: Option<&Node>,
        target: &Node,
        lock_token: Option<&str>,
    ) -> Result<()> {
        self.delta_props(Open::File(file), source, target, lock_token)?;
        let mut base = None;
        if let Some(source) = source {
            if !target.contents_differ(source)? {
                return Ok(());
            }
            base = Some(source.md5()?);
        }
        if self.text_deltas {
            let mut delta = target.delta_from(source)?;
            self.editor.apply_textdelta(file, base, &mut delta)?;
        } else {
            self.editor.apply_textdelta(file, base, &mut NoDelta)?;
        }
        Ok(())
    }
}
