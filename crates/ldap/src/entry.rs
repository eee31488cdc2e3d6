//! An entry that a search found: its name and its attributes.
//!
//! `ldap3` has such a type, whose maker panics at an answer that is malformed; this one gives an error.

use std::collections::HashMap;

use ldap3::ResultEntry;
use ldap3::asn1::{PL, StructureTag};

/// An entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its distinguished name.
    pub(crate) dn: String,
    /// The values of each attribute, by its name in lower case.
    attributes: HashMap<String, Vec<Vec<u8>>>,
}

impl Entry {
    /// Reads an answer (`SearchResultEntry`, RFC 4511, section 4.5.2).
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn of(answer: ResultEntry) -> Result<Self, &'static str> {
        let mut parts = inner(answer.0)?.into_iter();
        let dn = text(parts.next().ok_or("an entry without a name")?)?;
        let mut attributes = HashMap::new();
        for attribute in inner(parts.next().ok_or("an entry without attributes")?)? {
            let mut parts = inner(attribute)?.into_iter();
            let name = text(parts.next().ok_or("an attribute without a name")?)?;
            let values = inner(parts.next().ok_or("an attribute without values")?)?;
            let values = values.into_iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
            attributes.insert(name.to_ascii_lowercase(), values);
        }
        Ok(Self { dn, attributes })
    }

    /// The values of an attribute.
    pub(crate) fn values(&self, attribute: &str) -> &[Vec<u8>] {
        self.attributes.get(&attribute.to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The only value of an attribute.
    pub(crate) fn value(&self, attribute: &str) -> Option<&[u8]> {
        match self.values(attribute) {
            [value] => Some(value),
            _ => None,
        }
    }

    /// The only value of an attribute, if it is text.
    pub(crate) fn text(&self, attribute: &str) -> Option<&str> {
        std::str::from_utf8(self.value(attribute)?).ok()
    }

    #[cfg(test)]
    pub(crate) fn with(dn: &str, attributes: &[(&str, &[&str])]) -> Self {
        let values = |values: &[&str]| values.iter().map(|v| v.as_bytes().to_vec()).collect();
        let attributes =
            attributes.iter().map(|(name, all)| ((*name).to_owned(), values(all))).collect();
        Self { dn: dn.to_owned(), attributes }
    }
}

fn inner(tag: StructureTag) -> Result<Vec<StructureTag>, &'static str> {
    match tag.payload {
        PL::C(tags) => Ok(tags),
        PL::P(_) => Err("a value where a list belongs"),
    }
}

fn bytes(tag: StructureTag) -> Result<Vec<u8>, &'static str> {
    match tag.payload {
        PL::P(bytes) => Ok(bytes),
        PL::C(_) => Err("a list where a value belongs"),
    }
}

fn text(tag: StructureTag) -> Result<String, &'static str> {
    String::from_utf8(bytes(tag)?).map_err(|_| "a name that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use ldap3::asn1::TagClass;

    use super::*;

    fn tag(payload: PL) -> StructureTag {
        StructureTag { class: TagClass::Universal, id: 4, payload }
    }

    fn value(bytes: &[u8]) -> StructureTag {
        tag(PL::P(bytes.to_vec()))
    }

    fn list(tags: Vec<StructureTag>) -> StructureTag {
        tag(PL::C(tags))
    }

    #[test]
    fn entries_of_answers() {
        let attribute = list(vec![value(b"uid"), list(vec![value(b"ada"), value(b"\xff")])]);
        let answer = list(vec![value(b"uid=ada"), list(vec![attribute])]);
        let entry = Entry::of(ResultEntry::new(answer)).unwrap();
        assert_eq!((entry.dn.as_str(), entry.values("UID").len()), ("uid=ada", 2));
        assert_eq!((entry.value("uid"), entry.text("cn")), (None, None));
    }

    #[test]
    fn malformed_answers_are_errors() {
        let attributes = |tag| list(vec![value(b"x"), list(vec![tag])]);
        for bad in [
            value(b"x"),
            list(vec![]),
            list(vec![value(b"x")]),
            list(vec![value(b"\xff"), list(vec![])]),
            list(vec![list(vec![]), list(vec![])]),
            list(vec![value(b"x"), value(b"y")]),
            attributes(value(b"x")),
            attributes(list(vec![])),
            attributes(list(vec![value(b"uid")])),
            attributes(list(vec![value(b"uid"), value(b"ada")])),
            attributes(list(vec![value(b"uid"), list(vec![list(vec![])])])),
        ] {
            assert!(Entry::of(ResultEntry::new(bad.clone())).is_err(), "{bad:?}");
        }
    }
}
