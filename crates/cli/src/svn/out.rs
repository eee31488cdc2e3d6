//! Standard output, shared by a subcommand and by the callbacks of the operations that it starts.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use sapwood_core::{SvnError, SvnResult};
use sapwood_wc::WorkingCopy;

use crate::output::Output;
use crate::{report, terminal};

/// The working copy of which a lock may be held.
#[derive(Clone, Default)]
struct LockOwner(Rc<RefCell<Option<WorkingCopy>>>);

impl LockOwner {
    fn let_go(&self) -> SvnResult<()> {
        self.0.borrow().as_ref().map_or(Ok(()), |wc| Ok(wc.db().let_go()?))
    }
}

/// Writes where a reader may keep it waiting, with no lock held.
struct ReleasingWriter<W> {
    to: W,
    owner: LockOwner,
}

impl<W: Write> Write for ReleasingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.owner.let_go().map_err(io::Error::other)?;
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.owner.let_go().map_err(io::Error::other)?;
        self.to.flush()
    }
}

/// Standard output. Clones write to the same.
#[derive(Clone)]
pub(crate) struct Out {
    to: Rc<RefCell<Output>>,
    owner: LockOwner,
    /// Whether a person watches: then every line is shown at once.
    terminal: bool,
}

impl Out {
    pub(crate) fn stdout() -> Self {
        let owner = LockOwner::default();
        let to = ReleasingWriter { to: io::stdout().lock(), owner: owner.clone() };
        let to = Rc::new(RefCell::new(Output::to(Box::new(to))));
        Self { to, owner, terminal: terminal::stdout_is_one() }
    }

    /// Says of which working copy a lock may be held while output is collected: it is let go of before the reader of the
    /// output is waited for.
    pub(crate) fn writes_without(&self, wc: Option<&WorkingCopy>) {
        *self.owner.0.borrow_mut() = wc.cloned();
    }

    /// Writes text in the terminal's encoding.
    pub(crate) fn text(&self, text: &str) -> SvnResult<()> {
        self.make_room(text.as_bytes());
        self.to.borrow_mut().text(text)
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> SvnResult<()> {
        self.make_room(bytes);
        self.to.borrow_mut().bytes(bytes)
    }

    /// Takes the line of progress away, if it is on the terminal that this goes to.
    fn make_room(&self, text: &[u8]) {
        if self.terminal {
            terminal::make_room(text);
        }
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&self) -> SvnResult<()> {
        self.to.borrow_mut().flush()
    }

    /// The same if a person watches.
    pub(crate) fn show(&self) -> SvnResult<()> {
        if self.terminal { self.flush() } else { Ok(()) }
    }

    /// Writes a warning to standard error, after what was written before it.
    pub(crate) fn warn(&self, error: &SvnError) {
        let _ = self.flush();
        report::warning(error, "svn: ");
    }

    /// Writes text to standard error, after what was written before it.
    pub(crate) fn stderr(&self, text: &str) {
        let _ = self.flush();
        report::stderr(text);
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut *self.to.borrow_mut())
    }
}
