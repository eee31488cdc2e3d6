//! Texts of a comparison that wait together: the first of them in memory, the others in one temporary file.
//!
//! Invariant: what waits in memory is at most [`IN_MEMORY`] bytes, however many texts there are. The file has no name,
//! and goes with the last of its texts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use sapwood_core::{Exact, SvnError, SvnResult, len64};

use super::file_part::FilePart;
use super::sides::Text;

/// How many bytes of texts wait in memory.
const IN_MEMORY: u64 = 8 << 20;

/// Where texts wait.
#[derive(Debug, Default)]
pub(super) struct Spool {
    /// Bytes of texts in memory.
    in_memory: u64,
    file: Option<Rc<File>>,
    /// The length of the file.
    end: u64,
}

impl Spool {
    /// The same text; one in memory is moved to the file when enough wait there.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn add(&mut self, text: Text) -> SvnResult<Text> {
        let Text::Memory(bytes) = &text else { return Ok(text) };
        let len = len64(bytes.len());
        if self.in_memory.plus(len) <= IN_MEMORY {
            self.in_memory.tally(len);
            return Ok(text);
        }
        let part = self.write(bytes, len);
        part.map(Text::Part).map_err(|e| SvnError::io(&e, "Can't write temporary file"))
    }

    fn write(&mut self, bytes: &[u8], len: u64) -> io::Result<FilePart> {
        let file = match &self.file {
            Some(file) => Rc::clone(file),
            None => Rc::clone(self.file.insert(Rc::new(tempfile::tempfile()?))),
        };
        let start = self.end;
        file.write_all_at(bytes, start)?;
        self.end = self.end.plus(len);
        Ok(FilePart { file, start, len })
    }
}

#[cfg(test)]
mod tests {
    use sapwood_diff::LargeText as _;

    use super::*;

    #[test]
    fn what_waits_in_memory_is_bounded() {
        let mut spool = Spool::default();
        let bytes = |n: u8| vec![n; 1 << 20];
        let texts: Vec<Text> =
            (0..32).map(|n| spool.add(Text::Memory(bytes(n).into())).unwrap()).collect();
        let kept = texts.iter().filter(|text| matches!(text, Text::Memory(_))).count();
        assert_eq!(len64(kept) << 20, IN_MEMORY);
        for (n, text) in (0..).zip(&texts) {
            assert_eq!(*text.read().unwrap(), bytes(n));
            assert_eq!(text.len(), 1 << 20);
            assert_eq!(std::fs::read(text.to_file().unwrap().path()).unwrap(), bytes(n));
        }
        assert!(texts.last().unwrap().is_same(&Text::Memory(bytes(31).into())).unwrap());
        assert!(!texts.last().unwrap().is_same(&texts[30]).unwrap());
    }

    #[test]
    fn what_is_in_a_file_stays_there() {
        let mut spool = Spool::default();
        let file = Text::File("somewhere".into());
        assert!(matches!(spool.add(file).unwrap(), Text::File(_)));
        assert!(matches!(spool.add(Text::Empty).unwrap(), Text::Empty));
    }
}
