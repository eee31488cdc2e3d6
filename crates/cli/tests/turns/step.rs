//! The steps of a walk: which there are, how one is chosen, and how it is made.
//!
//! Invariant: a step is chosen from the seed and the model's files only, and says all that is
//! needed to make it again in another place.

use std::fs;
use std::path::Path;

use sapwood_testkit::{Output, Programs, Rng};

use super::site::Site;

/// Which programs make a step.
pub(crate) struct Actor<'a> {
    /// The program whose turn it is on the working copy.
    pub(crate) turn: &'a Programs,
    /// The program by which others commit.
    pub(crate) other: &'a Programs,
}

/// One step.
#[derive(Debug)]
pub(crate) enum Step {
    /// A line is put into a file, at the place that the number says.
    Edit(String, usize, String),
    /// A new file that is not under version control.
    Write(String, String),
    /// A file or folder is removed behind Subversion's back.
    Lose(String),
    /// `svn` with these arguments, by the program whose turn it is.
    Svn(Vec<String>),
    /// Another user brings the second working copy up to date, puts a line into a file and commits.
    Other(String, usize, String),
    /// Another user changes the repository by a URL.
    Remote(Vec<String>),
}

/// Names that get in the way of careless code.
const NAMES: [&str; 8] = ["new", "with space", "at@", "100%", "ä", "dir2", "x", "-dash"];

impl Step {
    /// The next step.
    pub(crate) fn choose(rng: &mut Rng, site: &Site) -> Self {
        let all = site.files();
        let folders: Vec<&String> =
            all.iter().filter(|(_, c)| *c == "a folder").map(|(p, _)| p).collect();
        let files: Vec<&String> =
            all.iter().filter(|(_, c)| *c != "a folder").map(|(p, _)| p).collect();
        let any = |rng: &mut Rng| match all.len() {
            0 => "one".to_owned(),
            n => all.keys().nth(rng.below(n)).unwrap().clone(),
        };
        let file = |rng: &mut Rng| match files.len() {
            0 => "one".to_owned(),
            n => files[rng.below(n)].clone(),
        };
        let folder = |rng: &mut Rng| match rng.below(folders.len() + 1) {
            0 => String::new(),
            n => format!("{}/", folders[n - 1]),
        };
        let fresh =
            |rng: &mut Rng| format!("{}{}{}", folder(rng), rng.pick(&NAMES), rng.below(100));
        let wc = |path: &str| format!("wc/{path}{}", if path.contains('@') { "@" } else { "" });
        let line = |rng: &mut Rng| format!("line {}\n", rng.below(1_000));
        let svn = |words: &[&str]| Self::Svn(words.iter().map(|w| (*w).to_owned()).collect());
        match rng.below(100) {
            0..15 => Self::Edit(file(rng), rng.below(12), line(rng)),
            15..20 => Self::Write(fresh(rng), line(rng)),
            20..23 => Self::Lose(any(rng)),
            23..31 => svn(&["add", "--parents", "--no-auto-props", &wc(&file(rng))]),
            31..34 => svn(&["mkdir", &wc(&fresh(rng))]),
            34..40 => svn(&["copy", &wc(&any(rng)), &wc(&fresh(rng))]),
            40..46 => svn(&["move", &wc(&any(rng)), &wc(&fresh(rng))]),
            46..51 => svn(&["delete", &wc(&any(rng))]),
            51..53 => svn(&["delete", "--keep-local", &wc(&any(rng))]),
            53..58 => {
                let value = line(rng);
                let name = *rng.pick(&["p", "q", "svn:eol-style", "svn:keywords", "svn:ignore"]);
                let value = match name {
                    "svn:eol-style" => "native",
                    "svn:keywords" => "Rev Author",
                    _ => value.trim_end(),
                };
                svn(&["propset", name, value, &wc(&any(rng))])
            }
            58..60 => svn(&["propdel", "p", &wc(&any(rng))]),
            60..65 => svn(&["revert", &wc(&any(rng))]),
            65..68 => svn(&["revert", "--depth=infinity", &wc(&any(rng))]),
            68..70 => svn(&["revert", "-R", "wc"]),
            70..78 => svn(&["commit", "-m", "some changes", "wc"]),
            78..80 => svn(&["commit", "-m", "one change", &wc(&any(rng))]),
            80..86 => svn(&["update", "--accept=postpone", "wc"]),
            86..88 => {
                let back = format!("-r{}", rng.below(4) + 2);
                svn(&["update", "--accept=postpone", &back, &wc(&any(rng))])
            }
            88..90 => {
                let accept = rng.pick(&["working", "mine-full", "theirs-full", "base"]);
                svn(&["resolve", "--depth=infinity", &format!("--accept={accept}"), "wc"])
            }
            90..91 => svn(&["cleanup", "wc"]),
            91..92 => svn(&["changelist", "list", &wc(&file(rng))]),
            92..93 => {
                let to = *rng.pick(&["^/branch", "^/trunk"]);
                svn(&["switch", "--accept=postpone", "--ignore-ancestry", to, "wc"])
            }
            93..97 => Self::Other(file(rng), rng.below(12), line(rng)),
            97..98 => Self::Remote(vec!["mkdir".into(), format!("trunk/{}", fresh(rng))]),
            98..99 => Self::Remote(vec!["delete".into(), format!("trunk/{}", any(rng))]),
            _ => svn(&["export", "--force", "wc", "exported"]),
        }
    }

    /// Makes the step, and gives what it said.
    pub(crate) fn run(&self, site: &Site, actor: Actor<'_>) -> Output {
        match self {
            Self::Edit(path, at, line) => edit(&site.path("wc").join(path), *at, line),
            Self::Write(path, text) => {
                let path = site.path("wc").join(path);
                if path.parent().is_some_and(Path::is_dir) && fs::symlink_metadata(&path).is_err() {
                    fs::write(path, text).unwrap();
                }
                nothing()
            }
            Self::Lose(path) => {
                let path = site.path("wc").join(path);
                if path.is_dir() {
                    fs::remove_dir_all(path).unwrap();
                } else {
                    let _ = fs::remove_file(path);
                }
                nothing()
            }
            // 1.14 puts what is there no more on a changelist, too, and after an update cannot go on with it
            // (E155016); ours does.
            Self::Svn(args)
                if args.first().is_some_and(|name| name == "changelist")
                    && site.run(actor.other, "svn", &["info", words(args).pop().unwrap()]).code
                        != 0 =>
            {
                nothing()
            }
            Self::Svn(args) => site.run(actor.turn, "svn", &words(args)),
            Self::Other(path, at, line) => {
                site.run(actor.other, "svn", &["revert", "-q", "-R", "other"]);
                site.run(actor.other, "svn", &["update", "-q", "--accept=theirs-full", "other"]);
                edit(&site.path("other").join(path), *at, line);
                site.run(actor.other, "svn", &["commit", "-q", "-m", "of another user", "other"])
            }
            Self::Remote(args) => {
                let url = site.url(args[1].replace('%', "%25").replace(' ', "%20").as_str());
                site.run(actor.other, "svn", &[&args[0], "-q", "-m", "remote", &format!("{url}@")])
            }
        }
    }
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

const fn nothing() -> Output {
    Output { code: 0, stdout: Vec::new(), stderr: Vec::new() }
}

/// Puts a line into a file, if it is one.
fn edit(path: &Path, at: usize, line: &str) -> Output {
    if let Ok(text) = fs::read_to_string(path) {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.insert(at.min(lines.len()), line);
        fs::write(path, lines.concat()).unwrap();
    }
    nothing()
}
