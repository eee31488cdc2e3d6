//! A small file that other programs replace: read again only when its stamp says so.

use std::io;
use std::time::SystemTime;

use crate::storage::Stamp;

/// The longest small file that is read.
const LIMIT: usize = 1 << 16;

/// What is known of a watched file.
#[derive(Debug, Default)]
pub struct ReloadedFile<T> {
    /// The stamp before the last read, if no later change can have the same one.
    trusted: Option<Stamp>,
    /// The stamp before a read whose contents are not accepted yet.
    pending: Option<Stamp>,
    /// The value made of the contents.
    value: Option<T>,
}

impl<T> ReloadedFile<T> {
    /// The file's contents if it may have changed since they were last accepted: `stamp` gives its present
    /// stamp, and `read` reads it, up to so many bytes. A caller that finds them valid calls [`ReloadedFile::accept`].
    ///
    /// # Errors
    /// Whatever these two report.
    pub fn look(
        &mut self,
        stamp: impl FnOnce() -> io::Result<Stamp>,
        read: impl FnOnce(usize) -> io::Result<Vec<u8>>,
    ) -> io::Result<Option<Vec<u8>>> {
        // The stamp is taken before the contents: a change in between shows at the next look.
        let now = SystemTime::now();
        let stamp = stamp()?;
        if self.value.is_some() && self.trusted == Some(stamp) {
            return Ok(None);
        }
        let bytes = read(LIMIT)?;
        self.pending = stamp.is_stable(now).then_some(stamp);
        Ok(Some(bytes))
    }

    /// Accepts the contents that were last returned, as `value`.
    pub fn accept(&mut self, value: T) {
        self.trusted = self.pending.take();
        self.value = Some(value);
    }
}
