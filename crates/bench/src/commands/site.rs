//! What the rows work on: a repository of many files with some history, large files, and for each system and wire copies
//! of the repository with a server and working copies.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_core::{Exact as _, SvnError, SvnResult};

use super::Plan;
use super::rows::Wire;
use crate::axes::{Caches, System};
use crate::programs::{Programs, measure};
use crate::server::{Server, server_options};

/// How many revisions change the files; each changes one file in twenty.
const REVISIONS: usize = 5;
/// What `svnmucc` makes in one commit.
const MANY: usize = 2000;

/// One system, its repositories reached in one way.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) system: System,
    /// The folder of its programs.
    programs: PathBuf,
    pub(super) folder: PathBuf,
    /// The folder that all sites read from.
    pub(super) common: PathBuf,
    urls: [String; 2],
    /// The server, which ends with this value.
    _server: Option<Server>,
}

impl Site {
    /// A line of shell, to be run below this site's folder.
    pub(super) fn shell(&self, line: &str, folder: &str, number: u32) -> Command {
        let mut command = Command::new("sh");
        command.arg("-ec").arg(line).current_dir(self.folder.join(folder));
        command
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs.display()))
            .env("HOME", &self.common)
            .env("SVN_EXPERIMENTAL_COMMANDS", "shelf2")
            .env("D", &self.common)
            .env("U", &self.urls[0])
            .env("B", &self.urls[1])
            .env("N", number.to_string());
        command
    }

    /// What is said only here: its folder, and the address of its server.
    pub(super) fn names(&self) -> Vec<String> {
        let address = self.urls[0].strip_suffix("/r").unwrap_or(&self.urls[0]).to_owned();
        vec![address, self.folder.display().to_string()]
    }

    /// Runs a line that is not measured.
    pub(super) fn ready(&self, line: &str, folder: &str, number: u32) -> SvnResult<()> {
        if line.is_empty() {
            return Ok(());
        }
        let mut command = self.shell(line, folder, number);
        measure(&mut command, &self.folder.join("complaints")).map(drop)
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> SvnError {
    SvnError::io(error, format_args!("Can't {what} '{}'", path.display()))
}

fn make_dir(path: &Path) -> SvnResult<()> {
    fs::create_dir_all(path).map_err(|e| cannot("create", path, &e))
}

/// Makes the files, and the repository that all others are copies of. Returns their folder.
pub(super) fn prepare(plan: &Plan) -> SvnResult<PathBuf> {
    make_dir(&plan.folder)?;
    let folder = fs::canonicalize(&plan.folder).map_err(|e| cannot("find", &plan.folder, &e))?;
    let common = folder.join("common");
    for old in ["common", "file", "svn", "http", "programs"] {
        match fs::remove_dir_all(folder.join(old)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(cannot("remove", &folder.join(old), &e));
            }
            _ => {}
        }
    }
    make_dir(&common)?;
    write_files(plan, &common).map_err(|e| cannot("write files in", &common, &e))?;
    let setup = plan.reference.as_ref().unwrap_or(&plan.sapwood);
    let programs = linked(setup, &folder)?;
    let site = Site {
        system: setup.system,
        programs,
        folder: common.clone(),
        common: common.clone(),
        urls: [format!("file://{}/base", common.display()), String::new()],
        _server: None,
    };
    let mut script = String::from(
        "svnadmin create base; sed -i 's/sharded 1000/sharded 4/' base/db/format\n\
         printf '#!/bin/sh\\n' > base/hooks/pre-revprop-change; chmod +x base/hooks/pre-revprop-change\n\
         svn import -q -m i src $U/trunk; svn cp -q -m tag $U/trunk $U/tag; svn co -q $U/trunk w\n",
    );
    for revision in 0..REVISIONS {
        script.push_str(&format!(
            "for d in w/d*; do for f in $(seq {revision} 20 {}); do \
             echo revision {revision} >> $d/f$f.txt; done; done\nsvn ci -q -m 'change {revision}' w\n",
            plan.files.minus(1)
        ));
    }
    script.push_str("rm -rf w; svnadmin create large\n");
    for name in ["base", "large"] {
        script.push_str(&format!(
            "printf '[general]\\nanon-access = write\\n' > {name}/conf/svnserve.conf\n"
        ));
    }
    site.ready(&script, ".", 0)?;
    Ok(common)
}

