//! One keyword in a text: `$Name$`, `$Name: value $`, `$Name::  value  $`.
//!
//! A keyword is at most [`MAX_LEN`] bytes long, dollar signs included; values are cut so that it
//! fits. The form with two colons keeps its width whatever the value is, and ends in `#$` where
//! the value was cut.

use sapwood_core::exact::{Cut, Exact};

/// The longest keyword with its value, in bytes.
pub(super) const MAX_LEN: usize = 255;

/// `$`, `: `, ` ` and `$` around name and value.
const AROUND: usize = 5;
/// `$`, `:: `, ` ` and `$` around name and value of fixed width.
const AROUND_FIXED: usize = 6;

/// The name that a text between two dollar signs may have: up to the first colon.
pub(super) fn name(text: &[u8]) -> &[u8] {
    let inner = text.piece(1..text.len().minus(1));
    let end = memchr::memchr(b':', inner).unwrap_or(inner.len());
    inner.head(end)
}

/// Rewrites `text`, which begins and ends with a dollar sign and has the name `name`, with a
/// value, or without one when there is none. `false`, with nothing changed, when the text has
/// none of the forms of a keyword.
pub(super) fn substitute(text: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) -> bool {
    let len = text.len();
    if len < name.len().plus(2) || name.len() > MAX_LEN - AROUND {
        return false;
    }
    let after = text.tail(name.len().plus(1));
    let before_end = len.checked_sub(2).and_then(|at| text.get(at)).copied();
    if after.starts_with(b":: ")
        && matches!(before_end, Some(b' ' | b'#'))
        && len > name.len().plus(AROUND_FIXED)
    {
        fixed_width(text, name, value);
        return true;
    }
    let expanded =
        after.starts_with(b": ") && before_end == Some(b' ') && len >= name.len().plus(4);
    if !(after.starts_with(b"$") || after.starts_with(b":$") || expanded) {
        return false;
    }
    text.truncate(name.len().plus(1));
    if let Some(value) = value {
        text.extend_from_slice(b": ");
        if !value.is_empty() {
            let room = (MAX_LEN - AROUND).minus(name.len());
            text.extend_from_slice(value.get(..room).unwrap_or(value));
            text.push(b' ');
        }
    }
    text.push(b'$');
    true
}

/// Puts a value, or blanks, into a keyword of fixed width.
fn fixed_width(text: &mut [u8], name: &[u8], value: Option<&[u8]>) {
    let room = text.len().minus(name.len().plus(AROUND_FIXED));
    let start = name.len().plus(AROUND_FIXED - 2);
    let value = value.unwrap_or(b"");
    let cut = value.len() > room;
    let shown = value.get(..room).unwrap_or(value);
    let (_, place) = text.split_at_mut(start.min(text.len()));
    let (target, rest) = place.split_at_mut(shown.len().min(place.len()));
    target.copy_from_slice(shown);
    if cut {
        if let Some(mark) = rest.first_mut() {
            *mark = b'#';
        }
        return;
    }
    // Blanks up to the next dollar sign, which may be one inside an old value.
    for byte in rest.iter_mut().take_while(|b| **b != b'$') {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, value: Option<&str>) -> Option<String> {
        let mut bytes = text.as_bytes().to_vec();
        let name = name(text.as_bytes()).to_vec();
        substitute(&mut bytes, &name, value.map(str::as_bytes))
            .then(|| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn forms() {
        let value = Some("17");
        for (text, expanded, plain) in [
            ("$Rev$", "$Rev: 17 $", "$Rev$"),
            ("$Rev:$", "$Rev: 17 $", "$Rev$"),
            ("$Rev: $", "$Rev: 17 $", "$Rev$"),
            ("$Rev: 1 $", "$Rev: 17 $", "$Rev$"),
            ("$Rev::      $", "$Rev:: 17   $", "$Rev::      $"),
            ("$Rev:: 12345#$", "$Rev:: 17    $", "$Rev::       $"),
            ("$Rev::  $", "$Rev: 17 $", "$Rev$"),
            ("$Rev::   $", "$Rev:: 1#$", "$Rev::   $"),
        ] {
            if text == "$Rev::  $" {
                // Too short to hold a value, and no plain form either.
                assert_eq!(with(text, value), None);
                continue;
            }
            assert_eq!(with(text, value).as_deref(), Some(expanded), "{text}");
            assert_eq!(with(text, None).as_deref(), Some(plain), "{text}");
        }
        assert_eq!(with("$Rev$", Some("")).as_deref(), Some("$Rev: $"));
        for text in ["$Rev:x $", "$Rev: x$", "$$"] {
            let got = with(text, value);
            assert!(got.is_none() || text == "$$", "{text}: {got:?}");
        }
    }

    #[test]
    fn longest() {
        let long = "v".repeat(300);
        let got = with("$Name$", Some(&long)).unwrap();
        assert_eq!(got.len(), MAX_LEN);
        assert!(got.ends_with("v $"));
    }
}
