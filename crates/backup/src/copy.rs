//! Copies what is new of a repository, and verifies it in the copy.
//!
//! Invariant: the record is written after what it says was done, so that a program that is killed in between leaves a
//! record that says too little.

use std::path::Path;

use sapwood_core::date::Timestamp;
use sapwood_core::{CancelToken, Revnum};
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_fs::{Caches, OpenOptions};
use sapwood_repos::Repository;
use sapwood_repos::hotcopy::hotcopy;
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};

use crate::error::{Error, Result};
use crate::record::{LastVerification, Record};

/// What is verified in a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// What was not verified before, and what was packed since.
    #[default]
    New,
    /// Every revision.
    All,
    /// Nothing.
    Nothing,
}

/// How copies are made.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// What is verified.
    pub verify: Verify,
    /// How many threads verify.
    pub threads: usize,
    /// Bytes of cache for reading the copy.
    pub cache_bytes: usize,
    /// Stops the work.
    pub cancel: &'a CancelToken,
}

/// What is reported while a repository is backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// These revisions were copied.
    Copied(Revnum, Revnum),
    /// A revision of the copy is whole.
    Verified(Revnum),
}

/// Copies what is new of `source` to the repository `name` in `folder`, which may not exist yet, verifies it, and writes
/// down what was done. The source may be in use.
///
/// # Errors
/// [`Error::OfAnother`] when the copy is that of another repository; [`Error::Damaged`]; those of
/// [`hotcopy`] and of the disk.
pub fn back_up(
    source: &Repository,
    folder: &Path,
    name: &str,
    settings: &Settings<'_>,
    report: &mut dyn FnMut(Step),
) -> Result<Record> {
    let copy = folder.join(name);
    let from = sapwood_core::paths::absolute(source.path()).map_err(|e| Error::Io {
        what: "find",
        path: source.path().to_owned(),
        source: e,
    })?;
    let before = Record::read(folder, name)?;
    if let Some(known) = before.as_ref().filter(|before| before.source != from) {
        let (known, record) = (known.source.clone(), Record::file(folder, name));
        return Err(Error::OfAnother { copy, known, record });
    }
    let options = HotcopyOptions { incremental: true, ..HotcopyOptions::default() };
    hotcopy(source, &copy, &options, settings.cancel, &mut |first, last| {
        report(Step::Copied(first, last));
        Ok(())
    })?;
    let copied = Timestamp::now();
    let caches = Caches::new(settings.cache_bytes);
    let opened = Repository::open(&copy, &caches, &OpenOptions::default())?;
    let revision = opened.fs().youngest()?;
    let verified = before.and_then(|before| before.verified);
    let mut record = Record { source: from, revision, copied, verified };
    let storage = opened.fs().storage();
    record.write(storage, folder, name)?;
    if settings.verify == Verify::Nothing {
        return Ok(record);
    }
    let min_unpacked = opened.fs().min_unpacked_rev()?;
    let start = first_to_verify(settings.verify, record.verified, min_unpacked);
    if start <= revision {
        read_through(&opened, start, revision, settings, report)?;
    }
    record.verified = Some(LastVerification { revision, min_unpacked, time: Timestamp::now() });
    record.write(storage, folder, name)?;
    Ok(record)
}

/// The first revision that is to be verified. What was packed since was written anew.
fn first_to_verify(
    wanted: Verify,
    before: Option<LastVerification>,
    min_unpacked: Revnum,
) -> Revnum {
    match before {
        Some(before) if wanted == Verify::New => {
            let next = before.revision.next();
            if min_unpacked > before.min_unpacked { next.min(before.min_unpacked) } else { next }
        }
        _ => Revnum::ZERO,
    }
}

/// Verifies revisions of a copy.
fn read_through(
    copy: &Repository,
    first: Revnum,
    last: Revnum,
    settings: &Settings<'_>,
    report: &mut dyn FnMut(Step),
) -> Result<()> {
    let options = VerifyOptions {
        start: Some(first),
        end: Some(last),
        check_normalization: false,
        metadata_only: false,
        notices: false,
        cancel: settings.cancel,
        threads: settings.threads,
    };
    let mut damage = None;
    let done = verify(copy, &options, &mut |notice| match notice {
        VerifyNotice::Error(_, error) => {
            damage = Some(error.clone());
            Err(error)
        }
        VerifyNotice::Revision(revision) => {
            report(Step::Verified(revision));
            Ok(())
        }
        VerifyNotice::Metadata(_) | VerifyNotice::Warning(..) => Ok(()),
    });
    match damage {
        Some(source) => Err(Error::Damaged { copy: copy.path().to_owned(), source }),
        None => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_was_packed_is_verified() {
        let before = |revision, min_unpacked| {
            let time = Timestamp(0);
            Some(LastVerification {
                revision: Revnum(revision),
                min_unpacked: Revnum(min_unpacked),
                time,
            })
        };
        let first = |wanted, before, now| first_to_verify(wanted, before, Revnum(now)).0;
        assert_eq!(first(Verify::New, None, 0), 0);
        assert_eq!(first(Verify::New, before(25, 10), 10), 26);
        assert_eq!(first(Verify::New, before(25, 10), 20), 10);
        assert_eq!(first(Verify::New, before(25, 0), 40), 0);
        assert_eq!(first(Verify::All, before(25, 10), 10), 0);
    }
}
