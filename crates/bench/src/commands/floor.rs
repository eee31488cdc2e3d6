//! The floor below a row: the seconds of the calls to the kernel that nothing can save, made one after the other.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sapwood_core::checksum::Md5Reader;
use sapwood_core::{SvnError, SvnResult};

use super::rows::Floor;
use super::site::Site;
use crate::programs::measure;
use crate::repositories::copy_tree;

/// How often a program that does nothing is started.
const STARTS: usize = 10;

/// Seconds of each kind of floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floors {
    start: f64,
    stat: f64,
    write: f64,
    remove: f64,
    rows: f64,
    /// The part of the tree that four directories are.
    four: f64,
    read_large: f64,
    sum_large: f64,
    copy_large: f64,
    copy_repository: f64,
    count_twice: f64,
    enter_texts: f64,
}

impl Floors {
    /// Measures them: `common` has the files, `site` a working copy of them.
    pub(super) fn measure(common: &Path, site: &Site) -> SvnResult<Self> {
        let failed = |e| SvnError::io(&e, "Can't measure what the system takes");
        Self::of(start(site)?, common, &site.folder.join("w")).map_err(failed)
    }

    fn of(start: f64, common: &Path, copy: &Path) -> io::Result<Self> {
        let files = files(&common.join("src"))?;
        let stat = seconds(|| {
            files.iter().try_for_each(|(below, _)| copy.join(below).symlink_metadata().map(drop))
        })?;
        let to = common.join("floor");
        let write = seconds(|| {
            for (below, text) in &files {
                let path = to.join(below);
                match fs::write(&path, text) {
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {
                        fs::create_dir_all(path.parent().unwrap_or(&to))?;
                        fs::write(&path, text)?;
                    }
                    other => other?,
                }
            }
            Ok(())
        })?;
        let remove = seconds(|| fs::remove_dir_all(&to))?;
        let rows = rows(&copy.join(".svn/wc.db"), &files, &to).map_err(io::Error::other)?;
        fs::remove_file(&to)?;
        let dirs = fs::read_dir(common.join("src"))?.count();
        let four = 4.0 / f64::from(u32::try_from(dirs.max(4)).map_err(io::Error::other)?);
        let large = common.join("bin.bin");
        let read_large = seconds(|| io::copy(&mut File::open(&large)?, &mut io::sink()).map(drop))?;
        let sum_large = seconds(|| Md5Reader::new(File::open(&large)?).finish_whole().map(drop))?;
        let copy_large = seconds(|| fs::copy(&large, &to).map(drop))?;
        fs::remove_file(&to)?;
        let repository = common.join("base");
        let copy_repository = seconds(|| copy_tree(&repository, &to))?;
        fs::remove_dir_all(&to)?;
        let texts = repository.join("db/rep-cache.db");
        let count_twice = 2.0 * count(&texts).map_err(io::Error::other)?;
        let enter_texts = enter(&texts, &to).map_err(io::Error::other)?;
        fs::remove_file(&to)?;
        Ok(Self {
            start,
            stat,
            write,
            remove,
            rows,
            four,
            read_large,
            sum_large,
            copy_large,
            copy_repository,
            count_twice,
            enter_texts,
        })
    }

    /// The seconds of a floor.
    pub(super) const fn seconds(&self, floor: Floor) -> f64 {
        match floor {
            Floor::Start => self.start,
            Floor::Stat => self.stat,
            Floor::Write => self.write,
            Floor::WriteTwice => self.write * 2.0,
            Floor::Rows => self.rows,
            Floor::RowsOfFour => self.rows * self.four,
            Floor::RemoveFour => (self.rows + self.remove) * self.four,
            Floor::ReadLarge => self.read_large,
            Floor::SumLarge => self.sum_large,
            Floor::CopyLarge => self.copy_large,
            Floor::CopyRepository => self.copy_repository,
            Floor::CountTwice => self.count_twice,
            Floor::EnterTexts => self.enter_texts,
        }
    }
}

/// The least seconds of a program that does nothing, started as the rows are.
fn start(site: &Site) -> SvnResult<f64> {
    let complaints = site.folder.join("complaints");
    let mut least = f64::INFINITY;
    for _ in 0..STARTS {
        let mut command = site.shell("exec true", ".", 0);
        least = least.min(measure(&mut command, &complaints)?.wall);
    }
    Ok(least)
}

fn seconds(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The seconds of one change that adds a row for each file to a copy of a working copy's database.
fn rows(db: &Path, files: &[(PathBuf, Vec<u8>)], to: &Path) -> rusqlite::Result<f64> {
    fs::copy(db, to).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    let mut connection = rusqlite::Connection::open(to)?;
    let begun = Instant::now();
    let change = connection.transaction()?;
    {
        let mut add = change.prepare(
            "INSERT INTO actual_node (wc_id, local_relpath, parent_relpath, changelist) \
             VALUES (1, ?1, ?2, 'floor')",
        )?;
        for (below, _) in files {
            let parent = below.parent().unwrap_or(below);
            add.execute([below.to_string_lossy(), parent.to_string_lossy()])?;
        }
    }
    change.commit()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The seconds in which the rows of a database of equal texts are counted.
fn count(db: &Path) -> rusqlite::Result<f64> {
    let connection = rusqlite::Connection::open(db)?;
    let begun = Instant::now();
    connection.query_row("SELECT count(*), sum(revision) FROM rep_cache", [], |_| Ok(()))?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The seconds in which each row of a copy of a database of equal texts is entered where it is.
fn enter(db: &Path, to: &Path) -> rusqlite::Result<f64> {
    fs::copy(db, to).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    let connection = rusqlite::Connection::open(to)?;
    let begun = Instant::now();
    connection.execute("INSERT OR IGNORE INTO rep_cache SELECT * FROM rep_cache", [])?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The files below a folder, with their texts.
fn files(top: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for dir in fs::read_dir(top)? {
        let dir = dir?;
        for file in fs::read_dir(dir.path())? {
            let file = file?;
            found.push((
                PathBuf::from(dir.file_name()).join(file.file_name()),
                fs::read(file.path())?,
            ));
        }
    }
    Ok(found)
}
