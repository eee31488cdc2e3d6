//! httpd's configuration language: directives in sections, with `Include`, `Define`, `<Macro>` and conditions.
//!
//! Invariant: a directive of which it is not certain that httpd reads it, or with which words, is kept and says so
//! ([`Directive::doubt`]); none is left out but what httpd certainly leaves out.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::conditions::{Answer, Conditions};
use super::include::matching;
use super::macros::{Macro, Macros, SourceLine};
use super::words::{is_pattern, words};

/// Files and macros within each other.
const MAX_DEPTH: usize = 16;
/// Lines in all, those of macros counted each time.
const MAX_LINES: usize = 300_000;

/// Sections that are conditions of reading.
const CONDITIONS: [&str; 6] =
    ["ifmodule", "ifdefine", "ifversion", "iffile", "ifdirective", "ifsection"];

/// A directive and the sections that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    /// File and line, for messages.
    pub(super) place: String,
    /// Its name, in lower case.
    pub(super) name: String,
    /// The original spelling.
    pub(super) shown: String,
    pub(super) args: Vec<String>,
    /// The sections around it, from outside, without conditions.
    pub(super) within: Vec<Section>,
    /// Why it is not certain that it is read as it stands here.
    pub(super) doubt: Option<String>,
}

/// A section's name, in lower case, its arguments, and a number that no other has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    pub(super) number: usize,
}

/// A section that is open.
#[derive(Clone, Debug)]
enum Open {
    Section(Section),
    Condition { name: String, answer: Answer },
}

impl Open {
    fn name(&self) -> &str {
        match self {
            Self::Section(section) => &section.name,
            Self::Condition { name, .. } => name,
        }
    }
}

/// Reads files, and what they include.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) directives: Vec<Directive>,
    /// `ServerRoot`, or what stands for it.
    pub(super) root: PathBuf,
    /// Whether modules are loaded by it.
    pub(super) loads: bool,
    /// The names that it defines.
    pub(super) sets: HashSet<String>,
    conditions: Conditions,
    macros: Macros,
    open: Vec<Open>,
    sections: usize,
    lines: usize,
}

/// Lines that end with a backslash are one with the next.
fn joined(path: &Path, text: &str) -> Vec<SourceLine> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push_str(lines.next().map_or("", |(_, more)| more));
        }
        let place = format!("{}:{}", path.display(), at.plus(1));
        found.push(SourceLine { place, text: whole.trim().to_owned() });
    }
    found
}

fn wrong(place: &str, why: impl std::fmt::Display) -> SvnError {
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("{place}: {why}"))
}

