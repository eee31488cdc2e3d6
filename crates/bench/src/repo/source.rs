//! Histories of programs: a tree of text files that grows, a change log, branches that live and
//! die, merges that record mergeinfo, tags, now and then an import of hundreds of files.

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::props::names as prop_names;
use sapwood_core::{FsPath, SvnError, SvnResult};
use sapwood_fs::txn::Txn;

use super::build::{Build, add_file, mergeinfo};
use super::scaled;

/// How a project grows. Sizes are those at scale 1.
#[derive(Debug)]
pub(super) struct Shape {
    /// The main line.
    pub(super) main: &'static str,
    /// The folder of branches.
    pub(super) branches: &'static str,
    /// The folder of tags.
    pub(super) tags: &'static str,
    /// Files of the main line after the first revisions.
    pub(super) first_files: usize,
    /// The same at the end, more or less.
    pub(super) last_files: usize,
    /// Files in a folder, on average.
    pub(super) files_in_folder: usize,
    /// Folders within each other, at most.
    pub(super) levels: usize,
    /// The most changes of a revision; the least is one.
    pub(super) changes: usize,
    /// The file that changes most.
    pub(super) log_file: &'static str,
    /// In how many percent of the main line's revisions.
    pub(super) log_percent: usize,
    /// Where it is cut.
    pub(super) log_bytes: usize,
    /// Most files have fewer lines than this.
    pub(super) lines: usize,
    /// One revision in this number adds or changes hundreds of files; 0 for never.
    pub(super) vendor_every: usize,
    /// Branches that live at a time.
    pub(super) living_branches: usize,
    /// The number of authors.
    pub(super) authors: usize,
    /// Time from one revision to the next.
    pub(super) seconds_a_revision: i64,
}

/// The number of files that each of the first revisions adds.
const FILES_AT_ONCE: usize = 1_000;
/// The most files that an import touches.
const IMPORTED: usize = 600;

struct Project<'s> {
    shape: &'s Shape,
    first_files: usize,
    last_files: usize,
    /// Paths of the main line's files, without the main line.
    files: Vec<String>,
    /// The same of its folders; the first is the main line itself, as an empty path.
    folders: Vec<String>,
    /// Living branches, with the revision up to which the main line was merged to them.
    branches: Vec<(String, usize)>,
    /// The branches that were merged to the main line.
    merged: Vec<(String, usize, usize)>,
    serial: usize,
}

/// Writes the history.
pub(super) fn write(build: &mut Build<'_, '_>, shape: &Shape, scale: f64) -> SvnResult<()> {
    build.pace(shape.seconds_a_revision);
    let mut project = Project {
        shape,
        first_files: scaled(shape.first_files, scale).max(30),
        last_files: scaled(shape.last_files, scale).max(60),
        files: Vec::new(),
        folders: vec![String::new()],
        branches: Vec::new(),
        merged: Vec::new(),
        serial: 0,
    };
    project.layout(build)?;
    while build.goes_on() {
        project.step(build)?;
    }
    Ok(())
}

