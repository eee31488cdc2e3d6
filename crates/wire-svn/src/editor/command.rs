//! Editor commands as values.

use std::borrow::Cow;

use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum};

use crate::decode::Tuple;
use crate::error::{Error, Result};

/// One editor command, borrowed from the bytes it arrived in. Tokens are the names that the other
/// side gave to open directories and files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of `sapwood_delta::Editor`'s methods")]
pub enum EditCommand<'a> {
    TargetRev(Revnum),
    OpenRoot { base: Option<Revnum>, token: &'a [u8] },
    DeleteEntry { path: Cow<'a, RelPath>, revision: Option<Revnum>, parent: &'a [u8] },
    AddDir(Add<'a>),
    OpenDir(Open<'a>),
    ChangeDirProp(ChangeProp<'a>),
    CloseDir { token: &'a [u8] },
    AbsentDir { path: Cow<'a, RelPath>, parent: &'a [u8] },
    AddFile(Add<'a>),
    OpenFile(Open<'a>),
    ApplyTextDelta { token: &'a [u8], base: Option<Md5> },
    TextDeltaChunk { token: &'a [u8], chunk: &'a [u8] },
    TextDeltaEnd { token: &'a [u8] },
    ChangeFileProp(ChangeProp<'a>),
    CloseFile { token: &'a [u8], text: Option<Md5> },
    AbsentFile { path: Cow<'a, RelPath>, parent: &'a [u8] },
    CloseEdit,
    AbortEdit,
    FinishReplay,
}

/// An addition of a directory or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add<'a> {
    /// The relpath.
    pub path: Cow<'a, RelPath>,
    /// The directory it is in.
    pub parent: &'a [u8],
    /// Its own new token.
    pub token: &'a [u8],
    /// Where it is copied from: an fspath (replay) or a URL (commit).
    pub copy_from: Option<(&'a str, Revnum)>,
}

/// The opening of a directory or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The relpath.
    pub path: Cow<'a, RelPath>,
    /// The directory it is in.
    pub parent: &'a [u8],
    /// Its own new token.
    pub token: &'a [u8],
    /// The revision the receiver is believed to have.
    pub base: Option<Revnum>,
}

/// A change of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeProp<'a> {
    /// The directory or file.
    pub token: &'a [u8],
    /// The property's name.
    pub name: &'a str,
    /// The new value, `None` to delete.
    pub value: Option<&'a [u8]>,
}

fn add(mut params: Tuple<'_>) -> Result<Add<'_>> {
    let (path, parent, token) = (params.relpath()?, params.bytes()?, params.bytes()?);
    let mut copy = params.tuple()?;
    let copy_from = if copy.is_empty() { None } else { Some((copy.text()?, copy.rev()?)) };
    Ok(Add { path, parent, token, copy_from })
}

fn open(mut params: Tuple<'_>) -> Result<Open<'_>> {
    Ok(Open {
        path: params.relpath()?,
        parent: params.bytes()?,
        token: params.bytes()?,
        base: params.bracketed_rev()?,
    })
}

fn change_prop(mut params: Tuple<'_>) -> Result<ChangeProp<'_>> {
    Ok(ChangeProp {
        token: params.bytes()?,
        name: params.text()?,
        value: params.bracketed_bytes()?,
    })
}

fn bracketed_md5(params: &mut Tuple<'_>) -> Result<Option<Md5>> {
    match params.bracketed_bytes()? {
        None => Ok(None),
        Some(hex) => Md5::parse_expected(hex).ok_or(Error::NoChecksum),
    }
}

impl<'a> EditCommand<'a> {
    /// Takes a command apart; `None` when `name` is no editor command.
    ///
    /// # Errors
    /// When the parameters are not those of the command.
    pub fn read(name: &str, mut params: Tuple<'a>) -> Result<Option<Self>> {
        Ok(Some(match name {
            "target-rev" => Self::TargetRev(params.rev()?),
            "open-root" => Self::OpenRoot { base: params.bracketed_rev()?, token: params.bytes()? },
            "delete-entry" => Self::DeleteEntry {
                path: params.relpath()?,
                revision: params.bracketed_rev()?,
                parent: params.bytes()?,
            },
            "add-dir" => Self::AddDir(add(params)?),
            "open-dir" => Self::OpenDir(open(params)?),
            "change-dir-prop" => Self::ChangeDirProp(change_prop(params)?),
            "close-dir" => Self::CloseDir { token: params.bytes()? },
            "absent-dir" => Self::AbsentDir { path: params.relpath()?, parent: params.bytes()? },
            "add-file" => Self::AddFile(add(params)?),
            "open-file" => Self::OpenFile(open(params)?),
            "apply-textdelta" => {
                Self::ApplyTextDelta { token: params.bytes()?, base: bracketed_md5(&mut params)? }
            }
            "textdelta-chunk" => {
                Self::TextDeltaChunk { token: params.bytes()?, chunk: params.bytes()? }
            }
            "textdelta-end" => Self::TextDeltaEnd { token: params.bytes()? },
            "change-file-prop" => Self::ChangeFileProp(change_prop(params)?),
            "close-file" => {
                Self::CloseFile { token: params.bytes()?, text: bracketed_md5(&mut params)? }
            }
            "absent-file" => Self::AbsentFile { path: params.relpath()?, parent: params.bytes()? },
            "close-edit" => Self::CloseEdit,
            "abort-edit" => Self::AbortEdit,
            "finish-replay" => Self::FinishReplay,
            _ => return Ok(None),
        }))
    }
}
