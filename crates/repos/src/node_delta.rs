//! What every drive of an editor says about single nodes: properties, entry properties, texts.

use sapwood_core::props::names;
use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta, Window};
use sapwood_fs::{DateAuthor, Node};

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

/// Sends the changes that lead from the properties of `source` (none, for a new node) to those of
/// `target`.
pub(crate) fn send_node_props(
    editor: &mut dyn Editor,
    open: Open,
    source: Option<&Node>,
    target: &Node,
) -> Result<()> {
    match source {
        Some(source) => {
            if target.props_differ(source)? {
                let (old, new) = (source.props()?, target.props()?);
                send_prop_changes(editor, open, Some(&old), &new)?;
            }
        }
        None => {
            if target.has_props()? {
                send_prop_changes(editor, open, None, &*target.props()?)?;
            }
        }
    }
    Ok(())
}

/// Sends when and by whom a node was last changed. What is not known is sent as a deletion when
/// the receiver had the node before.
pub(crate) fn send_entry_props(
    editor: &mut dyn Editor,
    open: Open,
    created: Revnum,
    date_author: &DateAuthor,
    uuid: &str,
    had_source: bool,
) -> SvnResult<()> {
    let mut digits = itoa::Buffer::new();
    let number = digits.format(created.0).as_bytes();
    let mut send = |name: &str, value: Option<&[u8]>| -> SvnResult<()> {
        if value.is_some() || had_source {
            open.change_prop(editor, name, value)?;
        }
        Ok(())
    };
    send(names::ENTRY_COMMITTED_REV, Some(number))?;
    send(names::ENTRY_COMMITTED_DATE, date_author.date())?;
    send(names::ENTRY_LAST_AUTHOR, date_author.author())?;
    send(names::ENTRY_UUID, Some(uuid.as_bytes()))
}