impl Reader {
    /// One that knows `conditions`, and takes relative names as of `root` until `ServerRoot` says otherwise.
    pub(super) fn new(conditions: Conditions, root: PathBuf) -> Self {
        Self { conditions, root, ..Self::default() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it, or what it includes, cannot be read, or its sections do not match.
    pub(super) fn read(&mut self, path: &Path, depth: usize) -> SvnResult<()> {
        let bytes = crate::input::contents(&path.to_string_lossy())?;
        self.take_lines(joined(path, &String::from_utf8_lossy(&bytes)), depth)
    }

    fn take_lines(&mut self, lines: Vec<SourceLine>, depth: usize) -> SvnResult<()> {
        let outside = self.open.len();
        let mut opened = Vec::new();
        let mut lines = lines.into_iter();
        while let Some(line) = lines.next() {
            self.lines = self.lines.plus(1);
            if self.lines > MAX_LINES {
                return Err(wrong(&line.place, "there are too many lines"));
            }
            if line.text.is_empty() || line.text.starts_with('#') {
                continue;
            }
            if let Some(name) = line.text.strip_prefix("</") {
                let name = name.split('>').next().unwrap_or("").trim().to_ascii_lowercase();
                let fits = self.open.last().is_some_and(|open| open.name() == name);
                if self.open.len() <= outside || !fits {
                    return Err(wrong(&line.place, format!("</{name}> closes nothing")));
                }
                self.open.pop();
                opened.pop();
            } else if line.text.starts_with('<') {
                opened.push(line.place.clone());
                if self.begin(&line, &mut lines)? {
                    opened.pop();
                }
            } else if !self.is_skipped() {
                self.directive(&line, depth)?;
            }
        }
        match self.open.get(outside).zip(opened.first()) {
            Some((open, place)) => Err(wrong(place, format!("<{}> is not closed", open.name()))),
            None => Ok(()),
        }
    }

    /// Whether httpd ignores the part that is being read.
    fn is_skipped(&self) -> bool {
        let is_no = |open: &Open| matches!(open, Open::Condition { answer: Answer::No, .. });
        self.open.iter().any(is_no)
    }

    /// Begins a section; `true` if it has ended, too.
    fn begin(
        &mut self,
        line: &SourceLine,
        lines: &mut impl Iterator<Item = SourceLine>,
    ) -> SvnResult<bool> {
        let Some((inner, _)) = line.text.tail(1).rsplit_once('>') else {
            return Err(wrong(&line.place, "the section's '>' is missing"));
        };
        let end = inner.find(char::is_whitespace).unwrap_or(inner.len());
        let (name, rest) = inner.split_at_checked(end).unwrap_or((inner, ""));
        let name = name.to_ascii_lowercase();
        if self.is_skipped() {
            self.open.push(Open::Condition { name, answer: Answer::No });
            return Ok(false);
        }
        let (rest, unknown) = self.replaced(rest);
        let args = words(&rest);
        if name == "macro" {
            let doubt = self.doubt(unknown.as_deref()).is_some();
            let new = Macro::read(&line.place, &args, lines)?;
            self.macros.define(new, doubt);
            return Ok(true);
        }
        if CONDITIONS.contains(&name.as_str()) {
            let answer = match unknown {
                Some(unknown) => Answer::Unknown(not_known(&unknown)),
                None if name == "iffile" => self.has_file(&args),
                None => self.conditions.ask(&name, &args),
            };
            self.open.push(Open::Condition { name, answer });
            return Ok(false);
        }
        self.sections = self.sections.plus(1);
        self.open.push(Open::Section(Section { name, args, number: self.sections }));
        Ok(false)
    }

    fn has_file(&self, args: &[String]) -> Answer {
        let first = args.first().map_or("", String::as_str);
        let (not, name) = first.strip_prefix('!').map_or((false, first), |name| (true, name));
        let answer = match self.root.join(name).try_exists() {
            Ok(true) => Answer::Yes,
            Ok(false) => Answer::No,
            Err(_) => Answer::Unknown("it cannot be seen whether that file is there".to_owned()),
        };
        if not { answer.negated() } else { answer }
    }

    /// Why what is read now may not be read by httpd. `unknown` is a variable in it.
    fn doubt(&self, unknown: Option<&str>) -> Option<String> {
        let doubtful = |open: &Open| match open {
            Open::Condition { answer: Answer::Unknown(why), .. } => Some(why.clone()),
            _ => None,
        };
        self.open.iter().find_map(doubtful).or_else(|| unknown.map(not_known))
    }

    fn directive(&mut self, line: &SourceLine, depth: usize) -> SvnResult<()> {
        let (text, unknown) = self.replaced(&line.text);
        let mut args = words(&text).into_iter();
        let Some(shown) = args.next() else { return Ok(()) };
        let name = shown.to_ascii_lowercase();
        let args: Vec<String> = args.collect();
        let doubt = self.doubt(unknown.as_deref());
        let is_doubtful = doubt.is_some();
        match (name.as_str(), args.as_slice()) {
            ("define", [name, rest @ ..]) => {
                self.sets.insert(name.clone());
                let value = rest.first().map(String::as_str);
                self.conditions.define(name, value, is_doubtful);
            }
            ("undefine", [name]) => self.conditions.forget(name, is_doubtful),
            ("loadmodule", [module, ..]) => {
                self.loads = true;
                self.conditions.load(module, is_doubtful);
            }
            ("serverroot", [root]) if !is_doubtful => self.root = PathBuf::from(root),
            ("include" | "includeoptional", [pattern]) if unknown.is_none() => {
                return self.include(line, name == "include" && !is_doubtful, pattern, depth);
            }
            ("use", [name, args @ ..]) if !is_doubtful || self.macros.has(name, args.len()) => {
                return self.expand(line, name, args, depth);
            }
            ("undefmacro", [name]) => self.macros.forget(name, is_doubtful),
            _ => {}
        }
        let within = self.open.iter().filter_map(|open| match open {
            Open::Section(section) => Some(section.clone()),
            Open::Condition { .. } => None,
        });
        let within = within.collect();
        let place = line.place.clone();
        self.directives.push(Directive { place, name, shown, args, within, doubt });
        Ok(())
    }

    fn include(
        &mut self,
        line: &SourceLine,
        must_be: bool,
        pattern: &str,
        depth: usize,
    ) -> SvnResult<()> {
        if depth >= MAX_DEPTH {
            return Err(wrong(&line.place, "files include each other too deep"));
        }
        let path = self.root.join(pattern);
        let failed = |e| wrong(&line.place, format!("Can't read '{}': {e}", path.display()));
        let files = matching(&path).map_err(failed)?;
        if files.is_empty() && must_be && !is_pattern(pattern) {
            return Err(wrong(&line.place, format!("'{}' is not there", path.display())));
        }
        files.iter().try_for_each(|file| self.read(file, depth.plus(1)))
    }

    /// `Use`: the lines of a macro.
    fn expand(
        &mut self,
        line: &SourceLine,
        name: &str,
        args: &[String],
        depth: usize,
    ) -> SvnResult<()> {
        if depth >= MAX_DEPTH {
            return Err(wrong(&line.place, "macros use each other too deep"));
        }
        let (lines, doubtful) = self.macros.expand(line, name, args)?;
        if !doubtful {
            return self.take_lines(lines, depth.plus(1));
        }
        let answer = Answer::Unknown(format!("it is not known what the macro '{name}' is"));
        self.open.push(Open::Condition { name: String::new(), answer });
        let done = self.take_lines(lines, depth.plus(1));
        self.open.pop();
        done
    }

    /// A text with the values of `${NAME}` in it, and the first name whose value is not known.
    fn replaced(&self, text: &str) -> (String, Option<String>) {
        let (mut out, mut unknown) = (String::new(), None);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((name, more)) = after.split_once('}') else {
                out.push_str("${");
                rest = after;
                continue;
            };
            match self.conditions.value(name) {
                Some(value) => out.push_str(value),
                None => {
                    // With a colon it is a map of mod_rewrite's.
                    if !name.contains(':') && unknown.is_none() {
                        unknown = Some(name.to_owned());
                    }
                    out.push_str(&format!("${{{name}}}"));
                }
            }
            rest = more;
        }
        out.push_str(rest);
        (out, unknown)
    }
}

fn not_known(name: &str) -> String {
    format!("the value of ${{{name}}} is not known")
}

#[cfg(test)]
mod tests {
    use super::super::conditions::HttpdFacts;
    use super::*;