impl Project<'_> {
    /// The first revision: the folders that all is in.
    fn layout(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        let shape = self.shape;
        let mut txn = build.begin()?;
        for folder in [shape.main, shape.branches, shape.tags] {
            txn.make_dir(FsPath::new(&format!("/{folder}"))?)?;
        }
        add_file(&mut txn, &self.on_main(shape.log_file), b"The first line.\n")?;
        build.commit(txn, "dev0", "The layout.")
    }

    fn on_main(&self, path: &str) -> String {
        format!("/{}/{path}", self.shape.main)
    }

    fn step(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        if self.files.len() < self.first_files {
            return self.import(build, FILES_AT_ONCE, "Import.");
        }
        let every = self.shape.vendor_every;
        if every > 0 && build.rng.below(every) == 0 {
            return self.import(build, IMPORTED, "Import from a vendor.");
        }
        let can_branch = self.branches.len() < self.shape.living_branches;
        match build.rng.below(1_000) {
            0..5 if can_branch => self.branch(build),
            5..7 if self.branches.len() > 3 => self.delete_branch(build),
            7..60 if !self.branches.is_empty() => self.merge(build),
            60..74 => self.tag(build),
            74..78 => self.rename(build),
            78..260 if !self.branches.is_empty() => self.work(build, true),
            _ => self.work(build, false),
        }
    }

    /// The number of files that there should be now.
    fn wanted(&self, build: &Build<'_, '_>) -> usize {
        let more = self.last_files.saturating_sub(self.first_files);
        let grown = more.times(build.youngest()).checked_div(build.revisions());
        self.first_files.plus(grown.unwrap_or(0))
    }

    fn new_text(build: &mut Build<'_, '_>, shape: &Shape) -> Vec<u8> {
        // Most files are small, some are long.
        let long = if build.rng.chance(3) { shape.lines.times(4) } else { 0 };
        let lines = build.rng.skewed(shape.lines).plus(10).plus(long);
        build.rng.lines(lines)
    }

    /// Adds a file to the main line, and the folder that it needs.
    fn add(&mut self, build: &mut Build<'_, '_>, txn: &mut Txn) -> SvnResult<()> {
        let needed = self.files.len().checked_div(self.shape.files_in_folder).unwrap_or(0);
        if self.folders.len() <= needed {
            self.serial = self.serial.plus(1);
            let shallow =
                |f: &&String| f.is_empty() || f.matches('/').count().plus(2) < self.shape.levels;
            // Ten tries find a folder that is not too deep; else it is the top.
            let parent = (0..10)
                .filter_map(|_| build.rng.choose(&self.folders))
                .find(shallow)
                .cloned()
                .unwrap_or_default();
            let folder = join(&parent, &format!("dir{}", self.serial));
            txn.make_dir(FsPath::new(&self.on_main(&folder))?)?;
            self.folders.push(folder);
        }
        let path = self.new_path(build);
        let text = Self::new_text(build, self.shape);
        add_file(txn, &self.on_main(&path), &text)?;
        self.files.push(path);
        Ok(())
    }

    /// A name for a new file in a folder that there is.
    fn new_path(&mut self, build: &mut Build<'_, '_>) -> String {
        self.serial = self.serial.plus(1);
        let kinds = ["c", "h", "rb", "txt", "html", "mk"];
        let kind = build.rng.choose(&kinds).copied().unwrap_or("c");
        let folder = build.rng.choose(&self.folders).cloned().unwrap_or_default();
        join(&folder, &format!("file{:05}.{kind}", self.serial))
    }

    /// Many files at once: new ones as long as there are too few, else changed ones.
    fn import(&mut self, build: &mut Build<'_, '_>, most: usize, message: &str) -> SvnResult<()> {
        let mut txn = build.begin()?;
        let wanted = self.wanted(build).max(self.first_files);
        let missing = wanted.saturating_sub(self.files.len()).min(most);
        for _ in 0..missing {
            self.add(build, &mut txn)?;
        }
        if missing == 0 {
            for _ in 0..build.rng.between(1, most.min(self.files.len())) {
                self.change(build, &mut txn, self.shape.main)?;
            }
        }
        build.commit(txn, "dev0", message)
    }

    /// Changes a random file of a line of development, if it is there.
    fn change(&self, build: &mut Build<'_, '_>, txn: &mut Txn, line: &str) -> SvnResult<()> {
        let at = build.rng.skewed(self.files.len());
        let Some(file) = self.files.get(at) else { return Ok(()) };
        let path = format!("/{line}/{file}");
        // A file may be chosen twice in a revision; the second change replaces the first.
        if txn.kind(FsPath::new(&path)?)?.is_some()
            && let Some(old) = build.text(&path)?
        {
            let new = build.rng.change_lines(&old);
            txn.set_text(FsPath::new(&path)?, &mut new.as_slice(), None)?;
        }
        Ok(())
    }

    /// A few changes on the main line or on a branch.
    fn work(&mut self, build: &mut Build<'_, '_>, on_branch: bool) -> SvnResult<()> {
        let mut txn = build.begin()?;
        let branch = build.rng.choose(&self.branches).map(|(b, _)| b.clone());
        let line = match branch.filter(|_| on_branch) {
            Some(branch) => branch,
            None => {
                self.write_log(build, &mut txn)?;
                self.shape.main.to_owned()
            }
        };
        for _ in 0..build.rng.between(1, self.shape.changes) {
            match build.rng.below(100) {
                0..25 if !on_branch && self.files.len() < self.wanted(build) => {
                    self.add(build, &mut txn)?;
                }
                25..27 if !on_branch => self.delete(build, &mut txn)?,
                27..31 => self.change_prop(build, &mut txn, &line)?,
                _ => self.change(build, &mut txn, &line)?,
            }
        }
        build.commit_some(txn, self.shape.authors)
    }

    /// Puts a line into the change log, near its beginning, and cuts it when it is too long.
    fn write_log(&self, build: &mut Build<'_, '_>, txn: &mut Txn) -> SvnResult<()> {
        if !build.rng.chance(self.shape.log_percent) {
            return Ok(());
        }
        let path = self.on_main(self.shape.log_file);
        let text = build.text(&path)?;
        let mut text = text.ok_or_else(|| SvnError::internal("the change log is gone"))?;
        let near = build.rng.below(400).min(text.len());
        let before = text.head(near);
        let at = before.iter().rposition(|b| *b == b'\n').map_or(0, |n| n.plus(1));
        let line = build.rng.line();
        text.splice(at..at, line.bytes());
        if text.len() > self.shape.log_bytes {
            text.truncate(self.shape.log_bytes.checked_div(2).unwrap_or(0));
            text.push(b'\n');
        }
        Ok(txn.set_text(FsPath::new(&path)?, &mut text.as_slice(), None)?)
    }

    fn delete(&mut self, build: &mut Build<'_, '_>, txn: &mut Txn) -> SvnResult<()> {
        if self.files.len() < self.first_files {
            return Ok(());
        }
        let at = build.rng.skewed(self.files.len());
        let path = self.files.swap_remove(at);
        Ok(txn.delete(FsPath::new(&self.on_main(&path))?)?)
    }

    fn change_prop(&self, build: &mut Build<'_, '_>, txn: &mut Txn, line: &str) -> SvnResult<()> {
        let at = build.rng.skewed(self.files.len());
        let Some(file) = self.files.get(at) else { return Ok(()) };
        let path = format!("/{line}/{file}");
        let path = FsPath::new(&path)?;
        if txn.kind(path)?.is_none() {
            return Ok(());
        }
        let values = ["Id", "Id Author", "Id Author Date", "Id Revision"];
        let value = build.rng.choose(&values).copied().unwrap_or("Id");
        Ok(txn.change_prop(path, prop_names::KEYWORDS, Some(value.as_bytes()))?)
    }

    fn branch(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        self.serial = self.serial.plus(1);
        let path = format!("{}/b{}", self.shape.branches, self.serial);
        let mut txn = build.begin()?;
        build.copy(&mut txn, &format!("/{}", self.shape.main), &format!("/{path}"))?;
        self.branches.push((path.clone(), build.youngest()));
        build.commit(txn, "dev1", &format!("Branch {path}."))
    }

    fn delete_branch(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        let at = build.rng.below(self.branches.len());
        let (path, _) = self.branches.swap_remove(at);
        let mut txn = build.begin()?;
        txn.delete(FsPath::new(&format!("/{path}"))?)?;
        build.commit(txn, "dev1", &format!("Remove {path}."))
    }

    /// A merge to a branch, or of a branch to the main line: texts of a few files, and mergeinfo.
    fn merge(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        let at = build.rng.below(self.branches.len());
        let main = self.shape.main.to_owned();
        let youngest = build.youngest();
        let to_branch = build.rng.chance(80);
        let Some((branch, since)) = self.branches.get_mut(at) else { return Ok(()) };
        let first = since.plus(1).min(youngest);
        let (from, to, info) = if to_branch {
            *since = youngest;
            let info = mergeinfo(&[(main.clone(), first, youngest)]);
            (main, branch.clone(), info)
        } else {
            let branch = branch.clone();
            self.merged.retain(|(b, ..)| *b != branch);
            self.merged.push((branch.clone(), first, youngest));
            (branch, main, mergeinfo(&self.merged))
        };
        let mut txn = build.begin()?;
        for _ in 0..build.rng.between(1, 4) {
            let file = build.rng.skewed(self.files.len());
            let Some(file) = self.files.get(file) else { continue };
            let (source, target) = (format!("/{from}/{file}"), format!("/{to}/{file}"));
            if let (Some(new), Some(old)) = (build.text(&source)?, build.text(&target)?)
                && new != old
            {
                txn.set_text(FsPath::new(&target)?, &mut new.as_slice(), None)?;
            }
        }
        txn.change_prop(
            FsPath::new(&format!("/{to}"))?,
            prop_names::MERGEINFO,
            Some(info.as_bytes()),
        )?;
        build.commit_some(txn, self.shape.authors)
    }

    fn tag(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        self.serial = self.serial.plus(1);
        let branch = build.rng.choose(&self.branches).map(|(b, _)| b.clone());
        let from = branch.unwrap_or_else(|| self.shape.main.to_owned());
        let mut txn = build.begin()?;
        let to = format!("/{}/t{}", self.shape.tags, self.serial);
        build.copy(&mut txn, &format!("/{from}"), &to)?;
        build.commit(txn, "dev1", &format!("Tag {from}."))
    }

    fn rename(&mut self, build: &mut Build<'_, '_>) -> SvnResult<()> {
        let at = build.rng.skewed(self.files.len());
        let old = self.files.swap_remove(at);
        let new = self.new_path(build);
        let mut txn = build.begin()?;
        build.copy(&mut txn, &self.on_main(&old), &self.on_main(&new))?;
        txn.delete(FsPath::new(&self.on_main(&old))?)?;
        self.files.push(new);
        build.commit_some(txn, self.shape.authors)
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
