//! An editor that writes its calls as editor commands.

use sapwood_core::exact::Exact;
use sapwood_core::{Md5, NodeKind, Revnum, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta, Version};

use crate::encode::{Encode, Sink};
use crate::error::Error;
use sapwood_delta::write_svndiff;

/// A [`Sink`] whose other side may answer before the edit is over.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the connection")]
pub trait EditSink: Sink {
    /// Whether the other side has sent something, though it was not its turn: it has met an error
    /// and wants the edit to end. Cheap when nothing was sent since the last call.
    fn peer_spoke(&mut self) -> SvnResult<bool>;

    /// Sends everything and reads one reply; the error when that is a failure.
    fn read_reply(&mut self) -> SvnResult<()>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn buffer(&mut self) -> &mut Vec<u8> {
        (**self).buffer()
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        (**self).flush_if_large()
    }

    fn write_through(&mut self, bytes: &[u8]) -> SvnResult<()> {
        (**self).write_through(bytes)
    }
}

impl<S: EditSink + ?Sized> EditSink for &mut S {
    fn peer_spoke(&mut self) -> SvnResult<bool> {
        (**self).peer_spoke()
    }

    fn read_reply(&mut self) -> SvnResult<()> {
        (**self).read_reply()
    }
}

/// The capabilities of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireOptions {
    /// The newest svndiff version it reads.
    pub svndiff: Version,
    /// How hard to compress where that is done here, 0 to 9.
    pub compression: u8,
    /// Whether it supports `absent-dir` and `absent-file`.
    pub absent_entries: bool,
}

/// Writes an edit into a sink. Tokens are `d` and `c` with the number of the node.
pub struct WireEditor<S> {
    sink: S,
    options: WireOptions,
    next: u64,
    /// The other side has answered: nothing more may be said, and nothing more will come.
    answered: bool,
}

impl<S> WireEditor<S> {
    /// Where the commands go.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }
}

impl<S: EditSink> WireEditor<S> {
    /// An editor for one edit.
    pub fn new(sink: S, options: WireOptions) -> Self {
        Self { sink, options, next: 0, answered: false }
    }

    /// Looks whether the other side wants the edit to end, and opens a command.
    fn begin(&mut self, head: &[u8]) -> SvnResult<&mut Vec<u8>> {
        self.check()?;
        let out = self.sink.buffer();
        out.raw(head);
        Ok(out)
    }

    fn check(&mut self) -> SvnResult<()> {
        self.sink.flush_if_large()?;
        if !self.sink.peer_spoke()? {
            return Ok(());
        }
        self.answered = true;
        self.sink.buffer().raw(b"( abort-edit ( ) ) ");
        self.sink.read_reply()?;
        Err(Error::Part("Successful edit status returned too soon").into())
    }

    fn take_handle(&mut self) -> Handle {
        let handle = Handle(self.next);
        self.next = self.next.plus(1);
        handle
    }

    fn add(
        &mut self,
        head: &[u8],
        letter: u8,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let handle = self.take_handle();
        let out = self.begin(head)?;
        out.text(path);
        token(out, b'd', parent);
        token(out, letter, handle);
        out.open();
        if let Some((path, rev)) = copy_from {
            out.text(path);
            out.rev(rev);
        }
        out.raw(b") ) ) ");
        Ok(handle)
    }

    fn open(
        &mut self,
        head: &[u8],
        letter: u8,
        path: &str,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let handle = self.take_handle();
        let out = self.begin(head)?;
        out.text(path);
        token(out, b'd', parent);
        token(out, letter, handle);
        out.bracketed_rev(base);
        out.raw(b") ) ");
        Ok(handle)
    }

    fn change_prop(
        &mut self,
        head: &[u8],
        letter: u8,
        node: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        let out = self.begin(head)?;
        token(out, letter, node);
        out.text(name);
        out.bracketed(value);
        out.raw(b") ) ");
        Ok(())
    }

    fn absent(&mut self, head: &[u8], path: &str, parent: Handle) -> SvnResult<()> {
        if !self.options.absent_entries {
            return Ok(());
        }
        let out = self.begin(head)?;
        out.text(path);
        token(out, b'd', parent);
        out.raw(b") ) ");
        Ok(())
    }
}

