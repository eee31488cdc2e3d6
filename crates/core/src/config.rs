//! Configuration files in Subversion's dialect of INI.
//!
//! Sections and options keep the order of the file. Values are bytes (old password files need
//! not be UTF-8); names are text, with bytes that are not UTF-8 replaced. The dialect:
//!
//! - `[section]`, comments (`#`) and options start in the first column; what follows `]` is
//!   ignored;
//! - `name = value` or `name : value`, whichever sign comes first;
//! - an indented line goes on with the value above it, joined by one space;
//! - `%(name)s` in a value stands for another value of the same section or of `[DEFAULT]`;
//!   unknown names stand for themselves, and a value that needs itself is empty;
//! - an option that a section lacks is looked for in `[DEFAULT]`, if the section exists at all.

use std::borrow::Cow;
use std::collections::HashMap;

mod expand;
mod parser;

pub use parser::{Event, SyntaxError, parse_events, trim};

use crate::error::{ErrorCode, SvnError, SvnResult};

/// The section whose options every other section has too.
pub const DEFAULT_SECTION: &str = "DEFAULT";

/// Whether names that differ only in case are one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Section names keep their case.
    pub sections: bool,
    /// Option names keep their case.
    pub options: bool,
}

impl Case {
    /// Case does not matter: the rule of `svnserve.conf` and of a user's own configuration.
    pub const INSENSITIVE: Self = Self { sections: false, options: false };
    /// Case matters: the rule of password and authorization files.
    pub const SENSITIVE: Self = Self { sections: true, options: true };
}

/// An option as the file has it, before expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    name: String,
    value: Vec<u8>,
}

/// One section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Section {
    name: String,
    items: Vec<Item>,
    /// From the key form of a name to its place in `items`.
    by_key: HashMap<String, usize>,
}

/// The contents of one configuration file, or of several merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    case: Case,
    sections: Vec<Section>,
    by_key: HashMap<String, usize>,
}

fn key(name: &str, sensitive: bool) -> Cow<'_, str> {
    if sensitive || !name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(name.to_ascii_lowercase())
    }
}

impl Config {
    /// An empty configuration.
    #[must_use]
    pub fn new(case: Case) -> Self {
        Self { case, ..Self::default() }
    }

    /// Parses a file's bytes.
    ///
    /// # Errors
    /// A [`SyntaxError`] that holds the line number as the reference counts it.
    pub fn parse(bytes: &[u8], case: Case) -> Result<Self, SyntaxError> {
        let mut config = Self::new(case);
        parse_events(bytes, &mut |event| {
            if let Event::Value { section, option, value } = event {
                let text = String::from_utf8_lossy;
                config.set(&text(section), &text(option), value);
            }
            Ok(())
        })?;
        Ok(config)
    }

    /// Parses the bytes of the file `path`, which is named in errors as the reference does it.
    ///
    /// # Errors
    /// `E200002` below a sentence with the file's name.
    pub fn parse_file(path: &str, bytes: &[u8], case: Case) -> SvnResult<Self> {
        Self::parse(bytes, case).map_err(|error| {
            SvnError::from(error).context(format!("Error while parsing config file: {path}:"))
        })
    }

    fn section(&self, name: &str) -> Option<&Section> {
        let at = self.by_key.get(key(name, self.case.sections).as_ref())?;
        self.sections.get(*at)
    }

    fn item_of<'a>(&'a self, section: &'a Section, option: &str) -> Option<&'a Item> {
        let key = key(option, self.case.options);
        let own = section.by_key.get(key.as_ref()).and_then(|at| section.items.get(*at));
        own.or_else(|| {
            let default = self.section(DEFAULT_SECTION)?;
            default.by_key.get(key.as_ref()).and_then(|at| default.items.get(*at))
        })
    }

