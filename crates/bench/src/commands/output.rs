//! What both systems printed, compared: names of their folders, ports and times are taken out first.

use std::fs;
use std::io::Read as _;

use sapwood_core::{Cut as _, SvnError, SvnResult};

use super::rows::{Order, Row};
use super::run::PRINTED;
use super::site::Site;

/// The most that is compared of an output.
const COMPARED: u64 = 64 << 20;

/// How the outputs of both systems differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They were not compared.
    None,
    /// Not at all.
    Same,
    /// By the order of lines, or of words, only, where the reference promises none.
    Order,
    /// Otherwise.
    Differs,
}

/// Compares what the last runs of a row printed.
pub(super) fn compare(row: &Row, first: &Site, second: &Site) -> SvnResult<Comparison> {
    if row.order == Order::NotCompared {
        return Ok(Comparison::None);
    }
    let (a, b) = (printed(first)?, printed(second)?);
    if a == b {
        return Ok(Comparison::Same);
    }
    let same = row.order == Order::Hash && words(&a) == words(&b);
    Ok(if same { Comparison::Order } else { Comparison::Differs })
}

/// The words of an output, without their order.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'>');
    let mut words: Vec<&[u8]> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words
}

fn printed(site: &Site) -> SvnResult<Vec<u8>> {
    let path = site.folder.join(PRINTED);
    let failed = |e| SvnError::io(&e, format_args!("Can't read '{}'", path.display()));
    let mut text = Vec::new();
    let file = fs::File::open(&path).map_err(failed)?;
    file.take(COMPARED).read_to_end(&mut text).map_err(failed)?;
    let mut names = site.names();
    // The longest first: one may begin with another.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    Ok(neutral(&text, &names))
}

/// A text without the names of a site and without times.
fn neutral(text: &[u8], names: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(byte) = rest.first() {
        if let Some(name) = names.iter().find(|name| rest.starts_with(name.as_bytes())) {
            out.push(b'@');
            rest = rest.tail(name.len());
            continue;
        }
        match time(rest) {
            Some(len) => {
                out.extend_from_slice(b"TIME");
                rest = rest.tail(len);
            }
            None => {
                out.push(*byte);
                rest = rest.tail(1);
            }
        }
    }
    out
}

/// The length of a time at the start of a text, as `svn` prints them: a date, a clock time, and what follows of a zone.
fn time(text: &[u8]) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00?00:00:00";
    let head = text.get(..FORM.len())?;
    let fits = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        b'?' => matches!(byte, b' ' | b'T'),
        other => byte == other,
    });
    if !fits {
        return None;
    }
    let mut len = FORM.len();
    let rest = |len: usize| text.tail(len);
    len += rest(len).iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    if rest(len).starts_with(b"Z") {
        len += 1;
    }
    let zone = rest(len).get(..6).filter(|zone| {
        matches!(zone, [b' ', b'+' | b'-', digits @ ..] if digits.iter().all(u8::is_ascii_digit))
    });
    if zone.is_some() {
        len += 6;
        if rest(len).starts_with(b" (")
            && let Some(end) = rest(len).iter().position(|b| *b == b')')
        {
            len += end + 1;
        }
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let names = ["/tmp/x/sapwood".to_owned(), "svn://127.0.0.1:99".to_owned()];
        String::from_utf8(neutral(text.as_bytes(), &names)).unwrap()
    }

    #[test]
    fn names_and_times_are_taken_out() {
        assert_eq!(plain("in /tmp/x/sapwood/w"), "in @/w");
        assert_eq!(plain("URL: svn://127.0.0.1:99/r"), "URL: @/r");
        assert_eq!(plain("<date>2026-11-27T10:00:00.123456Z</date>"), "<date>TIME</date>");
        assert_eq!(plain("a 2026-11-27 10:00:00 +0000 (Fri, 27 Nov 2026) b"), "a TIME b");
        assert_eq!(plain("2026-11-27 is no time"), "2026-11-27 is no time");
        assert_eq!(plain("2026-11-27 10:00:00 +"), "TIME +");
    }

    #[test]
    fn words_have_no_order() {
        assert_eq!(words(b"<a x=\"1\"\n y=\"2\">"), words(b"<a\ny=\"2\" x=\"1\" >"));
        assert_ne!(words(b"a b"), words(b"a b b"));
    }
}
