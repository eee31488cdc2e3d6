//! Verification: repositories that the reference made are whole, and no byte of a revision file, pack or index can change
//! without being found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test on input of our own"
)]

use std::path::{Path, PathBuf};

use sapwood_fsx::{Filesystem, Result};
use sapwood_testkit::{fsx, random};

/// Everything that verification looks at.
fn verify(db: &Path) -> Result<()> {
    let fs = Filesystem::open(db)?;
    fs.verify_metadata(None, None, &mut |_| Ok(()))?;
    for revision in 0..=fs.youngest()?.0 {
        let revision = sapwood_core::Revnum(revision);
        fs.revision_root(revision)?.verify()?;
        fs.verify_revision(revision)?;
    }
    Ok(())
}

/// The revision files and packs.
fn files(db: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for shard in std::fs::read_dir(db.join("revs")).unwrap() {
        for file in std::fs::read_dir(shard.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "pack" || name.starts_with('r') {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_the_reference_made_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, pack) in [(41, false), (41, true), (42, true)] {
        let path = folder.path().join(format!("{seed}-{pack}"));
        fsx::make(&path, &random::history(seed, 30), 7, pack);
        verify(&path.join("db")).unwrap();
    }
}

/// Some bytes of each file, all of its end, are changed one at a time.
#[test]
fn every_changed_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repo");
    fsx::make(&path, &random::history(43, 9), 5, true);
    let db = path.join("db");
    let (mut changed, files) = (0, files(&db));
    assert!(files.iter().any(|file| file.ends_with("pack")) && files.len() > 2, "{files:?}");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        // The file that the reference made may be read-only.
        std::fs::remove_file(&file).unwrap();
        let end = bytes.len().saturating_sub(400);
        for at in (0..end).step_by(37).chain(end..bytes.len()) {
            let mut damaged = bytes.clone();
            // The case of a hexadecimal digit says nothing.
            damaged[at] ^= 1 << (at % 5);
            std::fs::write(&file, &damaged).unwrap();
            assert!(verify(&db).is_err(), "{} at {at} of {}", file.display(), bytes.len());
            changed += 1;
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    assert!(changed > 1500, "{changed}");
    verify(&db).unwrap();
}
