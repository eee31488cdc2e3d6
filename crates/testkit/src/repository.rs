//! Repositories made by the reference's `svnadmin`, in every format and layout.
//!
//! Serves FSFS formats 1 to 8, linear and sharded, packed and not, upgraded ones too. Invariant:
//! what is on disk was written by the reference; we only choose the layout, in `db/format` and
//! `fsfs.conf`, before the first commit.

use crate::compare::Output;
use crate::history::History;
use crate::library;
use crate::programs::Programs;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// How many revisions go to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// What the reference's `svnadmin create` chooses.
    Default,
    /// All in one folder, as before Subversion 1.5. Formats 1 to 6 only.
    Linear,
    /// So many revisions a shard. Formats 3 to 8 only.
    Sharded(u32),
}

/// Which shards are packed. Formats 4 to 8 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// None.
    None,
    /// Those that were full after half of the history.
    Half,
    /// All full ones.
    All,
}

/// What a repository looks like on disk.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The version given to `svnadmin create --compatible-version`.
    pub version: &'static str,
    /// If set, the repository is made with `version`, gets half of the history, is upgraded to
    /// what `svnadmin upgrade` makes of it, and gets the rest.
    pub upgraded: bool,
    /// Its layout.
    pub layout: Layout,
    /// Its packing.
    pub packing: Packing,
    /// The text of `fsfs.conf`; empty for the default one.
    pub config: &'static str,
}

/// Options under which the reference deltifies all that it can, and packs revision properties
/// tightly and compressed.
pub const DELTIFY_ALL: &str = "[deltification]\nenable-dir-deltification = true\n\
    enable-props-deltification = true\n[packed-revprops]\nrevprop-pack-size = 1\n\
    compress-packed-revprops = true\n[debug]\n";

/// Options under which nothing is shared, deltified or compressed.
pub const PLAIN: &str = "[rep-sharing]\nenable-rep-sharing = false\n[deltification]\n\
    enable-dir-deltification = false\nenable-props-deltification = false\n\
    max-deltification-walk = 0\ncompression = none\n\
    [packed-revprops]\nrevprop-pack-size = 64\ncompress-packed-revprops = false\n";

/// Options that choose zlib where LZ4 is the default, with small windows of blocks.
pub const ZLIB: &str = "[deltification]\ncompression = zlib-9\nmax-linear-deltification = 4\n\
    [io]\nblock-size = 4\nl2p-page-size = 16\np2l-page-size = 4\n";

impl Shape {
    /// A repository as the reference's `svnadmin create --compatible-version` makes it.
    #[must_use]
    pub const fn new(version: &'static str) -> Self {
        Self {
            version,
            upgraded: false,
            layout: Layout::Default,
            packing: Packing::None,
            config: "",
        }
    }

    /// With so many revisions a shard.
    #[must_use]
    pub const fn shard(self, size: u32) -> Self {
        Self { layout: Layout::Sharded(size), ..self }
    }

    /// With all revisions in one folder.
    #[must_use]
    pub const fn linear(self) -> Self {
        Self { layout: Layout::Linear, ..self }
    }

    /// Packed.
    #[must_use]
    pub const fn pack(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    /// With another `fsfs.conf`.
    #[must_use]
    pub const fn config(self, text: &'static str) -> Self {
        Self { config: text, ..self }
    }

    /// Upgraded half-way to the newest format.
    #[must_use]
    pub const fn upgraded(self) -> Self {
        Self { upgraded: true, ..self }
    }

    /// A few shapes that between them have most of what there is: for tests of each commit.
    #[must_use]
    pub fn few() -> Vec<Self> {
        vec![
            Self::new("1.1"),
            Self::new("1.4").linear().upgraded(),
            Self::new("1.5").shard(7),
            Self::new("1.6").shard(7).pack(Packing::All),
            Self::new("1.8").shard(7).pack(Packing::Half).config(DELTIFY_ALL),
            Self::new("1.8").shard(3).upgraded().pack(Packing::Half),
            Self::new("1.9").shard(7).pack(Packing::Half).config(ZLIB),
            Self::new("1.10").config(PLAIN),
            Self::new("1.10").shard(7).pack(Packing::All),
        ]
    }

    /// All formats, with shard sizes 1, 7 and 1000, packed and not, and some more: for the long
    /// runs.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Self::few();
        all.push(Self::new("1.4"));
        for version in ["1.5", "1.6", "1.8"] {
            all.push(Self::new(version).linear());
        }
        for version in ["1.1", "1.4", "1.6", "1.8"] {
            all.push(Self::new(version).upgraded());
        }
        for version in ["1.5", "1.6", "1.8", "1.9", "1.10"] {
            for size in [1, 7, 1000] {
                all.push(Self::new(version).shard(size));
                if version != "1.5" && size < 1000 {
                    all.push(Self::new(version).shard(size).pack(Packing::All));
                    all.push(
                        Self::new(version).shard(size).pack(Packing::Half).config(DELTIFY_ALL),
                    );
                }
            }
        }
        let mut names = std::collections::BTreeSet::new();
        all.retain(|shape| names.insert(shape.name()));
        all
    }

    /// A name that tells it apart, fit for a file name.
    #[must_use]
    pub fn name(&self) -> String {
        let layout = match self.layout {
            Layout::Default => String::new(),
            Layout::Linear => "-linear".to_owned(),
            Layout::Sharded(size) => format!("-s{size}"),
        };
        let packing = match self.packing {
            Packing::None => "",
            Packing::Half => "-half",
            Packing::All => "-packed",
        };
        let upgraded = if self.upgraded { "-up" } else { "" };
        let config = match self.config {
            "" => String::new(),
            DELTIFY_ALL => "-deltify".to_owned(),
            PLAIN => "-plain".to_owned(),
            ZLIB => "-zlib".to_owned(),
            other => format!("-{}", &sapwood_core::Md5::of(other.as_bytes()).to_hex()[..6]),
        };
        format!("v{}{upgraded}{layout}{packing}{config}", self.version)
    }
}

