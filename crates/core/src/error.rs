//! E-codes and the error chain that a person or a client sees.
//!
//! Each crate has an error enum of its own; every one of them converts into [`SvnError`], the one
//! form that reaches the command line (`svn: E160013: ...`) or the wire.

use std::fmt;

use crate::checksum::Md5;

mod codes;
mod meaning;

/// A Subversion error number, the `160013` of `E160013`. System errors (`errno` values, as the
/// reference passes them through) are numbers below 120000 and are printed with six digits too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u32);

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:06}", self.0)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Shorthand for results that carry an [`SvnError`].
pub type SvnResult<T> = Result<T, SvnError>;

/// An error as people see it: an E-code, a sentence, and what caused it.
///
/// An empty message stands for the code's own generic sentence ([`ErrorCode::generic_message`]).
#[derive(Clone, PartialEq, Eq)]
pub struct SvnError {
    inner: Box<Inner>,
}

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    message: String,
    cause: Option<SvnError>,
}

impl SvnError {
    /// An error without a cause.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { code, message: message.into(), cause: None }) }
    }

    /// An error of ours: something that cannot happen did. The request fails with E235000 and says
    /// where, which is better than an answer that may be wrong.
    #[must_use]
    #[track_caller]
    pub fn internal(what: &str) -> Self {
        let place = std::panic::Location::caller();
        debug_assert!(false, "internal error at {place}: {what}");
        let message = format!("internal error at {}:{}: {what}", place.file(), place.line());
        Self::new(ErrorCode::ASSERTION_FAIL, message)
    }

    /// A text does not have the expected checksum (E200014). `shown` is the file as people know it.
    #[must_use]
    pub fn checksum_mismatch(shown: impl fmt::Display, expected: Md5, actual: Md5) -> Self {
        let message = format!(
            "Checksum mismatch for '{shown}':\n   expected:  {expected}\n     actual:  {actual}\n"
        );
        Self::new(ErrorCode::CHECKSUM_MISMATCH, message)
    }

    /// Puts this error below a new, more general one.
    #[must_use]
    pub fn wrap(self, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { code, message: message.into(), cause: Some(self) }) }
    }

    /// Puts a more general sentence with the same code on top (the reference's "quick wrap").
    #[must_use]
    pub fn context(self, message: impl Into<String>) -> Self {
        let code = self.code();
        self.wrap(code, message)
    }

    /// The same error with `cause` at the very end of its chain.
    #[must_use]
    pub fn with_cause(mut self, cause: Self) -> Self {
        self.inner.cause = Some(match self.inner.cause.take() {
            Some(old) => old.with_cause(cause),
            None => cause,
        });
        self
    }

    /// The outermost code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.inner.code
    }

    /// The outermost message, possibly empty.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// What caused this error.
    #[must_use]
    pub fn cause(&self) -> Option<&Self> {
        self.inner.cause.as_ref()
    }

    /// This error and its causes, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |e| e.cause())
    }

    /// Whether `code` appears anywhere in the chain.
    #[must_use]
    pub fn has_code(&self, code: ErrorCode) -> bool {
        self.chain().any(|e| e.code() == code)
    }

    /// The error for a failed system call: `errno` as the code where there is one, and a sentence
    /// that ends with the system's own words, in the reference's form
    /// (`Can't open file '/x': No such file or directory`).
    #[must_use]
    pub fn io(error: &std::io::Error, what: impl fmt::Display) -> Self {
        let words = error.to_string();
        // std appends " (os error N)", which the reference does not print.
        let words = words.split(" (os error").next().unwrap_or("");
        let number = error.raw_os_error().and_then(|n| u32::try_from(n).ok());
        Self::new(ErrorCode(number.unwrap_or(0)), format!("{what}: {words}"))
    }

    /// An error of SQLite in the reference's form (`sqlite[S5]: database is locked`): its extended code, if it has one, and
    /// its own words.
    #[must_use]
    pub fn sqlite(extended: Option<i32>, words: impl fmt::Display) -> Self {
        // The primary code is the lowest byte.
        let number = extended.map_or(1, |code| code & 0xff);
        let code = match number {
            5 => ErrorCode::SQLITE_BUSY,
            8 => ErrorCode::SQLITE_READONLY,
            19 => ErrorCode::SQLITE_CONSTRAINT,
            _ => ErrorCode::SQLITE_ERROR,
        };
        Self::new(code, format!("sqlite[S{number}]: {words}"))
    }

    /// The error of a failed [`std::io::Read`] or [`std::io::Write`]: the [`SvnError`] that one of
    /// our own streams put into it (with [`std::io::Error::other`]), else a system error.
    #[must_use]
    pub fn from_stream(error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(inner) => inner,
            Err(error) => Self::io(&error, "Can't read stream"),
        }
    }
}

impl fmt::Display for SvnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.chain().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            let message = match error.message() {
                "" => error.code().generic_message(),
                message => message,
            };
            write!(f, "{}: {message}", error.code())?;
        }
        Ok(())
    }
}

impl fmt::Debug for SvnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SvnError {}