/// Appends a node's token as a string.
fn token(out: &mut Vec<u8>, letter: u8, handle: Handle) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(handle.0).as_bytes();
    out.string_head(digits.len().plus(1));
    out.push(letter);
    out.raw(digits);
    out.push(b' ');
}

impl<S: EditSink> WireEditor<S> {
    fn text(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let out = self.begin(b"( apply-textdelta ( ")?;
        token(out, b'c', file);
        out.open();
        if let Some(base) = base {
            checksum(out, base);
        }
        out.raw(b") ) ) ");
        let options = self.options;
        write_svndiff(delta, options.svndiff, options.compression, &mut |chunk| {
            let out = self.begin(b"( textdelta-chunk ( ")?;
            token(out, b'c', file);
            self.sink.put_string(chunk)?;
            self.sink.buffer().raw(b") ) ");
            Ok(())
        })?;
        let out = self.begin(b"( textdelta-end ( ")?;
        token(out, b'c', file);
        out.raw(b") ) ");
        Ok(())
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let out = self.begin(b"( close-file ( ")?;
        token(out, b'c', file);
        out.open();
        if let Some(text) = text {
            checksum(out, text);
        }
        out.raw(b") ) ) ");
        Ok(())
    }

    fn close(&mut self) -> SvnResult<()> {
        self.answered = true;
        self.sink.buffer().raw(b"( close-edit ( ) ) ");
        self.sink.read_reply().inspect_err(|_| {
            // The other side reads on until it sees this.
            self.sink.buffer().raw(b"( abort-edit ( ) ) ");
        })
    }

    fn abort(&mut self) -> SvnResult<()> {
        if self.answered {
            return Ok(());
        }
        self.answered = true;
        self.sink.buffer().raw(b"( abort-edit ( ) ) ");
        self.sink.read_reply()
    }
}

impl<S: EditSink> StepEditor for WireEditor<S> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        use NodeKind::{Dir, File};
        match step {
            EditStep::TargetRevision(revision) => {
                let out = self.begin(b"( target-rev ( ")?;
                out.rev(revision);
                out.raw(b") ) ");
            }
            EditStep::OpenRoot(base) => {
                let handle = self.take_handle();
                let out = self.begin(b"( open-root ( ")?;
                out.bracketed_rev(base);
                token(out, b'd', handle);
                out.raw(b") ) ");
                return Ok(handle);
            }
            EditStep::Delete { path, revision, parent } => {
                let out = self.begin(b"( delete-entry ( ")?;
                out.text(path);
                out.bracketed_rev(revision);
                token(out, b'd', parent);
                out.raw(b") ) ");
            }
            EditStep::Add { kind: Dir, path, parent, copy_from } => {
                return self.add(b"( add-dir ( ", b'd', path, parent, copy_from);
            }
            EditStep::Add { kind: File, path, parent, copy_from } => {
                return self.add(b"( add-file ( ", b'c', path, parent, copy_from);
            }
            EditStep::Open { kind: Dir, path, parent, base } => {
                return self.open(b"( open-dir ( ", b'd', path, parent, base);
            }
            EditStep::Open { kind: File, path, parent, base } => {
                return self.open(b"( open-file ( ", b'c', path, parent, base);
            }
            EditStep::Absent { kind: Dir, path, parent } => {
                self.absent(b"( absent-dir ( ", path, parent)?;
            }
            EditStep::Absent { kind: File, path, parent } => {
                self.absent(b"( absent-file ( ", path, parent)?;
            }
            EditStep::Prop { kind: Dir, node, name, value } => {
                self.change_prop(b"( change-dir-prop ( ", b'd', node, name, value)?;
            }
            EditStep::Prop { kind: File, node, name, value } => {
                self.change_prop(b"( change-file-prop ( ", b'c', node, name, value)?;
            }
            EditStep::Text { file, base, delta } => self.text(file, base, delta)?,
            EditStep::CloseDirectory(dir) => {
                let out = self.begin(b"( close-dir ( ")?;
                token(out, b'd', dir);
                out.raw(b") ) ");
            }
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit => self.close()?,
            EditStep::AbortEdit => self.abort()?,
        }
        Ok(Handle::NONE)
    }
}

/// Appends a checksum as a string of hexadecimal digits.
fn checksum(out: &mut Vec<u8>, sum: Md5) {
    out.raw(b"32:");
    out.raw(sum.hex_digits().as_flattened());
    out.push(b' ');
}
