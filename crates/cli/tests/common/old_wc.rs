//! Working copies of formats 4 to 10 made from a seed: directories, files and properties in all the states
//! that the entries of their programs could have, and in some that none would have made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::rng::Rng;

const ROOT: &str = "file:///nowhere/repo";
const UUID: &str = "11111111-1111-4111-8111-111111111111";
const DATE: &str = "2010-01-02T03:04:05.000006Z";

/// What is so of a node and all within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is in BASE.
    Normal,
    /// It was added.
    Added,
    /// It was copied, and says from where.
    Copy,
    /// It is within a copy.
    InCopy,
    /// It was deleted.
    Deleted,
    /// It was deleted within a copy.
    DeletedInCopy,
    /// A file, or a copy, in place of another one.
    Replaced,
    /// A copy in place of another one, which it says where it comes from.
    ReplacedCopy,
    /// It is within a copy that replaced something.
    InReplaced,
    /// Its parent's revision has it, the working copy does not.
    NotPresent,
    /// The same, and something was added there.
    NotPresentAdded,
    /// The server does not show it.
    Absent,
    /// The user left it out.
    Excluded,
}

use State::*;

/// The fields of an entry: its place among the lines, and its name in XML.
const FIELDS: [(usize, &str); 33] = [
    (0, "name"),
    (1, "kind"),
    (2, "revision"),
    (3, "url"),
    (4, "repos"),
    (5, "schedule"),
    (6, "text-time"),
    (7, "checksum"),
    (8, "committed-date"),
    (9, "committed-rev"),
    (10, "last-author"),
    (15, "prop-reject-file"),
    (16, "conflict-old"),
    (17, "conflict-new"),
    (18, "conflict-wrk"),
    (19, "copied"),
    (20, "copyfrom-url"),
    (21, "copyfrom-rev"),
    (22, "deleted"),
    (23, "absent"),
    (24, "incomplete"),
    (25, "uuid"),
    (26, "lock-token"),
    (27, "lock-owner"),
    (28, "lock-comment"),
    (29, "lock-creation-date"),
    (30, "changelist"),
    (31, "keep-local"),
    (32, "working-size"),
    (33, "depth"),
    (34, "tree-conflicts"),
    (35, "file-external"),
    (36, "of-a-later-version"),
];

type Entry = BTreeMap<&'static str, String>;

/// An old working copy on its way.
struct Maker {
    rng: Rng,
    format: u32,
    /// Nodes that may still be made.
    left: usize,
}

fn md5(text: &str) -> String {
    let mut sum = Md5Hasher::new();
    sum.update(text.as_bytes());
    sum.finish().to_hex()
}

fn props_file(props: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in props {
        out += &format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len());
    }
    out + "END\n"
}

/// Makes the working copy of a seed at `root`.
pub(crate) fn make(root: &Path, format: u32, seed: u64) {
    let mut maker = Maker { rng: Rng::new(seed), format, left: 40 };
    let place = if maker.rng.chance(20) { "" } else { "/trunk" };
    fs::create_dir_all(root).unwrap();
    let (url, mut entry) = (format!("{ROOT}{place}"), Entry::new());
    maker.mark(&mut entry, Normal, &url);
    maker.directory(root, "", &url, Normal, entry);
}

impl Maker {
    fn flag(&self, entry: &mut Entry, name: &'static str) {
        let word = if self.format < 7 { "true" } else { name };
        entry.insert(name, word.to_owned());
    }

    fn text(&mut self) -> String {
        format!("text {}\n", self.rng.below(6))
    }

    /// What a node may be within a directory.
    fn state_within(&mut self, parent: State, is_dir: bool) -> State {
        let choices: &[State] = match parent {
            Normal if is_dir => &[
                Normal,
                Normal,
                Normal,
                Added,
                Copy,
                Deleted,
                NotPresent,
                Absent,
                Excluded,
                ReplacedCopy,
            ],
            Normal => &[
                Normal,
                Normal,
                Normal,
                Added,
                Copy,
                Deleted,
                NotPresent,
                NotPresentAdded,
                Absent,
                Replaced,
                ReplacedCopy,
            ],
            Added => &[Added, Added, Copy],
            Copy | InCopy if is_dir => &[InCopy, InCopy, Copy, Added, DeletedInCopy, Excluded],
            Copy | InCopy => &[
                InCopy,
                InCopy,
                InCopy,
                Copy,
                Added,
                DeletedInCopy,
                Replaced,
                ReplacedCopy,
                NotPresent,
                NotPresentAdded,
            ],
            Deleted => &[Deleted],
            DeletedInCopy => &[DeletedInCopy],
            ReplacedCopy | InReplaced => &[InReplaced, InReplaced, DeletedInCopy, Added, InCopy],
            _ => &[Normal],
        };
        *self.rng.choose(choices).unwrap()
    }