    struct Files(tempfile::TempDir);

    impl Files {
        fn write(&self, name: &str, text: &str) -> PathBuf {
            std::fs::write(self.0.path().join(name), text).unwrap();
            self.0.path().join(name)
        }

        fn read(&self, text: &str) -> SvnResult<Vec<String>> {
            let main = self.write("main", text);
            let given = HttpdFacts {
                modules: Some(vec!["ssl".to_owned()]),
                defines: Some(vec!["ON".to_owned()]),
                version: Some("2.4.1".to_owned()),
            };
            let conditions = Conditions::new(&given, true, false, &HashSet::new());
            let mut reader = Reader::new(conditions, self.0.path().to_owned());
            reader.read(&main, 0)?;
            let shown = |d: &Directive| {
                let around: Vec<_> = d.within.iter().map(|s| s.name.as_str()).collect();
                let doubt = if d.doubt.is_some() { "?" } else { "" };
                format!("{}:{}{doubt} {}", around.join("/"), d.name, d.args.join(" "))
            };
            Ok(reader.directives.iter().map(shown).collect())
        }
    }

    fn files() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    #[test]
    fn sections_and_files() {
        let files = files();
        files.write("10.inc", "One ${there} \\\n two\n");
        files.write("20.inc", "# nothing \\\n X\n");
        let found = files.read(
            "Define there 1\n<A x>\nInclude *.inc\n<b>\nC\n</B>\n</A>\nIncludeOptional no*\n",
        );
        assert_eq!(found.unwrap(), [":define there 1", "a:one 1 two", "a/b:c "]);
        for bad in ["<a>\n", "</a>\n", "<a>\n</b>\n", "<a\n</a>\n", "Include none\n", "Use none\n"]
        {
            assert!(files.read(bad).is_err(), "{bad}");
        }
        files.write("loop", "Include loop\n");
        assert!(files.read("Include loop\n").is_err());
    }

    #[test]
    fn conditions_of_reading() {
        let files = files();
        let found = files.read(
            "<IfModule ssl_module>\nA\n<IfModule !ssl_module>\nB\n<X>\n</X>\nInclude none\n</IfModule>\n</IfModule>\n\
             <IfDefine ON>\nC\n</IfDefine>\n<IfDefine !ON>\nD\n</IfDefine>\n<IfVersion < 2.4>\nE\n</IfVersion>\n\
             <IfDirective Z>\n<L>\nF\n</L>\n</IfDirective>\nG ${NOT}\n<IfFile main>\nH\n</IfFile>\n",
        );
        assert_eq!(found.unwrap(), [":a ", ":c ", "l:f? ", ":g? ${NOT}", ":h "]);
    }

    #[test]
    fn macros_are_expanded() {
        let files = files();
        let found = files.read(
            "<Macro Repo $n $name>\n<Location /$n>\nA $name ${n}\n</Location>\n</Macro>\nUse repo x \"y z\"\nUse Repo b c\n\
             <IfDirective Q>\n<Macro M>\nB\n</Macro>\n</IfDirective>\nUse M\n",
        );
        assert_eq!(found.unwrap(), ["location:a? y z ${n}", "location:a? c ${n}", ":b? "]);
    }
}
