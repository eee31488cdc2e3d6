//! A file's properties and contents. Both are asked for together, where requests may be sent before the replies to
//! earlier ones have come.
//!
//! Invariant: the receiver gets a file once, and contents whose checksum is that of the properties, or an error.

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use sapwood_core::checksum::Md5Hasher;
use sapwood_core::exact::Cut as _;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::multistatus::Resource;
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV};

use super::client::Call;
use super::endpoints::{propfind, propfind_call, read_propfind};
use super::raw_connection::{Head, RawConnection};
use super::request_queue::write;
use super::session::HttpSession;
use crate::session::{FetchedFile, FileReceiver, Files};

/// Bytes of a file that are passed on at a time.
const CHUNK: usize = 64 << 10;

/// What is asked of a file beside its contents.
fn wanted(all: bool) -> PropfindRequest {
    if all {
        return PropfindRequest::All;
    }
    PropfindRequest::These(vec![
        Name::new(NS_DAV, "resourcetype"),
        Name::new(NS_SVN_DAV, "md5-checksum"),
    ])
}

/// The file among the answers.
fn the_file(found: Vec<Resource>) -> SvnResult<Resource> {
    let resource = found.into_iter().next().ok_or_else(|| {
        let message = "The PROPFIND response did not include the requested resource";
        SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message)
    })?;
    if resource.kind() == Some(NodeKind::Dir) {
        let message = "Can't get text contents of a directory";
        return Err(SvnError::new(ErrorCode::FS_NOT_FILE, message));
    }
    Ok(resource)
}

/// A file's revision, its properties if they are wanted, and the checksum of its contents.
fn properties(
    resource: &Resource,
    revision: Revnum,
    all: bool,
) -> SvnResult<(FetchedFile, Option<Md5>)> {
    let sum = resource.prop(NS_SVN_DAV, "md5-checksum");
    let sum = sum.and_then(|prop| Md5::parse(prop.trimmed().as_bytes()));
    let props = if all { resource.properties()? } else { PropList::new() };
    Ok((FetchedFile { revision, props }, sum))
}

/// Passes the contents of a file on.
fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    path: &RelPath,
    expected: Option<Md5>,
) -> SvnResult<()> {
    let mut sum = Md5Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let len = from.read(&mut chunk).map_err(SvnError::from_stream)?;
        let piece = chunk.head(len);
        if piece.is_empty() {
            break;
        }
        sum.update(piece);
        to.write_all(piece).map_err(SvnError::from_stream)?;
    }
    let actual = sum.finish();
    match expected {
        Some(expected) if expected != actual => {
            Err(SvnError::checksum_mismatch(path, expected, actual))
        }
        _ => Ok(()),
    }
}

/// The answers to both requests that were sent together, of which the contents are still to be read.
struct Answers {
    found: Vec<Resource>,
    connection: RawConnection,
    text: Head,
}

impl HttpSession {
    fn text_call<'t>(&self, target: &'t str) -> Call<'t> {
        Call::new("GET", target).with("accept-encoding", self.client.packings())
    }

    /// Sends both requests. `None` when they are to be sent one after the other: the server wants other credentials, or
    /// closes connections.
    ///
    /// # Errors
    /// What the server says of the file.
    fn ask_together(&self, target: &str, all: bool) -> SvnResult<Option<Answers>> {
        let client = &self.client;
        let mut connection = RawConnection::take_over(client)?;
        let sent = write(client, &mut connection, &propfind_call(target, "0", &wanted(all)))
            .and_then(|()| write(client, &mut connection, &self.text_call(target)));
        match sent {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(_) => return Ok(None),
            Ok(()) => {}
        }
        let Some((reply, last)) = connection.reply(client, true)? else { return Ok(None) };
        if last || reply.status() == 401 {
            return Ok(None);
        }
        let found = match read_propfind(reply, target) {
            Ok(found) => found,
            Err(error) => {
                // The other reply is read, so that the connection can be used again.
                if matches!(connection.reply(client, true), Ok(Some((_, false)))) {
                    connection.give_back(client)?;
                }
                return Err(error);
            }
        };
        match connection.head(client, true)?.flatten() {
            Some(text) if text.status == 200 => Ok(Some(Answers { found, connection, text })),
            _ => Ok(None),
        }
    }
}

impl Files for HttpSession {
    fn file_head(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        all: bool,
    ) -> SvnResult<FetchedFile> {
        let (target, revision) = self.stable(path, revision)?;
        let found = propfind(&self.client, &target, "0", &wanted(all), None)?;
        Ok(properties(&the_file(found)?, revision, all)?.0)
    }

    /// Passes a file to a receiver, without its properties unless `all` are wanted.
    fn read_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        all: bool,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        let (target, revision) = self.stable(path, revision)?;
        if self.client.may_pipeline()
            && let Some(answers) = self.ask_together(&target, all)?
        {
            let Answers { found, mut connection, text } = answers;
            let (file, sum) = properties(&the_file(found)?, revision, all)?;
            let mut body = connection.body(&self.client, text.length);
            if text.gzip {
                copy(&mut MultiGzDecoder::new(&mut body), receiver.begin(file)?, path, sum)?;
            } else {
                copy(&mut body, receiver.begin(file)?, path, sum)?;
            }
            // The end of the body, after what was packed in it.
            std::io::copy(&mut body, &mut std::io::sink()).map_err(SvnError::from_stream)?;
            return if text.last { Ok(()) } else { connection.give_back(&self.client) };
        }
        let found = propfind(&self.client, &target, "0", &wanted(all), None)?;
        let (file, sum) = properties(&the_file(found)?, revision, all)?;
        let mut reply = self.client.run_expecting(&self.text_call(&target), &[200])?;
        copy(&mut reply, receiver.begin(file)?, path, sum)
    }
}