/// A repository of its own for one test, removed at the end.
#[derive(Debug)]
pub struct Repository {
    parent: TempDir,
    /// What it was made from.
    pub history: History,
    /// What it looks like on disk.
    pub shape: Shape,
}

impl Repository {
    /// The repository for a history in a shape. Made once, and copied for each test.
    #[must_use]
    pub fn new(shape: &Shape, history: History) -> Self {
        let reference = Programs::reference();
        let version = reference.run("svnadmin", ["--version", "--quiet"]).stdout_text();
        let mut all = history.dump(0..=history.youngest());
        all.extend_from_slice(format!("1{shape:?}{version}").as_bytes());
        let key = sapwood_core::Md5::of(&all).to_hex();
        let name = format!("{}-{}-{}", history.name, shape.name(), &key[..12]);
        let shared = library::shared(&name, |dir| make(shape, &history, &dir.join("repo")));
        let parent = tempfile::Builder::new().prefix("sapwood-").tempdir().expect("a folder");
        library::copy_tree(&shared, parent.path());
        Self { parent, history, shape: shape.clone() }
    }

    /// The scripted history in a shape.
    #[must_use]
    pub fn scripted(shape: &Shape) -> Self {
        Self::new(shape, crate::scripted::everything())
    }

    /// A random history in a shape.
    #[must_use]
    pub fn random(shape: &Shape, seed: u64, revisions: usize) -> Self {
        Self::new(shape, crate::random::history(seed, revisions))
    }

    /// Its folder. Its name is `repo`, and nothing else is in the folder that it is in.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.parent.path().join("repo")
    }

    /// The folder that it is in: what a server is given as its root.
    #[must_use]
    pub fn parent(&self) -> &Path {
        self.parent.path()
    }

    /// Its path as an argument.
    #[must_use]
    pub fn arg(&self) -> String {
        self.path().to_str().expect("a UTF-8 path").to_owned()
    }

    /// Its `file://` URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("file://{}", self.arg())
    }

    /// History and shape, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} as {}", self.history.name, self.shape.name())
    }
}

/// Makes an empty repository in a shape.
pub fn create(shape: &Shape, path: &Path) {
    let reference = Programs::reference();
    let args = ["create", "--fs-type", "fsfs", "--compatible-version", shape.version];
    Output::of(reference.command("svnadmin").args(args).arg(path)).expect_success("create");
    let db = path.join("db");
    let format = fs::read_to_string(db.join("format")).expect("db/format");
    let is_layout = |line: &&str| line.starts_with("layout");
    let mut lines: Vec<&str> = format.lines().collect();
    let sharded = lines.iter().any(|l| l.starts_with("layout sharded"));
    let layout = match shape.layout {
        Layout::Default => None,
        Layout::Linear => {
            lines.retain(|l| !is_layout(l));
            if sharded {
                for kind in ["revs", "revprops"] {
                    let dir = db.join(kind);
                    fs::rename(dir.join("0"), dir.join("shard")).expect("shard 0");
                    fs::rename(dir.join("shard/0"), dir.join("0")).expect("revision 0");
                    fs::remove_dir(dir.join("shard")).expect("an empty shard");
                }
            }
            Some(lines)
        }
        Layout::Sharded(_) if !sharded => panic!("{}: this format has no shards", shape.version),
        Layout::Sharded(_) => Some(lines),
    };
    if let Some(lines) = layout {
        let mut text = String::new();
        for line in lines {
            match shape.layout {
                Layout::Sharded(size) if is_layout(&line) => {
                    text.push_str(&format!("layout sharded {size}"));
                }
                _ => text.push_str(line),
            }
            text.push('\n');
        }
        replace(&db.join("format"), &text);
    }
    if !shape.config.is_empty() {
        replace(&db.join("fsfs.conf"), shape.config);
    }
}

/// Makes a repository in a shape, with a history.
pub fn make(shape: &Shape, history: &History, path: &Path) {
    create(shape, path);
    let (youngest, half) = (history.youngest(), history.youngest() / 2);
    load(path, &history.dump(0..=half));
    if shape.upgraded {
        svnadmin("upgrade", path);
    }
    if shape.packing == Packing::Half {
        svnadmin("pack", path);
    }
    if half < youngest {
        load(path, &history.dump(half + 1..=youngest));
    }
    if shape.packing == Packing::All {
        svnadmin("pack", path);
    }
}

/// Loads a dump stream with the reference.
pub fn load(path: &Path, dump: &[u8]) {
    let mut child = Programs::reference()
        .command("svnadmin")
        .args(["load", "--quiet", "--force-uuid", "--bypass-prop-validation"])
        .arg("--no-flush-to-disk")
        .arg(path)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("svnadmin load");
    // A broken pipe here means that load gave up: what it printed says why.
    let _ = child.stdin.take().expect("a pipe").write_all(dump);
    let out = child.wait_with_output().expect("svnadmin load");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "svnadmin load {}: {said}", path.display());
}

fn svnadmin(command: &str, path: &Path) {
    let reference = Programs::reference();
    let mut run = reference.command("svnadmin");
    Output::of(run.arg(command).arg(path)).expect_success(command);
}

/// Writes over a file that may be read-only.
fn replace(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
