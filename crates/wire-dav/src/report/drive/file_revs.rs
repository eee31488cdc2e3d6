//! The reply to a file-revs report: revisions of a file, each with an optional text delta.

use std::io::Read;

use sapwood_core::exact::Exact;
use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_delta::TextDelta;

use super::{Text, revision};
use crate::NS_SVN;
use crate::error::Error;
use crate::report::answer;
use crate::xml::{Document, Element, Event};

/// One revision of a file.
#[derive(Debug, Default)]
pub struct Head {
    /// The fspath there.
    pub path: String,
    /// The revision.
    pub revision: Revnum,
    /// The revision properties.
    pub revprops: PropList,
    /// Whether it was merged.
    pub merged: bool,
    /// How the file's properties changed.
    pub prop_changes: Vec<(String, Option<Vec<u8>>)>,
}

/// Takes a revision with its text delta.
pub type Taker<'t> = &'t mut dyn FnMut(&Head, Option<&mut dyn TextDelta>) -> SvnResult<()>;

/// Passes the revisions to `take`, one after the other. Returns how many there were.
///
/// # Errors
/// For an invalid reply, and errors of the connection and of `take`.
pub fn drive<R: Read>(mut document: Document<R>, take: Taker<'_>) -> SvnResult<u64> {
    if !document.root().is(NS_SVN, "file-revs-report") {
        return Err(Error::Reply("file-revs-report").into());
    }
    let mut count = 0u64;
    while let Some(event) = document.next_event()? {
        match event {
            Event::Start(element) if element.is(NS_SVN, "file-rev") => {
                one(&mut document, &element, take)?;
                count = count.plus(1);
            }
            Event::Start(element) => {
                document.whole(element)?;
            }
            Event::Text(_) | Event::End => {}
        }
    }
    Ok(count)
}

fn one<R: Read>(document: &mut Document<R>, start: &Element, take: Taker<'_>) -> SvnResult<()> {
    let mut head = Head {
        path: start.attribute("path").ok_or(Error::Reply("path"))?.to_owned(),
        revision: revision(start, "rev")?.ok_or(Error::Reply("rev"))?,
        ..Head::default()
    };
    let mut taken = false;
    loop {
        match document.next_event()?.ok_or(Error::Reply("file-rev"))? {
            Event::End => break,
            Event::Text(_) => {}
            Event::Start(element) if element.is(NS_SVN, "txdelta") && !taken => {
                taken = true;
                let mut text = Text::new(document);
                take(&head, Some(&mut text))?;
                text.drain()?;
            }
            Event::Start(element) => part(&document.whole(element)?, &mut head)?,
        }
    }
    if taken { Ok(()) } else { take(&head, None) }
}

fn part(element: &Element, head: &mut Head) -> SvnResult<()> {
    let name = || element.attribute("name").ok_or(Error::Reply("name"));
    match element.name.as_str() {
        "rev-prop" => {
            head.revprops.set(name()?, answer::value(element)?);
        }
        "set-prop" => {
            head.prop_changes.push((name()?.to_owned(), Some(answer::value(element)?)));
        }
        "remove-prop" => head.prop_changes.push((name()?.to_owned(), None)),
        "merged-revision" => head.merged = true,
        _ => {}
    }
    Ok(())
}
