//! Reading editor commands and driving an editor with them: the receiving end of a commit, and of
//! an update at the client.

use std::collections::HashMap;

use sapwood_core::exact::Cut;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_delta::{Decoder, Editor, EncodedDelta, Handle, TextDelta, Version, Window};

use crate::decode::{List, Tuple};
use crate::editor::command::EditCommand;
use crate::error::Error;
use crate::failure::read_failure;

/// Most directories and files that may be open at one time. Commits of the reference's client
/// keep every changed file open to the end.
pub const MAX_OPEN: usize = 1 << 20;

/// Where commands come from.
pub trait CommandSource {
    /// Receives the next command and lets `look` have its name and parameters.
    ///
    /// # Errors
    /// Errors of the connection, and what `look` returns.
    fn next_command<T>(
        &mut self,
        look: impl FnOnce(&str, List<'_>) -> Result<T, DriveError>,
    ) -> Result<T, DriveError>;
}

/// How an edit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// `close-edit`: all of it was applied. A reply is due.
    Closed,
    /// `abort-edit`: the driver gave up. A reply is due.
    Aborted,
    /// `finish-replay`: one revision of a replay is complete. No reply.
    ReplayFinished,
}

/// Why an edit did not come to an end.
#[derive(Debug)]
pub enum DriveError {
    /// The editor failed: the other side gets the error, and its commands up to `abort-edit` to be
    /// ignored.
    Editor(SvnError),
    /// The other side sent a failure in place of a command.
    Failure(SvnError),
    /// The connection failed, or its data are malformed.
    Source(SvnError),
}

impl From<Error> for DriveError {
    fn from(error: Error) -> Self {
        if error.is_of_a_value() { Self::Editor(error.into()) } else { Self::Source(error.into()) }
    }
}

impl DriveError {
    /// The error itself.
    #[must_use]
    pub fn into_inner(self) -> SvnError {
        match self {
            Self::Editor(e) | Self::Failure(e) | Self::Source(e) => e,
        }
    }
}

/// What follows a command.
enum Step {
    Next,
    Text(Handle, Option<sapwood_core::Md5>, Vec<u8>),
    End(Outcome),
}

#[derive(Default)]
struct Tokens {
    open: HashMap<Vec<u8>, (Handle, bool)>,
}

impl Tokens {
    fn find(&self, token: &[u8], is_file: bool) -> Result<Handle, Error> {
        match self.open.get(token) {
            Some((handle, file)) if *file == is_file => Ok(*handle),
            _ => Err(Error::Part("Invalid file or dir token during edit")),
        }
    }

    fn insert(&mut self, token: &[u8], handle: Handle, is_file: bool) -> Result<(), Error> {
        if self.open.len() >= MAX_OPEN {
            return Err(Error::TooManyItems);
        }
        self.open.insert(token.to_vec(), (handle, is_file));
        Ok(())
    }
}

/// Drives `editor` with the commands of `source` to the end of the edit. `finish-replay` ends it
/// only with `for_replay`.
///
/// # Errors
/// As [`DriveError`] says. The editor is not aborted here: the caller knows whether it has to be.
pub fn drive(
    source: &mut impl CommandSource,
    editor: &mut dyn Editor,
    for_replay: bool,
) -> Result<Outcome, DriveError> {
    let mut tokens = Tokens::default();
    loop {
        let step = source.next_command(|name, params| {
            if name == "failure" {
                return Err(DriveError::Failure(read_failure(params)));
            }
            match EditCommand::read(name, params.tuple())? {
                Some(EditCommand::FinishReplay) if !for_replay => Err(outside_replay()),
                Some(command) => apply(&command, editor, &mut tokens),
                None => Err(unknown(name)),
            }
        })?;
        match step {
            Step::Next => {}
            Step::End(outcome) => return Ok(outcome),
            Step::Text(file, base, token) => {
                let mut delta = IncomingDelta::new(source, token);
                let result = editor.apply_textdelta(file, base, &mut delta);
                // The connection's own failure comes back as the editor's; it is distinguished here.
                if let Some(error) = delta.failed.take() {
                    return Err(error);
                }
                result.map_err(DriveError::Editor)?;
                delta.drain()?;
            }
        }
    }
}