    /// The part of an entry that tells its state.
    fn mark(&mut self, entry: &mut Entry, state: State, url: &str) {
        let schedule = match state {
            Added | Copy | NotPresentAdded => "add",
            Deleted | DeletedInCopy => "delete",
            Replaced | ReplacedCopy | InReplaced => "replace",
            _ => "",
        };
        entry.insert("schedule", schedule.to_owned());
        if matches!(state, Copy | InCopy | DeletedInCopy | ReplacedCopy | InReplaced) {
            self.flag(entry, "copied");
        }
        if matches!(state, Copy | ReplacedCopy) {
            let from =
                if self.rng.chance(70) { format!("{ROOT}/elsewhere") } else { url.to_owned() };
            entry.insert("copyfrom-url", from);
            entry.insert("copyfrom-rev", self.rng.between(1, 3).to_string());
        }
        match state {
            NotPresent | NotPresentAdded => self.flag(entry, "deleted"),
            Absent => self.flag(entry, "absent"),
            Excluded => drop(entry.insert("depth", "exclude".to_owned())),
            _ => {}
        }
        if matches!(state, Normal | Deleted | Replaced | NotPresent | Absent) {
            entry.insert("revision", self.rng.between(3, 5).to_string());
        } else {
            entry.insert("revision", "0".to_owned());
        }
        if !matches!(state, Added | NotPresent | Absent) && self.rng.chance(95) {
            entry.insert("committed-date", DATE.to_owned());
            entry.insert("committed-rev", self.rng.between(1, 3).to_string());
            entry.insert("last-author", "jo".to_owned());
        }
    }

    fn directory(&mut self, dir: &Path, relpath: &str, url: &str, state: State, stub: Entry) {
        let adm = dir.join(".svn");
        for folder in ["text-base", "props", "prop-base", "wcprops", "tmp/text-base"] {
            fs::create_dir_all(adm.join(folder)).unwrap();
        }
        let mut this = stub;
        this.insert("name", String::new());
        this.insert("kind", "dir".to_owned());
        for (name, value) in [("url", url), ("repos", ROOT), ("uuid", UUID)] {
            this.insert(name, value.to_owned());
        }
        if self.rng.chance(8) {
            self.flag(&mut this, "incomplete");
        }
        if self.format >= 9 && self.rng.chance(15) {
            let depth = ["empty", "files", "immediates"][self.rng.below(3)];
            this.insert("depth", depth.to_owned());
        }
        // With a tree conflict beside it, the reference forgets that one.
        if self.format < 10 && self.rng.chance(8) {
            this.insert("prop-reject-file", "dir_conflicts.prej".to_owned());
        }
        if state == Deleted && self.format >= 9 && self.rng.chance(30) {
            self.flag(&mut this, "keep-local");
        }
        self.properties(&adm, "", state);
        let (mut files, mut cached) = (Vec::new(), String::new());
        let count = self.rng.between(0, 6);
        let names = ["a", "b", "c d", "e", "f&g", "h", "i"];
        for name in &names[..count] {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let entry = self.child(dir, relpath, url, state, name, &mut cached);
            files.push(entry);
        }
        if self.format >= 10 && self.rng.chance(30) {
            this.insert("tree-conflicts", self.tree_conflicts());
        }
        let own = props_file(&[("svn:wc:ra_dav:version-url", "/!svn/ver/1")]);
        if self.format < 8 {
            fs::write(adm.join("dir-wcprops"), own).unwrap();
        } else if self.rng.chance(70) {
            fs::write(adm.join("all-wcprops"), own + &cached).unwrap();
        }
        files.insert(0, this);
        self.write_entries(&adm, &files);
    }

    fn tree_conflicts(&mut self) -> String {
        let mut found = String::new();
        for name in ["a", "gone", "h"] {
            if self.rng.chance(50) {
                let side = |rev: usize, kind| {
                    format!("(version {} {ROOT} 1 {rev} 7 trunk/x {kind})", ROOT.len())
                };
                let operation = ["update", "switch", "merge"][self.rng.below(3)];
                let kind = ["file", "dir"][self.rng.below(2)];
                let right = if self.rng.chance(30) {
                    "(version 0  2 -1 0  0 )".to_owned()
                } else {
                    side(4, ["file", "none"][self.rng.below(2)])
                };
                found += &format!(
                    "(conflict {} {name} {kind} {operation} deleted edited {} {right})",
                    name.len(),
                    side(3, kind)
                );
            }
        }
        format!("({found})")
    }

