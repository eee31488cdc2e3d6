//! Dump streams written here, and the repositories that are loaded from them, once.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_core::Md5;
use sapwood_testkit::{Output, Programs, library};

/// A dump stream that is being written. Revision 0 is in it.
pub(crate) struct Stream {
    text: String,
    revision: u64,
}

impl Stream {
    pub(crate) fn new() -> Self {
        let text = "SVN-fs-dump-format-version: 2\n\n\
                    Revision-number: 0\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
        Self { text: text.to_owned(), revision: 0 }
    }

    /// The last revision that was begun.
    pub(crate) const fn head(&self) -> u64 {
        self.revision
    }

    fn props<'p>(props: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
        let mut out = String::new();
        for (name, value) in props {
            let (n, v) = (name.len(), value.len());
            write!(out, "K {n}\n{name}\nV {v}\n{value}\n").unwrap();
        }
        out + "PROPS-END\n"
    }

    /// Begins the next revision.
    pub(crate) fn revision<'p>(&mut self, more: impl IntoIterator<Item = (&'p str, &'p str)>) {
        self.revision += 1;
        let date = [("svn:date", "2024-01-01T00:00:00.000000Z"), ("svn:log", "made")];
        let props = Self::props(date.into_iter().chain(more));
        let (number, len) = (self.revision, props.len());
        write!(
            self.text,
            "Revision-number: {number}\nProp-content-length: {len}\nContent-length: {len}\n\n\
             {props}\n"
        )
        .unwrap();
    }

    /// A node of the present revision: `head` is what stands between kind and lengths.
    fn node(&mut self, path: &str, head: &str, props: Option<String>, text: Option<&str>) {
        write!(self.text, "Node-path: {path}\n{head}").unwrap();
        let mut total = 0;
        if let Some(props) = &props {
            writeln!(self.text, "Prop-content-length: {}", props.len()).unwrap();
            total += props.len();
        }
        if let Some(text) = text {
            writeln!(self.text, "Text-content-length: {}", text.len()).unwrap();
            total += text.len();
        }
        if props.is_some() || text.is_some() {
            writeln!(self.text, "Content-length: {total}").unwrap();
        }
        let (props, text) = (props.unwrap_or_default(), text.unwrap_or_default());
        write!(self.text, "\n{props}{text}\n\n").unwrap();
    }

    pub(crate) fn add_dir(&mut self, path: &str) {
        self.node(path, "Node-kind: dir\nNode-action: add\n", None, None);
    }

    pub(crate) fn add_file(&mut self, path: &str, text: &str) {
        self.node(path, "Node-kind: file\nNode-action: add\n", None, Some(text));
    }

    pub(crate) fn change_file(&mut self, path: &str, text: &str) {
        self.node(path, "Node-kind: file\nNode-action: change\n", None, Some(text));
    }

    pub(crate) fn delete(&mut self, path: &str) {
        self.node(path, "Node-action: delete\n", None, None);
    }

    pub(crate) fn copy_dir(&mut self, from: &str, revision: u64, to: &str) {
        let head = format!(
            "Node-kind: dir\nNode-action: add\nNode-copyfrom-rev: {revision}\n\
             Node-copyfrom-path: {from}\n"
        );
        self.node(to, &head, None, None);
    }

    /// All properties of a node that is there.
    pub(crate) fn set_props<'p>(
        &mut self,
        path: &str,
        kind: &str,
        props: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) {
        let head = format!("Node-kind: {kind}\nNode-action: change\n");
        self.node(path, &head, Some(Self::props(props)), None);
    }

    /// The repository `repo` in a folder. Equal streams share one: it is only read.
    pub(crate) fn load(self) -> Made {
        self.load_as("1.14", None)
    }

    /// As [`Self::load`], in the format of a Subversion version and with shards of a size.
    pub(crate) fn load_as(self, version: &str, shards: Option<u64>) -> Made {
        let stamp = format!("{version} {shards:?} {}", self.text);
        let name = format!("growth-{}", Md5::of(stamp.as_bytes()).to_hex());
        let folder = library::shared(&name, |folder| {
            let repo = folder.join("repo");
            let reference = Programs::reference();
            let mut create = reference.command("svnadmin");
            create.args(["create", "--compatible-version", version]).arg(&repo);
            Output::of(&mut create).expect_success("create");
            if let Some(shards) = shards {
                let file = repo.join("db/format");
                let format = std::fs::read_to_string(&file).unwrap();
                let made = format.replace("sharded 1000", &format!("sharded {shards}"));
                assert_ne!(format, made, "shards of another size");
                std::fs::remove_file(&file).unwrap();
                std::fs::write(&file, made).unwrap();
            }
            let conf = "[general]\nanon-access = write\n";
            std::fs::write(repo.join("conf/svnserve.conf"), conf).unwrap();
            std::fs::write(folder.join("stream"), &self.text).unwrap();
            let mut load = reference.command("svnadmin");
            let stream = std::fs::File::open(folder.join("stream")).unwrap();
            load.args(["load", "-q", "--no-flush-to-disk"]).arg(&repo).stdin(Stdio::from(stream));
            Output::of(&mut load).expect_success("load");
        });
        Made { stream: folder.join("stream"), folder, head: self.revision, _own: None }
    }
}

/// A repository that was made.
pub(crate) struct Made {
    folder: PathBuf,
    stream: PathBuf,
    head: u64,
    /// Removed when dropped.
    _own: Option<tempfile::TempDir>,
}

impl Made {
    /// The folder that holds `repo`.
    pub(crate) fn root(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("repo")
    }

    /// The dump stream from which it was loaded.
    pub(crate) fn stream(&self) -> Vec<u8> {
        std::fs::read(&self.stream).unwrap()
    }

    /// The youngest revision.
    pub(crate) const fn head(&self) -> u64 {
        self.head
    }

    /// A copy that may be changed.
    pub(crate) fn copy(&self) -> Self {
        let own = tempfile::tempdir().unwrap();
        let done = Command::new("cp").arg("-a").arg(self.path()).arg(own.path()).status();
        assert!(done.unwrap().success(), "cp");
        let stream = self.stream.clone();
        Self { folder: own.path().to_owned(), stream, head: self.head, _own: Some(own) }
    }
}

/// A string of the protocol, and the space after it.
pub(crate) fn text(text: &str) -> String {
    format!("{}:{text} ", text.len())
}
