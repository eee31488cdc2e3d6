//! A template: a folder whose `conf` and `hooks` are copied into a new repository, and whose `layout` lists folders.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::SvnResult;

use super::layout::Layout;
use super::{cannot, refused};
use crate::input;

/// The folders that are copied.
const FOLDERS: [&str; 2] = ["conf", "hooks"];

/// Adds the folders that the template lists. A template without any of its parts is refused: it is a wrong name.
pub(super) fn read_layout(template: &Path, layout: &mut Layout) -> SvnResult<()> {
    let has_folder = FOLDERS.iter().any(|name| template.join(name).is_dir());
    let file = template.join("layout");
    match input::contents_if_there(&file)? {
        Some(bytes) => {
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| refused(format!("'{}' is not UTF-8", file.display())))?;
            layout.add_lines(&text)
        }
        None if has_folder => Ok(()),
        None => Err(refused(format!(
            "'{}' is no template: it has none of 'conf', 'hooks' and 'layout'",
            template.display()
        ))),
    }
}

/// Copies the files of `conf` and `hooks`.
pub(super) fn copy(template: &Path, repository: &Path) -> SvnResult<()> {
    for name in FOLDERS {
        let from = template.join(name);
        if from.is_dir() {
            copy_folder(&from, &repository.join(name))?;
        }
    }
    Ok(())
}

/// Copies files with their modes, and folders with all that is in them. Links count as what they name.
fn copy_folder(from: &Path, to: &Path) -> SvnResult<()> {
    for source in entries(from)? {
        let Some(name) = source.file_name() else { continue };
        let target = to.join(name);
        let found = fs::metadata(&source).map_err(|e| cannot(&e, "Can't stat", &source))?;
        if found.is_dir() {
            if !target.is_dir() {
                fs::create_dir(&target)
                    .map_err(|e| cannot(&e, "Can't create directory", &target))?;
            }
            copy_folder(&source, &target)?;
        } else if found.is_file() {
            let bytes = input::contents_if_there(&source)?;
            let bytes = bytes.ok_or_else(|| refused(format!("'{}' is gone", source.display())))?;
            fs::write(&target, bytes).map_err(|e| cannot(&e, "Can't write file", &target))?;
            fs::set_permissions(&target, found.permissions())
                .map_err(|e| cannot(&e, "Can't change perms of file", &target))?;
        } else {
            return Err(refused(format!("'{}' is neither file nor folder", source.display())));
        }
    }
    Ok(())
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> SvnResult<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()
    });
    let mut entries = entries.map_err(|e| cannot(&e, "Can't read directory", folder))?;
    entries.sort();
    Ok(entries)
}
