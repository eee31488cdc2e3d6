//! `entries` files of formats up to 6: XML, an element `entry` for each node.
//!
//! Everything is an attribute, flags are `true` or `false`. Other elements and other attributes are
//! passed over; document types are refused.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, SvnError};

use super::entry::{
    Entry, Schedule, checked_name, checked_path, checked_url, date, invalid, kind, revision, size,
    utf8,
};
use crate::error::{Error, Result};

/// The entries of a file, in its order. `shown` is the directory, for messages.
///
/// # Errors
/// Those of [`super::parse_entries`].
pub(super) fn parse(bytes: &[u8], shown: &str) -> Result<Vec<Entry>> {
    read(utf8(bytes)?).map_err(|failed| match failed {
        ReadFailure::Entry(error) => error,
        ReadFailure::Xml(what) => {
            let malformed =
                SvnError::new(ErrorCode::XML_MALFORMED, format!("Malformed XML: {what}"));
            let text = format!("XML parser failed in '{shown}'");
            malformed.wrap(ErrorCode::XML_MALFORMED, text).into()
        }
    })
}

/// Why a file cannot be read.
enum ReadFailure {
    Xml(String),
    Entry(Error),
}

impl From<Error> for ReadFailure {
    fn from(error: Error) -> Self {
        Self::Entry(error)
    }
}

impl From<quick_xml::Error> for ReadFailure {
    fn from(error: quick_xml::Error) -> Self {
        Self::Xml(error.to_string())
    }
}

fn read(text: &str) -> std::result::Result<Vec<Entry>, ReadFailure> {
    let mut reader = Reader::from_str(text);
    let mut found = Vec::new();
    let mut open = 0usize;
    let mut elements = 0usize;
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                open = open.plus(1);
                elements = elements.plus(1);
                found.extend(entry_of(&start)?);
            }
            Event::Empty(start) => {
                elements = elements.plus(1);
                found.extend(entry_of(&start)?);
            }
            Event::End(_) => open = open.minus(1),
            Event::DocType(_) => return Err(ReadFailure::Xml("a document type".to_owned())),
            Event::Eof => break,
            _ => {}
        }
    }
    if open > 0 || elements == 0 {
        return Err(ReadFailure::Xml("no element found".to_owned()));
    }
    Ok(found)
}

/// The attributes of an element, by name.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// A value that counts as none when it is empty.
    fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn path(&self, name: &str) -> Result<Option<String>> {
        self.filled(name).map(checked_path).transpose()
    }

    fn url(&self, name: &str) -> Result<Option<String>> {
        self.filled(name).map(checked_url).transpose()
    }

    fn date(&self, name: &str) -> Result<sapwood_core::date::Timestamp> {
        self.get(name).map_or(Ok(sapwood_core::date::Timestamp(0)), |text| date(text.as_bytes()))
    }

    fn revision(&self, name: &str) -> Option<sapwood_core::Revnum> {
        self.get(name).and_then(|text| revision(text.as_bytes()))
    }

    fn flag(&self, name: &str, of: &str) -> Result<bool> {
        match self.get(name) {
            Some("true") => Ok(true),
            None | Some("false" | "") => Ok(false),
            Some(_) => Err(invalid(of, name)),
        }
    }
}

/// The entry that an element is, if it is one.
fn entry_of(start: &BytesStart<'_>) -> std::result::Result<Option<Entry>, ReadFailure> {
    let name: &str = start.name().into_inner();
    if name != "entry" {
        return Ok(None);
    }
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| ReadFailure::Xml(e.to_string()))?;
        let value = attribute.normalized_value(XmlVersion::Explicit1_0)?;
        let name: &str = attribute.key.into_inner();
        attributes.push((name.to_owned(), value.into_owned()));
    }
    Ok(Some(entry(&Attributes(attributes))?))
}

fn entry(has: &Attributes) -> Result<Entry> {
    let name = match has.filled("name") {
        Some(name) => checked_name(name)?,
        None => String::new(),
    };
    let word = has.get("schedule").unwrap_or("");
    let mut entry = Entry {
        revision: has.revision("revision"),
        url: has.url("url")?,
        repos: has.url("repos")?,
        uuid: has.text("uuid"),
        schedule: Schedule::from_word(word.as_bytes()).ok_or_else(|| invalid(&name, "schedule"))?,
        text_time: has.date("text-time")?,
        working_size: has.get("working-size").and_then(|text| size(text.as_bytes())),
        checksum: has.text("checksum"),
        changed_revision: has.revision("committed-rev"),
        changed_date: has.date("committed-date")?,
        changed_author: has.text("last-author"),
        prop_reject: has.path("prop-reject-file")?,
        conflict_old: has.path("conflict-old")?,
        conflict_new: has.path("conflict-new")?,
        conflict_working: has.path("conflict-wrk")?,
        copied: has.flag("copied", &name)?,
        copyfrom_url: has.url("copyfrom-url")?,
        copyfrom_revision: has.revision("copyfrom-rev"),
        deleted: has.flag("deleted", &name)?,
        absent: has.flag("absent", &name)?,
        incomplete: has.flag("incomplete", &name)?,
        lock_token: has.text("lock-token"),
        lock_owner: has.text("lock-owner"),
        lock_comment: has.text("lock-comment"),
        lock_date: has.date("lock-creation-date")?,
        ..Entry::default()
    };
    if let Some(word) = has.get("kind") {
        entry.kind = kind(word.as_bytes(), &name)?;
    }
    entry.name = name;
    entry.check_root()?;
    Ok(entry)
}