/// Writes the tree, the large files and the lists of targets.
fn write_files(plan: &Plan, common: &Path) -> std::io::Result<()> {
    let all = 0..plan.directories;
    for d in all.clone() {
        let dir = common.join(format!("src/d{d}"));
        fs::create_dir_all(&dir)?;
        for f in 0..plan.files {
            let text = format!("line {d} {f}\n").repeat(20);
            fs::write(dir.join(format!("f{f}.txt")), text)?;
        }
    }
    let list = |name: &str, dirs: std::ops::Range<usize>| {
        let mut out = BufWriter::new(File::create(common.join(name))?);
        for d in dirs {
            for f in 0..plan.files {
                writeln!(out, "d{d}/f{f}.txt")?;
            }
        }
        out.flush()
    };
    list("half", 0..all.end.div_ceil(2))?;
    list("two", 0..all.end.min(2))?;
    let many: String = (0..MANY).map(|n| format!("mkdir\nq{n}\n")).collect();
    fs::write(common.join("mk"), many)?;
    let length = plan.mebibytes << 20;
    let mut text = BufWriter::new(File::create(common.join("text.txt"))?);
    let (mut written, mut number) = (0_usize, 0_usize);
    while written < length {
        let line = format!(
            "line {number} of a long text with number {}\n",
            number.wrapping_mul(7919) % 1_000_003
        );
        text.write_all(line.as_bytes())?;
        (written, number) = (written.plus(line.len()), number.plus(1));
    }
    text.flush()?;
    let mut binary = BufWriter::new(File::create(common.join("bin.bin"))?);
    // Bytes that nothing compresses: xorshift.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..length / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        binary.write_all(&state.to_le_bytes())?;
    }
    binary.flush()
}

/// A folder with a system's programs by their names.
fn linked(programs: &Programs, folder: &Path) -> SvnResult<PathBuf> {
    let links = folder.join("programs").join(match programs.system {
        System::Sapwood => "sapwood",
        System::Reference => "reference",
    });
    if !links.exists() {
        make_dir(&links)?;
        for name in NAMES {
            if let Some(program) = programs.file(name) {
                let link = links.join(name);
                std::os::unix::fs::symlink(&program, &link)
                    .map_err(|e| cannot("create", &link, &e))?;
            }
        }
    }
    Ok(links)
}

/// The programs that rows run.
const NAMES: [&str; 9] = [
    "svn",
    "svnadmin",
    "svnlook",
    "svnmucc",
    "svnrdump",
    "svnsync",
    "svnversion",
    "svndumpfilter",
    "svnfsfs",
];

/// Makes the sites of a wire: ours first.
pub(super) fn sites(plan: &Plan, common: &Path, wire: Wire) -> SvnResult<Vec<Site>> {
    let both = std::iter::once(&plan.sapwood).chain(&plan.reference);
    both.map(|programs| make(programs, common, wire)).collect()
}

fn make(programs: &Programs, common: &Path, wire: Wire) -> SvnResult<Site> {
    let top = common.parent().unwrap_or(common);
    let links = linked(programs, top)?;
    let name = match programs.system {
        System::Sapwood => "sapwood",
        System::Reference => "reference",
    };
    let folder = top.join(wire.name()).join(name);
    make_dir(&folder)?;
    let mut site = Site {
        system: programs.system,
        programs: links,
        folder: folder.clone(),
        common: common.to_owned(),
        urls: [String::new(), String::new()],
        _server: None,
    };
    site.ready("cp -a $D/base r; cp -a $D/large big; chmod -R a+rwX r big", ".", 0)?;
    let server = match wire {
        Wire::File => None,
        Wire::Svn => Some(Server::start(programs, &folder, &server_options(Caches::Medium))?),
        Wire::Http => Some(Server::start_http(programs, &folder, (Caches::Medium, None))?),
    };
    site.urls = ["r", "big"].map(|repository| match &server {
        None => format!("file://{}/{repository}", folder.display()),
        Some(server) => server.url(repository),
    });
    site._server = server;
    site.ready("svn co -q $U/trunk w; svn co -q $B wb", ".", 0)?;
    if wire != Wire::File {
        // Rows over a wire begin with the large files.
        site.ready(
            "cp $D/text.txt $D/bin.bin .; svn add -q text.txt bin.bin; svn ci -q -m one",
            "wb",
            0,
        )?;
    }
    // Nothing was recorded less than a second ago.
    site.ready("sleep 1.1; svn status w", ".", 0)?;
    Ok(site)
}