    /// The expanded value of an option, as bytes.
    #[must_use]
    pub fn get_bytes(&self, section: &str, option: &str) -> Option<Cow<'_, [u8]>> {
        let section = self.section(section)?;
        self.item_of(section, option).map(|item| expand::expand(self, section, item))
    }

    /// The expanded value of an option; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn get(&self, section: &str, option: &str) -> Option<Cow<'_, str>> {
        self.get_bytes(section, option).map(lossy)
    }

    /// An option that says yes or no: `true`, `yes`, `on`, `1`, or `false`, `no`, `off`, `0`.
    ///
    /// # Errors
    /// `E125009` for any other word.
    pub fn get_bool(&self, section: &str, option: &str, default: bool) -> SvnResult<bool> {
        match self.get(section, option) {
            None => Ok(default),
            Some(word) => parse_bool(&word).ok_or_else(|| bad_bool(&word, section, option)),
        }
    }

    /// As [`Config::get_bool`], with one more word that is answered by `None`.
    ///
    /// # Errors
    /// `E125009` for any other word.
    pub fn get_tristate(
        &self,
        section: &str,
        option: &str,
        unknown: &str,
        default: Option<bool>,
    ) -> SvnResult<Option<bool>> {
        match self.get(section, option) {
            None => Ok(default),
            Some(word) if word.eq_ignore_ascii_case(unknown) => Ok(None),
            Some(word) => {
                parse_bool(&word).map(Some).ok_or_else(|| bad_bool(&word, section, option))
            }
        }
    }

    /// An option that is a decimal number.
    ///
    /// # Errors
    /// `E200004` when it is not, or does not fit 64 bits.
    pub fn get_i64(&self, section: &str, option: &str, default: i64) -> SvnResult<i64> {
        self.get(section, option).map_or(Ok(default), |text| parse_i64(&text))
    }

    /// Whether there is a section of this name.
    #[must_use]
    pub fn has_section(&self, name: &str) -> bool {
        self.section(name).is_some()
    }

    /// The names of the sections that hold an option, in the order of the file.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|s| s.name.as_str())
    }

    /// Names and expanded values of the options of one section, in the order of the file and
    /// without those of the default section. None when there is no such section.
    pub fn options(&self, section: &str) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
        self.section(section).into_iter().flat_map(move |s| {
            s.items.iter().map(move |item| (item.name.as_str(), expand::expand(self, s, item)))
        })
    }

    /// Sets an option, adding the section if needed. As in the reference, an option that the
    /// section has only from the default section is changed there.
    pub fn set(&mut self, section: &str, option: &str, value: &[u8]) {
        let section_key = key(section, self.case.sections);
        let option_key = key(option, self.case.options);
        let at = self.by_key.get(section_key.as_ref()).copied();
        let default = self.by_key.get(key(DEFAULT_SECTION, self.case.sections).as_ref()).copied();
        for at in at.into_iter().chain(at.and(default)) {
            let Some(section) = self.sections.get_mut(at) else { continue };
            let Some(item) = section.by_key.get(option_key.as_ref()) else { continue };
            if let Some(item) = section.items.get_mut(*item) {
                item.value = value.to_vec();
                return;
            }
        }
        let at = at.unwrap_or_else(|| {
            let at = self.sections.len();
            self.sections.push(Section { name: section.to_owned(), ..Section::default() });
            self.by_key.insert(section_key.into_owned(), at);
            at
        });
        if let Some(section) = self.sections.get_mut(at) {
            section.by_key.insert(option_key.into_owned(), section.items.len());
            section.items.push(Item { name: option.to_owned(), value: value.to_vec() });
        }
    }

    /// Sets everything that `other` has, over what is there.
    pub fn merge(&mut self, other: &Self) {
        for section in &other.sections {
            for item in &section.items {
                self.set(&section.name, &item.name, &item.value);
            }
        }
    }
}

fn lossy(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(
            String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        ),
    }
}

/// The words that mean yes and no, in any case.
#[must_use]
fn parse_bool(word: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
    if is(&["true", "yes", "on", "1"]) {
        Some(true)
    } else if is(&["false", "no", "off", "0"]) {
        Some(false)
    } else {
        None
    }
}

fn bad_bool(word: &str, section: &str, option: &str) -> SvnError {
    SvnError::new(
        ErrorCode::BAD_CONFIG_VALUE,
        format!("Config error: invalid boolean value '{word}' for '[{section}] {option}'"),
    )
}

