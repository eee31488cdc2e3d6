//! What is sent of one node: entry properties, properties, text.

use sapwood_core::props::names;
use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta, Window};
use sapwood_fsfs::Node;

use super::drive::Drive;
use crate::error::Result;

/// A text delta that changes nothing: stands in where no text is wanted.
#[derive(Debug, Default)]
pub(crate) struct NoDelta;

impl TextDelta for NoDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        Ok(None)
    }
}

/// What a handle of the editor stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Open {
    /// A directory.
    Dir(Handle),
    /// A file.
    File(Handle),
}

impl Open {
    /// Sends a property change to the fitting method.
    pub(crate) fn change_prop(
        self,
        editor: &mut dyn Editor,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        match self {
            Self::Dir(dir) => editor.change_dir_prop(dir, name, value),
            Self::File(file) => editor.change_file_prop(file, name, value),
        }
    }
}

/// Whether two nodes have different properties.
pub(crate) fn props_differ(a: &Node, b: &Node) -> Result<bool> {
    Ok(!a.same_props_rep(b) && a.props()? != b.props()?)
}

/// Sends the changes that lead from `source` to `target`: first what goes or changes, then what
/// is new, each in the order of names, as if the client applied them one by one.
pub(crate) fn send_prop_changes(
    editor: &mut dyn Editor,
    open: Open,
    source: Option<&PropList>,
    target: &PropList,
) -> SvnResult<()> {
    if let Some(source) = source {
        for (name, old) in source.iter() {
            let new = target.get(name);
            if new != Some(old) {
                open.change_prop(editor, name, new)?;
            }
        }
    }
    for (name, value) in target.iter() {
        if source.is_none_or(|s| s.get(name).is_none()) {
            open.change_prop(editor, name, Some(value))?;
        }
    }
    Ok(())
}

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
            self.entry_props(open, created, source.is_some())?;
        }
        if let Some(token) = lock_token
            && self.fs.lock(target.path())?.is_none_or(|lock| lock.token != token)
        {
            open.change_prop(self.editor, names::ENTRY_LOCK_TOKEN, None)?;
        }
        match source {
            Some(source) => {
                if props_differ(target, source)? {
                    let (old, new) = (source.props()?, target.props()?);
                    send_prop_changes(self.editor, open, Some(&old), &new)?;
                }
            }
            None => {
                if target.has_props()? {
                    send_prop_changes(self.editor, open, None, &*target.props()?)?;
                }
            }
        }
        Ok(())
    }

    fn entry_props(&mut self, open: Open, created: Revnum, had_source: bool) -> Result<()> {
        let revprops = self.revprops.get(created)?;
        let mut digits = itoa::Buffer::new();
        let number = digits.format(created.0);
        let mut send = |name: &str, value: Option<&[u8]>| -> SvnResult<()> {
            // Nothing to delete from a node that is new.
            if value.is_some() || had_source {
                open.change_prop(self.editor, name, value)?;
            }
            Ok(())
        };
        send(names::ENTRY_COMMITTED_REV, Some(number.as_bytes()))?;
        send(names::ENTRY_COMMITTED_DATE, revprops.get(names::DATE))?;
        send(names::ENTRY_LAST_AUTHOR, revprops.get(names::AUTHOR))?;
        send(names::ENTRY_UUID, Some(self.uuid.as_bytes()))?;
        Ok(())
    }

    /// Sends what leads from `source` (nothing, for a new file) to `target`.
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
