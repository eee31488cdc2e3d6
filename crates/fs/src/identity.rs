//! Whether the filesystem in a folder is still the one that was opened.

use std::path::Path;
use std::time::SystemTime;

use sapwood_store::{LocalStorage, Stamp, Storage};

use crate::engine::Engine;

/// The files that say what a filesystem is, as they were at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity([Option<Stamp>; 3]);

impl Identity {
    /// That of the filesystem in the folder `db` now. What cannot be looked at counts as not there.
    #[must_use]
    pub fn of(db: &Path) -> Self {
        let stamp = |name: &str| LocalStorage.stamp(&db.join(name)).ok();
        let config = Engine::ALL.iter().find_map(|engine| stamp(engine.config_name()));
        Self([stamp("uuid"), stamp("format"), config])
    }

    /// Whether one of the files is so young that another change could leave its stamp as it is.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        let now = SystemTime::now();
        self.0.iter().flatten().any(|stamp| !stamp.is_stable(now))
    }
}
