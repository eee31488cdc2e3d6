//! The backup of a repository, where the configuration names a folder of backups.

use std::path::Path;
use std::time::Duration;

use sapwood_backup::Record;
use sapwood_core::SvnError;
use sapwood_core::date::Timestamp;

use super::finding::Findings;
use super::shown;
use crate::report;

/// A backup that was verified before that is too old: two days.
const OLD: Duration = Duration::from_secs(2 * 24 * 3600);

/// Looks at the record of a repository's backup.
pub(super) fn look(repository: &Path, folder: &Path, findings: &mut Findings) {
    let Some(name) = repository.file_name().and_then(|name| name.to_str()) else { return };
    let todo = || format!("sapwood backup {} {}", shown(repository), shown(folder));
    let verified = match Record::read(folder, name) {
        Ok(record) => record.and_then(|record| record.verified),
        Err(error) => {
            let error = SvnError::from(error);
            return findings.problem(report::one_line(&error), todo());
        }
    };
    let Some(verified) = verified else {
        return findings.warning("it has no verified backup", todo());
    };
    let age = Timestamp::now().0.abs_diff(verified.time.0);
    let what = format!("r{} of its backup was verified {}", verified.revision, verified.time);
    if u128::from(age) > OLD.as_micros() {
        findings.warning(what, todo());
    } else {
        findings.good(what);
    }
}