fn unknown(name: &str) -> DriveError {
    DriveError::Editor(SvnError::new(
        ErrorCode::RA_SVN_UNKNOWN_CMD,
        format!("Unknown editor command '{name}'"),
    ))
}

fn outside_replay() -> DriveError {
    DriveError::Source(SvnError::new(
        ErrorCode::RA_SVN_UNKNOWN_CMD,
        "Command 'finish-replay' invalid outside of replays",
    ))
}

fn apply(
    command: &EditCommand<'_>,
    editor: &mut dyn Editor,
    tokens: &mut Tokens,
) -> Result<Step, DriveError> {
    let failed = DriveError::Editor;
    match command {
        EditCommand::TargetRev(rev) => editor.set_target_revision(*rev).map_err(failed)?,
        EditCommand::OpenRoot { base, token } => {
            let handle = editor.open_root(*base).map_err(failed)?;
            tokens.insert(token, handle, false)?;
        }
        EditCommand::DeleteEntry { path, revision, parent } => {
            let parent = tokens.find(parent, false)?;
            editor.delete_entry(path, *revision, parent).map_err(failed)?;
        }
        EditCommand::AddDir(add) => {
            let parent = tokens.find(add.parent, false)?;
            let dir = editor.add_directory(&add.path, parent, add.copy_from).map_err(failed)?;
            tokens.insert(add.token, dir, false)?;
        }
        EditCommand::OpenDir(open) => {
            let parent = tokens.find(open.parent, false)?;
            let dir = editor.open_directory(&open.path, parent, open.base).map_err(failed)?;
            tokens.insert(open.token, dir, false)?;
        }
        EditCommand::ChangeDirProp(change) => {
            let dir = tokens.find(change.token, false)?;
            editor.change_dir_prop(dir, change.name, change.value).map_err(failed)?;
        }
        EditCommand::CloseDir { token } => {
            let dir = tokens.find(token, false)?;
            editor.close_directory(dir).map_err(failed)?;
            tokens.open.remove(*token);
        }
        EditCommand::AbsentDir { path, parent } => {
            let parent = tokens.find(parent, false)?;
            editor.absent_directory(path, parent).map_err(failed)?;
        }
        EditCommand::AddFile(add) => {
            let parent = tokens.find(add.parent, false)?;
            let file = editor.add_file(&add.path, parent, add.copy_from).map_err(failed)?;
            tokens.insert(add.token, file, true)?;
        }
        EditCommand::OpenFile(open) => {
            let parent = tokens.find(open.parent, false)?;
            let file = editor.open_file(&open.path, parent, open.base).map_err(failed)?;
            tokens.insert(open.token, file, true)?;
        }
        EditCommand::ApplyTextDelta { token, base } => {
            let file = tokens.find(token, true)?;
            return Ok(Step::Text(file, *base, token.to_vec()));
        }
        EditCommand::TextDeltaChunk { .. } | EditCommand::TextDeltaEnd { .. } => {
            return Err(Error::Part("Apply-textdelta not active").into());
        }
        EditCommand::ChangeFileProp(change) => {
            let file = tokens.find(change.token, true)?;
            editor.change_file_prop(file, change.name, change.value).map_err(failed)?;
        }
        EditCommand::CloseFile { token, text } => {
            let file = tokens.find(token, true)?;
            editor.close_file(file, *text).map_err(failed)?;
            tokens.open.remove(*token);
        }
        EditCommand::AbsentFile { path, parent } => {
            let parent = tokens.find(parent, false)?;
            editor.absent_file(path, parent).map_err(failed)?;
        }
        EditCommand::CloseEdit => {
            editor.close_edit().map_err(failed)?;
            return Ok(Step::End(Outcome::Closed));
        }
        EditCommand::AbortEdit => {
            editor.abort_edit().map_err(failed)?;
            return Ok(Step::End(Outcome::Aborted));
        }
        EditCommand::FinishReplay => return Ok(Step::End(Outcome::ReplayFinished)),
    }
    Ok(Step::Next)
}

/// The text delta whose chunks are the next commands.
struct IncomingDelta<'s, S> {
    source: &'s mut S,
    token: Vec<u8>,
    chunk: Vec<u8>,
    decoder: Decoder,
    ended: bool,
    /// The first chunk was fetched to look at its header, and no caller has had it yet.
    peeked: bool,
    failed: Option<DriveError>,
}

