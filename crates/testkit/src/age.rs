//! Files that look older than they are. What changed a moment ago is not cached, since the clock of files is too coarse
//! to show another change; a test that wants the cache sets the times back instead of waiting.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Sets the times of modification of a file, or of a folder and all that is in it, back by a minute from now.
///
/// # Panics
/// When that fails.
pub fn age(path: &Path) {
    let kind = std::fs::symlink_metadata(path).expect("a file to be set back").file_type();
    if kind.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            age(&entry.expect("an entry").path());
        }
    }
    if kind.is_dir() || kind.is_file() {
        let before = SystemTime::now() - Duration::from_secs(60);
        File::open(path).and_then(|file| file.set_modified(before)).expect("times can be set");
    }
}
