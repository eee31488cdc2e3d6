//! The folders in which a user's programs keep their data and caches, by the XDG Base Directory Specification. Where neither
//! its variable nor `HOME` names an absolute path, it is the folder of temporary files.

use std::path::PathBuf;

/// Sapwood's data of this user.
pub(crate) fn data() -> PathBuf {
    own("XDG_DATA_HOME", ".local/share")
}

/// Sapwood's caches of this user.
pub(crate) fn caches() -> PathBuf {
    own("XDG_CACHE_HOME", ".cache")
}

fn own(variable: &str, below_home: &str) -> PathBuf {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(below_home)))
        .unwrap_or_else(std::env::temp_dir)
        .join("sapwood")
}