impl<'s, S: CommandSource> IncomingDelta<'s, S> {
    fn new(source: &'s mut S, token: Vec<u8>) -> Self {
        Self {
            source,
            token,
            chunk: Vec::new(),
            decoder: Decoder::new(),
            ended: false,
            peeked: false,
            failed: None,
        }
    }

    /// Puts the next chunk into `self.chunk`; false at the end.
    fn fetch(&mut self) -> Result<bool, DriveError> {
        self.pass(true)
    }

    /// Comes to the next chunk, and with `keep` puts it into `self.chunk`; false at the end.
    fn pass(&mut self, keep: bool) -> Result<bool, DriveError> {
        self.chunk.clear();
        if self.ended {
            return Ok(false);
        }
        let Self { source, token, chunk, .. } = self;
        let more = source.next_command(|name, params| {
            match EditCommand::read(name, params.tuple())? {
                Some(EditCommand::TextDeltaChunk { token: t, chunk: c }) if t == token => {
                    if keep {
                        chunk.extend_from_slice(c);
                    }
                    Ok(true)
                }
                Some(EditCommand::TextDeltaEnd { token: t }) if t == token => Ok(false),
                // Drivers finish one text before they say anything else.
                _ => Err(Error::Malformed.into()),
            }
        })?;
        self.ended = !more;
        Ok(more)
    }

    /// [`IncomingDelta::fetch`] for the editor's side: keeps the error for the driver.
    fn fetch_noted(&mut self) -> SvnResult<bool> {
        self.fetch().map_err(|error| {
            let reported = match &error {
                DriveError::Editor(e) | DriveError::Failure(e) | DriveError::Source(e) => e.clone(),
            };
            self.failed.get_or_insert(error);
            reported
        })
    }

    /// Reads the rest that the editor did not read.
    fn drain(&mut self) -> Result<(), DriveError> {
        while self.pass(false)? {}
        Ok(())
    }
}

impl<S: CommandSource> TextDelta for IncomingDelta<'_, S> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        loop {
            if std::mem::take(&mut self.peeked) {
                self.decoder.push(&self.chunk);
            }
            if let Some(window) = self.decoder.next_window()? {
                return Ok(Some(window));
            }
            if !self.fetch_noted()? {
                self.decoder.finish()?;
                return Ok(None);
            }
            self.decoder.push(&self.chunk);
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        if !self.peeked {
            // An error is kept, and comes out of the driver.
            if self.ended || !self.fetch_noted().unwrap_or(false) {
                return None;
            }
            self.peeked = true;
        }
        let header = self.chunk.first_chunk()?;
        let version = Version::of_header(*header).ok()?;
        if version <= newest { Some(self) } else { None }
    }
}

impl<S: CommandSource> EncodedDelta for IncomingDelta<'_, S> {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        if !std::mem::take(&mut self.peeked) {
            loop {
                if !self.fetch_noted()? {
                    return Ok(None);
                }
                // Pieces are never empty, chunks may be.
                if !self.chunk.is_empty() {
                    break;
                }
            }
        }
        Ok(Some(&self.chunk))
    }
}

/// A source over commands that are all in memory.
#[derive(Debug)]
pub struct MemorySource<'b> {
    bytes: &'b [u8],
    decoder: crate::Decoder,
}

impl<'b> MemorySource<'b> {
    /// A source of the commands in `bytes`.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, decoder: crate::Decoder::new(crate::Limits::default()) }
    }
}

impl CommandSource for MemorySource<'_> {
    fn next_command<T>(
        &mut self,
        look: impl FnOnce(&str, List<'_>) -> Result<T, DriveError>,
    ) -> Result<T, DriveError> {
        self.decoder.reset();
        let crate::Progress::Complete(len) = self.decoder.advance(self.bytes)? else {
            return Err(DriveError::Source(SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, "")));
        };
        let item = self.bytes.head(len);
        self.bytes = self.bytes.tail(len);
        let mut command: Tuple<'_> = self.decoder.tuple(item)?;
        let name = command.word()?;
        look(name, command.list()?)
    }
}

#[cfg(test)]
mod tests;