    fn child(
        &mut self,
        dir: &Path,
        relpath: &str,
        url: &str,
        parent: State,
        name: &str,
        cached: &mut String,
    ) -> Entry {
        let is_dir = self.rng.chance(35);
        let state = self.state_within(parent, is_dir);
        let url = format!("{url}/{}", name.replace(' ', "%20"));
        let mut entry = Entry::new();
        self.mark(&mut entry, state, &url);
        let switched = state == Normal && self.rng.chance(8);
        let url = if switched { format!("{ROOT}/switched") } else { url };
        if is_dir {
            let hidden = matches!(state, NotPresent | Absent | Excluded);
            let missing = self.rng.chance(10);
            if !hidden && !missing {
                let child = dir.join(name);
                fs::create_dir_all(&child).unwrap();
                let below =
                    if relpath.is_empty() { name.to_owned() } else { format!("{relpath}/{name}") };
                let mut own = entry.clone();
                own.remove("depth");
                self.directory(&child, &below, &url, state, own);
            }
            // Of a directory its parent's file tells little.
            entry.retain(|field, _| {
                let short = ["schedule", "copied", "deleted", "absent", "depth"].contains(field);
                short || field.starts_with("copyfrom") || (hidden && *field == "revision")
            });
        } else {
            self.file(dir, state, name, &mut entry);
            if switched {
                entry.insert("url", url);
            }
            if parent == Normal && state == Normal && self.rng.chance(15) {
                for (field, value) in [
                    ("lock-token", "opaquelocktoken:1"),
                    ("lock-owner", "jo"),
                    ("lock-comment", "two words"),
                    ("lock-creation-date", DATE),
                ] {
                    entry.insert(field, value.to_owned());
                }
            }
            let dump = props_file(&[("svn:wc:ra_dav:version-url", &format!("/!svn/ver/1/{name}"))]);
            *cached += &format!("{name}\n{dump}");
        }
        entry.insert("name", name.to_owned());
        entry.insert("kind", if is_dir { "dir" } else { "file" }.to_owned());
        if self.format >= 9 && !is_dir && self.rng.chance(15) {
            entry.insert("changelist", "a list".to_owned());
        }
        entry
    }

    fn file(&mut self, dir: &Path, state: State, name: &str, entry: &mut Entry) {
        let adm = dir.join(".svn");
        let (base, revert) = (self.text(), self.text());
        let base_file = adm.join(format!("text-base/{name}.svn-base"));
        let hidden = matches!(state, NotPresent | Absent);
        if !hidden && !matches!(state, Added | NotPresentAdded | Replaced) {
            fs::write(&base_file, &base).unwrap();
            entry.insert("checksum", md5(&base));
        }
        if matches!(state, Replaced | ReplacedCopy | InReplaced) && self.rng.chance(95) {
            fs::write(adm.join(format!("text-base/{name}.svn-revert")), &revert).unwrap();
            if state == Replaced {
                entry.insert("checksum", md5(&revert));
            }
        }
        if hidden {
            return;
        }
        fs::write(dir.join(name), &base).unwrap();
        if self.rng.chance(80) {
            entry.insert("text-time", DATE.to_owned());
        }
        if self.format >= 8 && self.rng.chance(80) {
            entry.insert("working-size", base.len().to_string());
        }
        if self.rng.chance(10) {
            for (field, end) in
                [("conflict-old", "r1"), ("conflict-new", "r2"), ("conflict-wrk", "mine")]
            {
                if field == "conflict-old" || self.rng.chance(80) {
                    entry.insert(field, format!("{name}.{end}"));
                }
            }
        }
        if self.rng.chance(10) {
            entry.insert("prop-reject-file", format!("{name}.prej"));
        }
        self.properties(&adm, name, state);
    }

    fn properties(&mut self, adm: &Path, name: &str, state: State) {
        let place = |part: &str| match (name, part) {
            ("", "base") => adm.join("dir-prop-base"),
            ("", "revert") => adm.join("dir-prop-revert"),
            ("", _) => adm.join("dir-props"),
            (_, "work") => adm.join(format!("props/{name}.svn-work")),
            _ => adm.join(format!("prop-base/{name}.svn-{part}")),
        };
        let lists: [&[(&str, &str)]; 3] =
            [&[("p", "v")], &[("p", "two words"), ("svn:eol-style", "native")], &[]];
        if state != Added && self.rng.chance(40) {
            fs::write(place("base"), props_file(lists[self.rng.below(3)])).unwrap();
        }
        let replaced = matches!(state, Replaced | ReplacedCopy | InReplaced);
        if replaced && self.rng.chance(90) {
            let text = if self.rng.chance(50) { String::new() } else { props_file(lists[0]) };
            fs::write(place("revert"), text).unwrap();
        }
        if self.rng.chance(30) {
            fs::write(place("work"), props_file(lists[self.rng.below(3)])).unwrap();
        }
    }

    fn write_entries(&self, adm: &Path, entries: &[Entry]) {
        let mut text = String::new();
        if self.format < 7 {
            text += "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<wc-entries\n   xmlns=\"svn:\">\n";
            for entry in entries {
                text += "<entry";
                for (name, value) in entry {
                    text += &format!("\n   {name}=\"{}\"", value.replace('&', "&amp;"));
                }
                text += "/>\n";
            }
            text += "</wc-entries>\n";
            fs::write(adm.join("format"), format!("{}\n", self.format)).unwrap();
        } else {
            text += &format!("{}\n", self.format);
            for entry in entries {
                let mut fields = vec![""; 37];
                for (at, name) in FIELDS {
                    fields[at] = entry.get(name).map_or("", String::as_str);
                }
                let filled = fields.iter().rposition(|field| !field.is_empty()).unwrap_or(1);
                text += &format!("{}\n\x0c\n", fields[..=filled.max(1)].join("\n"));
            }
        }
        fs::write(adm.join("entries"), text).unwrap();
    }
}
