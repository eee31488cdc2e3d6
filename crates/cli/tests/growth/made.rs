//! Repositories of a size: dump streams written here and loaded by our own `svnadmin`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sapwood_testkit::{Output, Programs};

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

    /// Makes the repository `repo` below a new folder.
    pub(crate) fn load(self) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        let ours = Programs::ours();
        ours.run("svnadmin", ["create", repo.to_str().unwrap()]).expect_success("create");
        let conf = "[general]\nanon-access = write\n";
        std::fs::write(repo.join("conf/svnserve.conf"), conf).unwrap();
        let stream = folder.path().join("stream");
        std::fs::write(&stream, &self.text).unwrap();
        let mut load = ours.command("svnadmin");
        load.args(["load", "-q"])
            .arg(&repo)
            .stdin(Stdio::from(std::fs::File::open(&stream).unwrap()));
        Output::of(&mut load).expect_success("load");
        Made { folder }
    }
}

/// A repository that was made; removed when dropped.
pub(crate) struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("repo")
    }
}
