//! Working files written anew by an operation that made their text itself, as `svn patch` does. Nothing of
//! the database changes: the file is simply modified.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::{Form, move_into_place, replace};
use crate::root::WorkingCopy;
use crate::translate::{Translation, special};
use sapwood_core::paths::RelPath;

impl WorkingCopy {
    /// Writes a working file from a text in normal form, over what may be there. Its directory must be there.
    ///
    /// # Errors
    /// That the text cannot be read or the file not be written.
    pub fn install_text(
        &self,
        relpath: &RelPath,
        text: &Path,
        translation: &Translation,
        executable: bool,
    ) -> Result<()> {
        let path = self.abspath(relpath);
        check_directory(&path)?;
        let mut text = fs::File::open(text).map_err(|e| Error::io(e, "Can't open file", text))?;
        let translation = Translation { special: false, ..translation.clone() };
        let form = Form { translation, executable, ..Form::default() };
        replace(&path, &self.temporary(), &mut text, &form)?;
        Ok(())
    }

    /// Writes a special file from its normal form, over what may be there.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn install_special(&self, relpath: &RelPath, normal: &[u8]) -> Result<()> {
        let path = self.abspath(relpath);
        check_directory(&path)?;
        let temporary = self.temporary();
        special::create_working(&temporary, normal)
            .map_err(|e| Error::io(e, "Can't create symbolic link", &temporary))?;
        move_into_place(&temporary, &path)
    }
}

fn check_directory(path: &Path) -> Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    fs::metadata(dir).map(drop).map_err(|e| Error::io(e, "Can't check path", dir))
}