/// A decimal number as the reference reads it from options and arguments: leading white space
/// and a sign are allowed.
///
/// # Errors
/// `E200004` when it is not a number, or does not fit.
pub fn parse_i64(text: &str) -> SvnResult<i64> {
    let trimmed = text.trim_ascii_start();
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            format!("Could not convert '{text}' into a number"),
        ));
    }
    trimmed.parse().map_err(|_| {
        SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            format!("Number '{text}' is out of range '[{}, {}]'", i64::MIN, i64::MAX),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text.as_bytes(), Case::INSENSITIVE).unwrap()
    }

    #[test]
    fn sections_options_and_order() {
        let c = config("[b]\nz = 1\nA: x = y \n[a]\nq =\n[B]\nz=2\n[empty]\n");
        assert_eq!(c.sections().collect::<Vec<_>>(), ["b", "a"]);
        let options: Vec<_> = c.options("b").map(|(n, v)| (n, v.into_owned())).collect();
        assert_eq!(options, [("z", b"2".to_vec()), ("A", b"x = y".to_vec())]);
        assert_eq!(c.get("B", "a").as_deref(), Some("x = y"));
        assert_eq!(c.get("a", "q").as_deref(), Some(""));
        assert_eq!(c.get("a", "z"), None);
        assert!(!c.has_section("empty"));
        let c = Config::parse(b"[B]\nz=1\n[b]\nz=2\nZ=3\n", Case::SENSITIVE).unwrap();
        assert_eq!(c.get("B", "z").as_deref(), Some("1"));
        assert_eq!(c.get("b", "Z").as_deref(), Some("3"));
    }

    #[test]
    fn default_section() {
        let c = config("[DEFAULT]\na = 1\nb=%(a)s%(c)s\n[s]\nc = x\n[t]\na=2\n");
        assert_eq!(c.get("s", "a").as_deref(), Some("1"));
        assert_eq!(c.get("s", "b").as_deref(), Some("1x"));
        assert_eq!(c.get("nowhere", "a"), None);
        // [t] did not exist when its `a` was read, so it has one of its own.
        assert_eq!(c.get("t", "a").as_deref(), Some("2"));
        let c = config("[DEFAULT]\na = 1\n[s]\nc = x\na=2\n");
        assert_eq!(c.get("DEFAULT", "a").as_deref(), Some("2"));
        assert_eq!(c.options("s").count(), 1);
    }

    #[test]
    fn words_and_numbers() {
        let c =
            config("[s]\ny=YES\nn=Off\nask=Ask\nbad=maybe\nn1= -12\nn2=x\nn3=9223372036854775808");
        assert!(c.get_bool("s", "y", false).unwrap());
        assert!(!c.get_bool("s", "n", true).unwrap());
        assert!(c.get_bool("s", "absent", true).unwrap());
        assert_eq!(c.get_tristate("s", "ask", "ask", Some(true)).unwrap(), None);
        assert_eq!(c.get_tristate("s", "y", "ask", None).unwrap(), Some(true));
        assert_eq!(
            c.get_bool("s", "bad", true).unwrap_err().to_string(),
            "E125009: Config error: invalid boolean value 'maybe' for '[s] bad'"
        );
        assert_eq!(c.get_i64("s", "n1", 0).unwrap(), -12);
        assert_eq!(c.get_i64("s", "absent", 7).unwrap(), 7);
        assert_eq!(
            c.get_i64("s", "n2", 0).unwrap_err().to_string(),
            "E200004: Could not convert 'x' into a number"
        );
        assert!(c.get_i64("s", "n3", 0).unwrap_err().message().contains("out of range"));
    }

    #[test]
    fn values_need_not_be_utf8() {
        let c = Config::parse(b"[users]\njo = p\xe4ss\n", Case::SENSITIVE).unwrap();
        assert_eq!(c.get_bytes("users", "jo").as_deref(), Some(&b"p\xe4ss"[..]));
        assert_eq!(c.get("users", "jo").as_deref(), Some("p\u{fffd}ss"));
    }

    #[test]
    fn merging_overrides() {
        let mut c = config("[s]\na=1\nb=2\n");
        c.merge(&config("[S]\nB=3\n[t]\nx=y\n"));
        assert_eq!(c.get("s", "a").as_deref(), Some("1"));
        assert_eq!(c.get("s", "b").as_deref(), Some("3"));
        assert_eq!(c.get("t", "x").as_deref(), Some("y"));
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = Config::parse_file("/x/svnserve.conf", b"[a]\nb\n", Case::INSENSITIVE);
        assert_eq!(
            error.unwrap_err().to_string(),
            "E200002: Error while parsing config file: /x/svnserve.conf:; \
             E200002: line 1: Option must end with ':' or '='"
        );
    }
}
