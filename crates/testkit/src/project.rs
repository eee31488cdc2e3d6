//! A long history in the shape of a real project, for measurements: thousands of files, three to
//! five changes a revision, a change log that every tenth revision touches, branches that live and
//! die, merges that record mergeinfo.
//!
//! Invariant: a history depends on its seed only, and is written while it is made: old revisions
//! are not kept.

use crate::history::History;
use crate::rng::Rng;
use std::io::{self, Write};

/// How the project grows.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Revisions in all.
    pub revisions: usize,
    /// Files on trunk after the import.
    pub first_files: usize,
    /// Files on trunk at the end, more or less.
    pub last_files: usize,
}

impl Plan {
    /// The plan for so many revisions, with 2,000 files growing to 12,000 for 50,000 revisions.
    #[must_use]
    pub fn of(seed: u64, revisions: usize) -> Self {
        let last_files = (revisions * 12 / 50).clamp(200, 12_000);
        Self { seed, revisions, first_files: (last_files / 6).clamp(100, 2_000), last_files }
    }
}

struct Project {
    rng: Rng,
    /// Paths of trunk's files, without `trunk/`.
    files: Vec<String>,
    /// Paths of trunk's folders, without `trunk/`.
    dirs: Vec<String>,
    /// Living branches, with the revision that they were merged up to.
    branches: Vec<(String, usize)>,
    /// Mergeinfo of trunk, one range list a branch.
    merged: Vec<(String, usize, usize)>,
    serial: usize,
}

/// Writes the dump stream of a project.
///
/// # Errors
/// When `out` fails.
pub fn write(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    let mut h = History::new(format!("project-{}-{}", plan.seed, plan.revisions));
    out.write_all(&h.dump_head())?;
    let mut p = Project {
        rng: Rng::new(plan.seed),
        files: Vec::new(),
        dirs: Vec::new(),
        branches: Vec::new(),
        merged: Vec::new(),
        serial: 0,
    };
    p.import(&mut h, plan);
    while h.youngest() < plan.revisions {
        let grow = (plan.last_files - plan.first_files).max(1);
        let wanted = plan.first_files + grow * h.youngest() / plan.revisions;
        match p.rng.below(1_000) {
            0..2 if h.youngest() > 20 => p.branch(&mut h),
            2..4 if p.branches.len() > 3 => p.delete_branch(&mut h),
            4..16 if !p.branches.is_empty() => p.merge(&mut h),
            16..18 => p.tag(&mut h),
            18..200 if !p.branches.is_empty() => p.work(&mut h, true, wanted),
            200..204 => p.rename(&mut h),
            _ => p.work(&mut h, false, wanted),
        }
        out.write_all(&h.forget(8))?;
    }
    out.write_all(&h.forget(1))?;
    out.write_all(&h.revision(h.youngest()).dump)
}

impl Project {
    fn text(&mut self) -> Vec<u8> {
        // Most files are small, some are long.
        let lines = 10 + self.rng.skewed(400) + if self.rng.chance(3) { 2_000 } else { 0 };
        self.rng.lines(lines)
    }

    fn author(&mut self) -> String {
        format!("dev{}", self.rng.skewed(60))
    }

    fn message(&mut self) -> String {
        let lines = 1 + self.rng.skewed(8);
        String::from_utf8_lossy(&self.rng.lines(lines)).into_owned()
    }

    fn import(&mut self, h: &mut History, plan: &Plan) {
        let mut t = h.begin("dev0", "layout");
        t.mkdir("trunk").mkdir("branches").mkdir("tags").add("trunk/CHANGES", "Changes\n");
        t.add("trunk/README", self.rng.lines(80));
        t.commit();
        let mut t = h.begin("dev0", "import");
        for top in 0..8 {
            let dir = format!("mod{top}");
            t.mkdir(&format!("trunk/{dir}"));
            for sub in 0..8 {
                let dir = format!("{dir}/part{sub}");
                t.mkdir(&format!("trunk/{dir}"));
                self.dirs.push(dir);
            }
            self.dirs.push(dir);
        }
        for _ in 0..plan.first_files {
            let path = self.new_path();
            t.add(&format!("trunk/{path}"), self.text());
        }
        t.commit();
    }

    fn new_path(&mut self) -> String {
        self.serial += 1;
        let extension = *self.rng.pick(&["c", "h", "py", "txt", "html"]);
        let path = format!("{}/file{:05}.{extension}", self.rng.pick(&self.dirs), self.serial);
        self.files.push(path.clone());
        path
    }

