//! Copying a folder with packs of revision properties, of which a manifest says which count.

use std::ffi::OsString;
use std::path::Path;

use sapwood_core::{ErrorCode, Revnum};
use sapwood_fsfs_format::layout::names;

use super::{Copier, CopyError, Order, Result, error};

/// How often a folder is copied because it changed meanwhile.
const RETRIES: u32 = 10;
/// The longest manifest that is read.
const MANIFEST_LEN: usize = 1 << 28;

/// The names of all files that belong to a folder, by the contents of its manifest, which is at a path.
pub type ParseManifest<'a> = &'a dyn Fn(&[u8], &Path) -> Result<Vec<OsString>>;

impl Copier<'_> {
    /// Copies the folder `dir` of the shard that begins with `first`, again until its manifest and the files that it names belong
    /// together. Whether there was anything to copy. With `is_new` no reader looks at the folder yet.
    ///
    /// # Errors
    /// E160051 when the folder does not come to rest; system errors.
    pub fn copy_with_manifest(
        &self,
        dir: &str,
        first: Revnum,
        is_new: bool,
        parse: ParseManifest<'_>,
    ) -> Result<bool> {
        let (from, to) = (self.source(dir), self.target(dir));
        let durable = !is_new && self.options.flush_to_disk;
        let order = if durable { Order::InUse } else { Order::ManifestLast };
        let mut any = false;
        for _ in 0..RETRIES {
            match self.copy_dir(&from, &to, order) {
                Ok(copied) => any |= copied,
                // A pack was replaced while we looked.
                Err(error) if error.is_missing_file() => continue,
                Err(error) => return Err(error),
            }
            if self.is_complete(&to, durable, parse)? {
                return Ok(any);
            }
        }
        Err(error(
            ErrorCode::FS_PACKED_REVPROP_READ_FAILURE,
            format!("Failed to read revprop pack file for r{first}"),
        ))
    }

    /// Whether all files that a manifest names are there; those that it does not name are removed then. With `sync` the manifest
    /// is durable before.
    fn is_complete(&self, dir: &Path, sync: bool, parse: ParseManifest<'_>) -> Result<bool> {
        let path = dir.join(names::MANIFEST);
        let bytes = self.storage.read(&path, MANIFEST_LEN);
        let bytes = bytes.map_err(|e| CopyError::io(e, "Can't open file", &path))?;
        let named = parse(&bytes, &path)?;
        let listed = self.storage.list(dir);
        let listed = listed.map_err(|e| CopyError::io(e, "Can't open directory", dir))?;
        if !named.iter().all(|name| listed.contains(name)) {
            return Ok(false);
        }
        let mut unnamed = listed
            .into_iter()
            .filter(|name| !named.contains(name) && name != names::MANIFEST)
            .peekable();
        if sync && unnamed.peek().is_some() {
            self.sync_dir(dir)?;
        }
        for name in unnamed {
            self.remove(&dir.join(name))?;
        }
        Ok(true)
    }
}
