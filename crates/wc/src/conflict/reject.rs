//! The contents of a `.prej` file: for each property in conflict a sentence, and the values.

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::skel::Skel;
use sapwood_core::{PropList, ascii};
use sapwood_diff::{ConflictStyle, Labels, Options, diff3_whole, write_merged};

use super::skel::{Conflict, Operation};
use crate::error::Result;

/// How many bytes of a value are checked to see whether it is text.
const LOOKED_AT: usize = 1024;

const LABELS: Labels<'static> = Labels {
    modified: "<<<<<<< (local property value)",
    original: "||||||| (incoming 'changed from' value)",
    separator: "=======",
    latest: ">>>>>>> (incoming 'changed to' value)",
};

/// The text of the `.prej` file of a conflict. `pristine` are the node's pristine properties,
/// which count where the conflict comes from a merge.
#[must_use]
pub(crate) fn prej_text(conflict: &Conflict, pristine: &PropList) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(prop) = &conflict.prop else { return out };
    let merged = conflict.operation == Some(Operation::Merge);
    let original = if merged { Some(pristine) } else { prop.old.as_ref() };
    for name in &prop.names {
        let get = |props: Option<&PropList>| props.and_then(|p| p.get(name)).map(<[u8]>::to_vec);
        let values = Values {
            original: get(original),
            mine: get(prop.mine.as_ref()),
            incoming: get(prop.theirs.as_ref()),
            incoming_base: get(prop.old.as_ref()),
        };
        values.describe(name, &mut out);
    }
    out
}

/// The same from a skel as versions before 1.9 put it into the work queue:
/// `(WHATEVER (prop NAME ([ORIGINAL]) ([MINE]) ([INCOMING]) ([INCOMING-BASE]))...)`.
///
/// # Errors
/// When it is no such skel.
pub(crate) fn prej_text_of_skel(bytes: &[u8]) -> Result<Vec<u8>> {
    let malformed = || sapwood_core::skel::Error;
    let skel = Skel::parse(bytes)?;
    let mut out = Vec::new();
    for conflict in skel.list().ok_or_else(malformed)?.iter().skip(1) {
        let [_, name, values @ ..] = conflict.list().ok_or_else(malformed)? else {
            return Err(malformed().into());
        };
        let name = name.atom().and_then(|n| std::str::from_utf8(n).ok()).ok_or_else(malformed)?;
        let value = |at: usize| -> Option<Vec<u8>> {
            Some(values.get(at)?.list()?.first()?.atom()?.to_vec())
        };
        let values = Values {
            original: value(0),
            mine: value(1),
            incoming: value(2),
            incoming_base: value(3),
        };
        values.describe(name, &mut out);
    }
    Ok(out)
}

/// The four values of a property in conflict: pristine, local, and the incoming change.
struct Values {
    original: Option<Vec<u8>>,
    mine: Option<Vec<u8>>,
    incoming: Option<Vec<u8>>,
    incoming_base: Option<Vec<u8>>,
}

impl Values {
    fn describe(&self, name: &str, out: &mut Vec<u8>) {
        let (action, reason) = self.sentence();
        out.extend_from_slice(
            format!("Trying to {action} property '{name}'\n{reason}\n").as_bytes(),
        );
        let [mine, incoming, base] = [&self.mine, &self.incoming, &self.incoming_base]
            .map(|value| value.as_deref().unwrap_or(b""));
        if ![mine, incoming, base].into_iter().any(is_binary) {
            let diff = diff3_whole(&Options::default(), base, mine, incoming);
            if diff.has_conflicts() {
                let [base, mine, incoming] = [base, mine, incoming].map(plain);
                let texts = (base.as_bytes(), mine.as_bytes(), incoming.as_bytes());
                let style = ConflictStyle::ModifiedOriginalLatest;
                // Writing to memory does not fail.
                let _written = write_merged(out, &diff, texts, &LABELS, style);
                return;
            }
        }
        for (title, value) in [("Local", mine), ("Incoming", incoming)] {
            if value.is_empty() {
                continue;
            }
            out.extend_from_slice(format!("{title} property value:\n").as_bytes());
            if is_binary(value) {
                out.extend_from_slice(b"Cannot display: property value is binary data\n");
            } else {
                out.extend_from_slice(value);
            }
            out.push(b'\n');
        }
    }