    /// Three to five changes on trunk or on a branch.
    fn work(&mut self, h: &mut History, on_branch: bool, wanted: usize) {
        let (author, message) = (self.author(), self.message());
        let mut t = h.begin(&author, &message);
        let base = match on_branch {
            true => self.rng.pick(&self.branches).0.clone(),
            false => "trunk".to_owned(),
        };
        if !on_branch && self.rng.chance(10) {
            let rng = &mut self.rng;
            t.edit_with("trunk/CHANGES", |old| {
                let at = "Changes\n".len() + rng.below(400).min(old.len() - "Changes\n".len());
                let at = old[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
                [&old[..at], rng.line().as_bytes(), &old[at..]].concat()
            });
        }
        for _ in 0..3 + self.rng.below(3) {
            let n = self.rng.skewed(self.files.len());
            let path = format!("{base}/{}", self.files[n]);
            let there = t.root().get(&path).is_some();
            match self.rng.below(100) {
                0..30 if !on_branch && self.files.len() < wanted => {
                    let path = format!("trunk/{}", self.new_path());
                    t.add(&path, self.text());
                }
                30..33 if !on_branch && there => {
                    t.delete(&path);
                    self.files.swap_remove(n);
                }
                33..38 if there => {
                    let value = self.rng.lines(1);
                    let name = *self.rng.pick(&["svn:keywords", "note"]);
                    t.propset(&path, name, Some(&value));
                }
                38..39 if !on_branch => {
                    self.serial += 1;
                    let dir = format!("{}/dir{}", self.rng.pick(&self.dirs), self.serial);
                    if dir.matches('/').count() < 6 {
                        t.mkdir(&format!("trunk/{dir}"));
                        self.dirs.push(dir);
                    }
                }
                _ if there => {
                    t.edit_with(&path, |old| self.rng.change_lines(old));
                }
                _ => {}
            }
        }
        t.commit();
    }

    fn branch(&mut self, h: &mut History) {
        self.serial += 1;
        let path = format!("branches/b{}", self.serial);
        let source = h.youngest();
        let from = match self.branches.is_empty() || self.rng.chance(80) {
            true => "trunk".to_owned(),
            false => self.rng.pick(&self.branches).0.clone(),
        };
        let mut t = h.begin(&self.author(), &format!("Branch {from}."));
        t.copy(&from, source, &path);
        t.commit();
        self.branches.push((path, source));
    }

    fn delete_branch(&mut self, h: &mut History) {
        let n = self.rng.below(self.branches.len());
        let (path, _) = self.branches.swap_remove(n);
        let mut t = h.begin(&self.author(), &format!("Remove {path}."));
        t.delete(&path);
        t.commit();
    }

    /// A sync merge to a branch, or a reintegration to trunk: texts of a few files, and mergeinfo.
    fn merge(&mut self, h: &mut History) {
        let n = self.rng.below(self.branches.len());
        let (branch, since) = self.branches[n].clone();
        let (from, to) = match self.rng.chance(70) {
            true => ("trunk".to_owned(), branch.clone()),
            false => (branch.clone(), "trunk".to_owned()),
        };
        let youngest = h.youngest();
        let mut t = h.begin(&self.author(), &format!("Merge {from} to {to}."));
        for _ in 0..4 {
            let file = self.rng.skewed(self.files.len());
            let file = self.files[file].clone();
            let source = t.root().get(&format!("{from}/{file}")).and_then(|n| n.text()).cloned();
            let target = format!("{to}/{file}");
            let old = t.root().get(&target).and_then(|n| n.text()).cloned();
            if let (Some(source), Some(old)) = (source, old)
                && source != old
            {
                t.edit(&target, source.to_vec());
            }
        }
        let range = (since + 1, youngest);
        if from == "trunk" {
            self.branches[n].1 = youngest;
            let value = format!("/trunk:{}", revisions(range.0, range.1));
            t.propset(&branch, "svn:mergeinfo", Some(value.as_bytes()));
        } else {
            self.merged.retain(|(b, ..)| *b != branch);
            self.merged.push((branch, range.0, range.1));
            self.merged.sort();
            let lines =
                self.merged.iter().map(|(b, from, to)| format!("/{b}:{}", revisions(*from, *to)));
            let value = lines.collect::<Vec<_>>().join("\n");
            t.propset("trunk", "svn:mergeinfo", Some(value.as_bytes()));
        }
        t.commit();
    }

    fn tag(&mut self, h: &mut History) {
        self.serial += 1;
        let source = h.youngest();
        let mut t = h.begin(&self.author(), "Tag.");
        t.copy("trunk", source, &format!("tags/t{}", self.serial));
        t.commit();
    }

    fn rename(&mut self, h: &mut History) {
        let n = self.rng.below(self.files.len());
        let old = self.files.swap_remove(n);
        let new = self.new_path();
        let mut t = h.begin(&self.author(), "Rename.");
        t.rename(&format!("trunk/{old}"), &format!("trunk/{new}"));
        t.commit();
    }
}

/// A range in mergeinfo.
fn revisions(first: usize, last: usize) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_dump_stream() {
        let write = |seed| {
            let mut out = Vec::new();
            super::write(&Plan::of(seed, 1_500), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let dump = write(3);
        assert_eq!(dump, write(3));
        let revisions = dump.lines().filter(|l| l.starts_with("Revision-number: ")).count();
        assert_eq!(revisions, 1_501);
        for wanted in ["Node-copyfrom-path: trunk\n", "svn:mergeinfo", "Node-action: delete"] {
            assert!(dump.contains(wanted), "no {wanted}");
        }
    }
}
