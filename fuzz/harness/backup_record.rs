//! Records of backups: no more was verified than copied, and revisions are revisions.

use std::path::Path;

use sapwood_backup::Record;

pub fn run(data: &[u8]) {
    let Ok(record) = Record::parse(Path::new("x.backup.toml"), data) else { return };
    assert!(i64::try_from(record.revision.0).is_ok(), "{record:?}");
    assert!(record.verified.is_none_or(|verified| verified.revision <= record.revision), "{record:?}");
}
