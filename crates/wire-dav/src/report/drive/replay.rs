//! The reply to a replay report drives an editor: one flat element for each call.

use std::io::Read;

use sapwood_core::{SvnResult, base64};
use sapwood_delta::{Editor, Handle};

use super::{MAX_DEPTH, Text, below_name, copy_from, md5, revision};
use crate::NS_SVN;
use crate::error::{Error, Result};
use crate::xml::{Document, Element, Event};

/// The open nodes: nested directories, and a file.
#[derive(Default)]
struct Open {
    dirs: Vec<Handle>,
    file: Option<Handle>,
}

impl Open {
    fn dir(&self) -> Result<Handle> {
        self.dirs.last().copied().ok_or(Error::Reply("directory"))
    }

    fn file(&self) -> Result<Handle> {
        self.file.ok_or(Error::Reply("file"))
    }

    fn push(&mut self, dir: Handle) -> Result<()> {
        if self.dirs.len() >= MAX_DEPTH {
            return Err(Error::TooLarge("directories within directories"));
        }
        self.dirs.push(dir);
        Ok(())
    }
}

/// Drives `editor` with one revision, up to but without `close_edit`.
///
/// # Errors
/// For an invalid reply, and errors of the connection and of the editor. The editor is not aborted.
pub fn drive<R: Read>(mut document: Document<R>, editor: &mut dyn Editor) -> SvnResult<()> {
    if !document.root().is(NS_SVN, "editor-report") {
        return Err(Error::Reply("editor-report").into());
    }
    let mut open = Open::default();
    while let Some(event) = document.next_event()? {
        match event {
            Event::Start(element) if element.namespace == NS_SVN => {
                step(&mut document, element, editor, &mut open)?;
            }
            Event::Start(element) => {
                document.whole(element)?;
            }
            Event::Text(_) | Event::End => {}
        }
    }
    Ok(())
}

fn step<R: Read>(
    document: &mut Document<R>,
    element: Element,
    editor: &mut dyn Editor,
    open: &mut Open,
) -> SvnResult<()> {
    match element.name.as_str() {
        "apply-textdelta" => {
            let base = element.attribute("checksum").map(md5).transpose()?;
            let mut text = Text::new(document);
            editor.apply_textdelta(open.file()?, base, &mut text)?;
            return Ok(text.drain()?);
        }
        "change-file-prop" | "change-dir-prop" => {
            let element = document.whole(element)?;
            return property(&element, editor, open);
        }
        "target-revision" => {
            let target = revision(&element, "rev")?.ok_or(Error::Reply("target-revision"))?;
            editor.set_target_revision(target)?;
        }
        "open-root" => open.push(editor.open_root(revision(&element, "rev")?)?)?,
        "delete-entry" => {
            let base = revision(&element, "rev")?;
            editor.delete_entry(below_name(&element)?, base, open.dir()?)?;
        }
        "add-directory" => {
            let (path, from) = (below_name(&element)?, copy_from(&element)?);
            open.push(editor.add_directory(path, open.dir()?, from)?)?;
        }
        "open-directory" => {
            let (path, base) = (below_name(&element)?, revision(&element, "rev")?);
            open.push(editor.open_directory(path, open.dir()?, base)?)?;
        }
        "add-file" => {
            let (path, from) = (below_name(&element)?, copy_from(&element)?);
            open.file = Some(editor.add_file(path, open.dir()?, from)?);
        }
        "open-file" => {
            let (path, base) = (below_name(&element)?, revision(&element, "rev")?);
            open.file = Some(editor.open_file(path, open.dir()?, base)?);
        }
        "close-file" => {
            let text = element.attribute("checksum").map(md5).transpose()?;
            editor.close_file(open.file()?, text)?;
            open.file = None;
        }
        "close-directory" => {
            editor.close_directory(open.dir()?)?;
            open.dirs.pop();
        }
        _ => {}
    }
    document.whole(element)?;
    Ok(())
}

fn property(element: &Element, editor: &mut dyn Editor, open: &Open) -> SvnResult<()> {
    let name = element.attribute("name").ok_or(Error::Reply("name"))?;
    let value = match element.attribute("del") {
        Some("true") => None,
        _ => Some(base64::decode(element.text.as_bytes()).ok_or(Error::Reply("property"))?),
    };
    if element.name == "change-file-prop" {
        editor.change_file_prop(open.file()?, name, value.as_deref())
    } else {
        editor.change_dir_prop(open.dir()?, name, value.as_deref())
    }
}
