//! A repository with the working copy that is walked on, and a second one out of which others commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_testkit::{Output, Programs};

/// What is asked after each step. Texts and dates that the clock decides are left out by
/// [`Site::ask`].
pub(crate) const QUESTIONS: [&[&str]; 5] = [
    &["status", "wc"],
    &["status", "-v", "--no-ignore", "wc"],
    &["info", "-R", "wc"],
    &["proplist", "-v", "-R", "wc"],
    &["status", "-u", "wc"],
];

/// Lines of `svn info` that the clock decides.
const OF_THE_CLOCK: [&str; 3] = ["Last Changed Date:", "Text Last Updated:", "Lock Created:"];

/// The UUID of every repository here, so that what is printed is the same.
const UUID: &str = "5a9e1c55-2b7a-4d6e-9a1f-00a11c0ffee5";

/// One place.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    /// A repository with a first revision, and both working copies.
    pub(crate) fn new(reference: &Programs) -> Self {
        let mut folder = tempfile::tempdir().unwrap();
        // Who walks once more wants to see where it ended.
        if std::env::var_os("SAPWOOD_TURNS").is_some() {
            folder.disable_cleanup(true);
            println!("in {}", folder.path().display());
        }
        let site = Self { folder };
        let run = |program: &str, args: &[&str]| {
            site.run(reference, program, args).expect_success(&format!("{program} {args:?}"));
        };
        run("svnadmin", &["create", "repository"]);
        run("svnadmin", &["setuuid", "repository", UUID]);
        let first = site.path("first/dir/below");
        fs::create_dir_all(&first).unwrap();
        fs::write(first.join("deep"), "deep\n").unwrap();
        for name in ["one", "two", "three"] {
            fs::write(site.path("first").join(name), format!("{name}\n").repeat(8)).unwrap();
            fs::write(site.path("first/dir").join(name), format!("{name}\n").repeat(3)).unwrap();
        }
        let (trunk, root) = (site.url("trunk"), site.url(""));
        run("svn", &["import", "-q", "-m", "the first files", "first", &trunk]);
        run("svn", &["copy", "-q", "-m", "a branch", &trunk, &format!("{root}branch")]);
        run("svn", &["checkout", "-q", &trunk, "wc"]);
        run("svn", &["checkout", "-q", &trunk, "other"]);
        site
    }

    /// A path in the place.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A URL in the repository.
    pub(crate) fn url(&self, below: &str) -> String {
        format!("file://{}/{below}", self.path("repository").display())
    }

    /// Runs a program here; what it says of this place is the same as in any other place, its lines
    /// are sorted and times are left out.
    pub(crate) fn run(&self, programs: &Programs, program: &str, args: &[&str]) -> Output {
        let mut command = programs.command(program);
        command.args(args).current_dir(self.folder.path());
        if program == "svn" {
            command.arg("--non-interactive");
        }
        let place = self.folder.path().to_str().unwrap();
        let said = Output::of(&mut command).replacing(place, "PLACE").without_times().unordered();
        // How transactions are numbered is the filesystem's own business.
        let number = b"svn: E160013: File not found: transaction";
        let stderr = said.stderr.split_inclusive(|b| *b == b'\n');
        let stderr = stderr.filter(|l| !l.starts_with(number)).collect::<Vec<_>>().concat();
        Output { stderr, ..said }
    }

    /// Asks one of the [`QUESTIONS`].
    pub(crate) fn ask(&self, programs: &Programs, question: &[&str]) -> Output {
        let mut said = self.run(programs, "svn", question);
        for start in OF_THE_CLOCK {
            said = said.without_lines(start);
        }
        said
    }

    /// All files and folders of the working copy and what they hold; links as where they point.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        collect(&self.path("wc"), "", &mut found);
        found
    }
}

fn collect(folder: &Path, below: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name == ".svn" {
            continue;
        }
        let path = format!("{below}{name}");
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.insert(path.clone(), "a folder".to_owned());
            collect(&entry.path(), &format!("{path}/"), found);
        } else if kind.is_symlink() {
            let to = fs::read_link(entry.path()).unwrap();
            found.insert(path, format!("a link to {}", to.display()));
        } else {
            let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
            found.insert(path, text);
        }
    }
}