    /// What was tried, and why it could not be done.
    fn sentence(&self) -> (&'static str, &'static str) {
        let original = self.original.as_ref();
        let mine = self.mine.as_ref();
        match (&self.incoming_base, &self.incoming) {
            (None, _) if mine.is_some() => ("add new", "but the property already exists."),
            (None, _) => ("add new", "but the property has been locally deleted."),
            (Some(base), None) => (
                "delete",
                match (original, mine) {
                    (None, Some(_)) => "but the property has been locally added.",
                    (Some(original), Some(_)) if original == base => {
                        "but the property has been locally modified."
                    }
                    (Some(original), None) if original != base => {
                        "but the property has been locally deleted and had a different value."
                    }
                    _ => "but the local property value is different.",
                },
            ),
            (Some(_), Some(_)) => (
                "change",
                match (original, mine) {
                    (Some(original), Some(mine)) if original == mine => {
                        "but the local property value conflicts with the incoming change."
                    }
                    (Some(_), Some(_)) => {
                        "but the property has already been locally changed to a different value."
                    }
                    (Some(_), None) => "but the property has been locally deleted.",
                    (None, Some(_)) => {
                        "but the property has been locally added with a different value."
                    }
                    (None, None) => "but the property does not exist locally.",
                },
            ),
        }
    }
}

/// A value as it is shown between the marks of a conflict: in ASCII, and as far as its first NUL.
fn plain(value: &[u8]) -> String {
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    ascii::of_bytes(value.head(end))
}

/// Whether bytes are no text: they hold a NUL, or mostly bytes that texts in ASCII do not have.
fn is_binary(value: &[u8]) -> bool {
    let head = value.get(..LOOKED_AT).unwrap_or(value);
    if head.is_empty() || head == b"\xef\xbb\xbf" {
        return false;
    }
    if head.contains(&0) {
        return true;
    }
    let odd = head.iter().filter(|b| matches!(b, 0..7 | 0x0e..0x20 | 0x7f..)).count();
    odd.times(1000).checked_div(head.len()).is_some_and(|part| part > 850)
}

#[cfg(test)]
mod tests {
    use super::super::skel::PropConflict;
    use super::*;

    fn text(base: Option<&str>, mine: Option<&str>, theirs: Option<&str>) -> String {
        let list =
            |value: Option<&str>| -> PropList { value.map(|v| ("p", v)).into_iter().collect() };
        let mut conflict = Conflict::new(Operation::Update, None, None);
        conflict.prop = Some(PropConflict {
            marker: None,
            names: vec!["p".to_owned()],
            old: Some(list(base)),
            mine: Some(list(mine)),
            theirs: Some(list(theirs)),
        });
        String::from_utf8(prej_text(&conflict, &PropList::new())).unwrap()
    }

    #[test]
    fn as_the_reference_writes_them() {
        assert_eq!(
            text(Some("b"), Some("m"), Some("t")),
            "Trying to change property 'p'\nbut the property has already been locally changed to a \
             different value.\n<<<<<<< (local property value)\nm||||||| (incoming 'changed from' \
             value)\nb=======\nt>>>>>>> (incoming 'changed to' value)\n"
        );
        assert_eq!(
            text(None, Some("m\n"), Some("t\n")),
            "Trying to add new property 'p'\nbut the property already exists.\n<<<<<<< (local \
             property value)\nm\n||||||| (incoming 'changed from' value)\n=======\nt\n>>>>>>> \
             (incoming 'changed to' value)\n"
        );
        assert!(text(Some("b"), None, Some("t")).contains("locally deleted"));
        assert!(text(Some("b"), Some("m\0"), Some("t")).ends_with(
            "Local property value:\nCannot display: property value is binary data\n\n\
             Incoming property value:\nt\n"
        ));
    }
}
