//! Which engine a `db` folder needs: the one place where that is asked.

use std::path::Path;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// The kinds of filesystem that can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// FSFS.
    Fsfs,
    /// FSX.
    Fsx,
    /// The one in memory, which no folder needs.
    #[cfg(feature = "memory")]
    Memory,
}

impl Engine {
    /// All that a folder may need.
    pub(crate) const ALL: [Self; 2] = [Self::Fsfs, Self::Fsx];

    /// The name of its configuration file in the `db` folder.
    pub(crate) const fn config_name(self) -> &'static str {
        match self {
            Self::Fsfs => "fsfs.conf",
            Self::Fsx => "fsx.conf",
            #[cfg(feature = "memory")]
            Self::Memory => "memory.conf",
        }
    }

    /// The engine that a `db` folder needs.
    ///
    /// # Errors
    /// E160033 for others; errors of the system.
    pub fn of(db: &Path) -> SvnResult<Self> {
        let path = db.join("fs-type");
        let kind = std::fs::read(&path);
        let kind = kind.map_err(|error| {
            SvnError::io(&error, format_args!("Can't open file '{}'", path.display()))
        })?;
        // Of a repository in a store of objects, the other lines say where that is.
        let lines = kind.trim_ascii().split(|b| *b == b'\n').collect::<Vec<_>>();
        let first = if let [b"sapwood-store", ..] = *lines { b"fsfs" } else { kind.trim_ascii() };
        match first {
            b"fsfs" => Ok(Self::Fsfs),
            b"fsx" => Ok(Self::Fsx),
            other => {
                let message = format!("Unknown FS type '{}'", other.escape_ascii());
                Err(SvnError::new(ErrorCode::FS_UNKNOWN_FS_TYPE, message))
            }
        }
    }

    /// The token of the repository in a store of objects that a `db` folder is for, 32 hexadecimal digits: the same on all machines. `None`
    /// where revisions are in the folder itself, or it cannot be read.
    #[must_use]
    pub fn stored_repository(db: &Path) -> Option<String> {
        let text = std::fs::read_to_string(db.join("fs-type")).ok()?;
        let mut lines = text.strip_prefix("sapwood-store\n")?.lines();
        let token = lines.nth(1)?;
        let is_token = token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then(|| token.to_ascii_lowercase())
    }

    /// Whether its filesystems may have one of several layouts, which administrators ask for.
    #[must_use]
    pub const fn has_layouts(self) -> bool {
        match self {
            Self::Fsfs => true,
            Self::Fsx => false,
            #[cfg(feature = "memory")]
            Self::Memory => false,
        }
    }

    /// Its name, as `fs-type` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fsfs => "fsfs",
            Self::Fsx => "fsx",
            #[cfg(feature = "memory")]
            Self::Memory => "memory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_which_engine_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let kind = folder.path().join("fs-type");
        for engine in Engine::ALL {
            std::fs::write(&kind, format!("{}\n", engine.name())).unwrap();
            assert_eq!(Engine::of(folder.path()).unwrap(), engine);
        }
        std::fs::write(&kind, "bdb\n").unwrap();
        let error = Engine::of(folder.path()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::FS_UNKNOWN_FS_TYPE);
        std::fs::remove_file(&kind).unwrap();
        let error = Engine::of(folder.path()).unwrap_err();
        assert!(error.to_string().contains("Can't open file"), "{error}");
    }
}
