//! Log lines as JSON, for programs that collect logs.
//!
//! Invariant: a line is one line of printable ASCII, whatever clients have sent: everything else is escaped as `\\uXXXX`.

use std::fmt::Write as _;

use sapwood_core::exact::Cut as _;
use serde_json::Value;

/// Longest text of a client within a line, in bytes.
const MAX_TEXT: usize = 4096;

/// A text that may be long, as a value.
pub(crate) fn text(text: &str) -> Value {
    Value::from(text.piece(..text.floor_char_boundary(MAX_TEXT)))
}

/// The line of an object, with its end.
pub(crate) fn line(value: &Value) -> String {
    let json = value.to_string();
    let mut line = String::with_capacity(json.len());
    let mut units = [0; 2];
    // Outside of texts JSON is ASCII, and serde_json has escaped its control characters.
    for c in json.chars() {
        match c {
            ' '..='~' => line.push(c),
            _ => {
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_is_one_line_of_ascii() {
        let hostile = "a\"b\\c\n\r\u{1b}[31m\u{7f}\u{202e}é\u{1f600}\u{0}\u{2028}";
        let line = line(&serde_json::json!({ "text": hostile }));
        assert!(line.trim_end_matches('\n').bytes().all(|b| (b' '..=b'~').contains(&b)), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        let back: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["text"], hostile);
        assert_eq!(text(&"é".repeat(9000)).as_str().unwrap().len(), MAX_TEXT);
    }
}
