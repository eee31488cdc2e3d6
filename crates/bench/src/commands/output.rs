//! What both systems printed, compared: names of their folders, ports and times are taken out first.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Take};
use std::path::{Path, PathBuf};

use sapwood_core::{Cut as _, Exact as _, SvnError, SvnResult};

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

/// Compares what the last runs of a row printed, a line at a time: what this program holds in memory counts as the peak of each
/// command that it runs later.
pub(super) fn compare(row: &Row, first: &Site, second: &Site) -> SvnResult<Comparison> {
    if row.order == Order::NotCompared {
        return Ok(Comparison::None);
    }
    let (mut a, mut b) = (LastOutput::open(first)?, LastOutput::open(second)?);
    loop {
        match (a.line()?, b.line()?) {
            (None, None) => return Ok(Comparison::Same),
            (one, other) if one == other => {}
            _ => break,
        }
    }
    let same = row.order == Order::Hash && words(first)? == words(second)?;
    Ok(if same { Comparison::Order } else { Comparison::Differs })
}

/// How often each word stands in an output.
fn words(site: &Site) -> SvnResult<HashMap<Vec<u8>, u64>> {
    let mut printed = LastOutput::open(site)?;
    let mut counts = HashMap::new();
    while let Some(line) = printed.line()? {
        count_words(&line, &mut counts);
    }
    Ok(counts)
}

fn count_words(line: &[u8], counts: &mut HashMap<Vec<u8>, u64>) {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'>');
    for word in line.split(is_between).filter(|word| !word.is_empty()) {
        let count = counts.entry(word.to_vec()).or_default();
        *count = count.plus(1);
    }
}

/// What a site's last run printed.
struct LastOutput {
    path: PathBuf,
    reader: BufReader<Take<File>>,
    /// What is not the same at both sites; the longest first, as one may begin with another.
    names: Vec<String>,
}

impl LastOutput {
    fn open(site: &Site) -> SvnResult<Self> {
        let path = site.folder.join(PRINTED);
        let file = File::open(&path).map_err(|e| cannot_read(&path, &e))?;
        let mut names = site.names();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Ok(Self { path, reader: BufReader::new(file.take(COMPARED)), names })
    }

    /// The next line, neutral, with its end; `None` behind the last.
    fn line(&mut self) -> SvnResult<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line);
        let len = read.map_err(|e| cannot_read(&self.path, &e))?;
        Ok((len > 0).then(|| neutral(&line, &self.names)))
    }
}

fn cannot_read(path: &Path, error: &std::io::Error) -> SvnError {
    SvnError::io(error, format_args!("Can't read '{}'", path.display()))
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
        let words = |text: &[u8]| {
            let mut counts = HashMap::new();
            text.split_inclusive(|byte| *byte == b'\n')
                .for_each(|line| count_words(line, &mut counts));
            counts
        };
        assert_eq!(words(b"<a x=\"1\"\n y=\"2\">"), words(b"<a\ny=\"2\" x=\"1\" >"));
        assert_ne!(words(b"a b"), words(b"a b b"));
    }
}
