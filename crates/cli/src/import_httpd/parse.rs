//! httpd's configuration language: directives in sections, with `Include` and `Define`.
//!
//! Nothing is run and no condition is asked: `<IfModule>`, `<IfDefine>` and `<IfVersion>` hold
//! always.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// Files within files.
const MAX_INCLUDED: usize = 16;
/// Directives in all.
const MAX_DIRECTIVES: usize = 100_000;

/// A directive and the sections that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    /// File and line, for people.
    pub(super) place: String,
    /// Its name, in lower case.
    pub(super) name: String,
    /// As it is written.
    pub(super) shown: String,
    pub(super) args: Vec<String>,
    /// The sections around it, from outside: name in lower case, and arguments.
    pub(super) within: Vec<Section>,
}

/// A section's name, in lower case, its arguments, and a number that no other has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    pub(super) number: usize,
}

/// Reads files, and what they include.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) directives: Vec<Directive>,
    /// `ServerRoot`.
    pub(super) root: Option<PathBuf>,
    defined: HashMap<String, String>,
    open: Vec<Section>,
    sections: usize,
}

/// The words of a line; quotes hold spaces together.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut has) = (Vec::new(), String::new(), false);
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', Some(q)) if chars.peek() == Some(&q) || chars.peek() == Some(&'\\') => {
                word.extend(chars.next());
            }
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => (quote, has) = (Some(c), true),
            (c, None) if c.is_whitespace() => {
                if has || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                has = false;
            }
            (c, _) => word.push(c),
        }
    }
    if has || !word.is_empty() {
        words.push(word);
    }
    words
}

impl Reader {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or its sections do not match.
    pub(super) fn read(&mut self, path: &Path, depth: usize) -> SvnResult<()> {
        let wrong = |line: usize, why: String| {
            let message = format!("{}:{line}: {why}", path.display());
            SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message)
        };
        let bytes = crate::input::contents(&path.to_string_lossy())?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let outside = self.open.len();
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let mut whole = line.to_owned();
            while whole.ends_with('\\') {
                whole.pop();
                whole.push_str(lines.next().map_or("", |(_, more)| more));
            }
            let place = format!("{}:{}", path.display(), at.plus(1));
            let line = self.replaced(whole.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("</") {
                let name = name.trim_end_matches('>').trim().to_ascii_lowercase();
                if self.open.len() <= outside || self.open.pop().is_none_or(|s| s.name != name) {
                    return Err(wrong(at.plus(1), format!("</{name}> closes nothing")));
                }
            } else if let Some(section) = line.strip_prefix('<') {
                let mut args = words(section.trim_end().trim_end_matches('>'));
                let name = if args.is_empty() { String::new() } else { args.remove(0) };
                let name = name.to_ascii_lowercase();
                self.sections = self.sections.plus(1);
                self.open.push(Section { name, args, number: self.sections });
            } else {
                self.directive(path, place, &line, depth)?;
            }
            if self.directives.len() > MAX_DIRECTIVES {
                return Err(wrong(at.plus(1), "there are too many directives".to_owned()));
            }
        }
        match self.open.get(outside) {
            Some(section) => Err(wrong(0, format!("<{}> is not closed", section.name))),
            None => Ok(()),
        }
    }

    fn directive(&mut self, path: &Path, place: String, line: &str, depth: usize) -> SvnResult<()> {
        let mut args = words(line).into_iter();
        let Some(shown) = args.next() else { return Ok(()) };
        let name = shown.to_ascii_lowercase();
        let args: Vec<String> = args.collect();
        match (name.as_str(), args.as_slice()) {
            ("define", [name, value]) => {
                self.defined.insert(name.clone(), value.clone());
            }
            ("serverroot", [root]) => self.root = Some(PathBuf::from(root)),
            ("include" | "includeoptional", [pattern]) if depth < MAX_INCLUDED => {
                let base = self.root.as_deref().or_else(|| path.parent());
                for file in matching(&base.unwrap_or(Path::new("/")).join(pattern)) {
                    self.read(&file, depth.plus(1))?;
                }
            }
            _ => {}
        }
        let within = self.open.clone();
        self.directives.push(Directive { place, name, shown, args, within });
        Ok(())
    }

    /// A line with what was defined in it.
    fn replaced(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (name, value) in &self.defined {
            line = line.replace(&format!("${{{name}}}"), value);
        }
        line
    }
}

/// The files that an `Include` means: one, those of a folder, or those that a pattern in the last name
/// matches; in order.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    if pattern.is_file() {
        return vec![pattern.to_owned()];
    }
    let (folder, wanted) = if pattern.is_dir() {
        (pattern, "*")
    } else {
        let Some((folder, name)) = pattern.parent().zip(pattern.file_name()) else {
            return Vec::new();
        };
        (folder, name.to_str().unwrap_or("*"))
    };
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            path.is_file() && name.is_some_and(|name| fits(wanted, &name))
        })
        .collect();
    found.sort();
    found
}

/// Whether a name fits a pattern with `*` in it.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.tail(at.plus(part.len()));
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_patterns() {
        assert_eq!(words(r#"AuthName "a \"b\" c" 'd e' f"#), ["AuthName", "a \"b\" c", "d e", "f"]);
        assert_eq!(words(r#"X "" "#), ["X", ""]);
        assert!(fits("*.conf", "a.conf") && fits("a*b*c", "axbyc") && fits("x", "x"));
        assert!(!fits("*.conf", "a.load") && !fits("x", "xy") && !fits("a*b", "xab"));
    }

    #[test]
    fn sections_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        write("10.inc", "One ${there} \\\n two\n");
        write("20.inc", "# nothing\n");
        let main = write("main", "Define there 1\n<A x>\nInclude *.inc\n<b>\nC\n</B>\n</A>\n");
        let mut reader = Reader::default();
        reader.read(&main, 0).unwrap();
        let [_, one, _, c] = reader.directives.as_slice() else { panic!("{reader:?}") };
        assert_eq!((one.name.as_str(), one.args.join(" ").as_str()), ("one", "1 two"));
        let around: Vec<_> = c.within.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(around, ["a", "b"]);
        for bad in ["<a>\n", "</a>\n", "<a>\n</b>\n"] {
            assert!(Reader::default().read(&write("bad", bad), 0).is_err(), "{bad}");
        }
    }
}
