//! The contents of node records.

use sapwood_core::Exact;
use sapwood_core::len64;
use std::io::{self, Write};

use sapwood_core::CancelToken;
use sapwood_delta::TextDelta as _;
use sapwood_delta::svndiff::{Encoder, Version};
use sapwood_fs::Node;

use super::NodeDumper;
use crate::dump::check_cancelled;
use crate::dump::record::{header_line, header_value, write_error};
use crate::dumpstream::header;
use crate::error::Result;

/// How much of a text delta is kept while its length is being found out, in bytes. A larger one is
/// computed a second time.
const MAX_KEPT_DELTA: usize = 4 << 20;

/// Keeps what is written up to a limit, and counts all of it.
struct Counter<'a> {
    kept: &'a mut Vec<u8>,
    len: u64,
    whole: bool,
}

impl Write for Counter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let added = len64(bytes.len());
        self.len = self.len.plus(added);
        if self.whole && self.kept.len().plus(bytes.len()) <= MAX_KEPT_DELTA {
            self.kept.extend_from_slice(bytes);
        } else {
            self.whole = false;
            self.kept.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the delta between two texts as svndiff 0, the one that every reader of dumps knows.
fn write_delta(
    old: Option<&Node>,
    new: &Node,
    cancel: &CancelToken,
    out: &mut dyn Write,
) -> Result<()> {
    let mut delta = new.delta_from(old)?;
    if let Some(stored) = delta.encoded(Version::V0) {
        while let Some(bytes) = stored.next_bytes()? {
            check_cancelled(cancel)?;
            out.write_all(bytes).map_err(write_error)?;
        }
        return Ok(());
    }
    let mut encoder = Encoder::new(Version::V0, 5);
    let mut bytes = Vec::new();
    while let Some(window) = delta.next_window()? {
        check_cancelled(cancel)?;
        encoder.encode(&window, &mut bytes);
        out.write_all(&bytes).map_err(write_error)?;
        bytes.clear();
    }
    encoder.finish(&mut bytes);
    out.write_all(&bytes).map_err(write_error)?;
    Ok(())
}

impl NodeDumper<'_> {
    /// Writes the rest of the headers, the property block in `self.block`, and the text.
    pub(super) fn content(
        &mut self,
        new: &Node,
        old: Option<&Node>,
        with_props: bool,
        with_text: bool,
    ) -> Result<()> {
        // Verifying the revision has read all texts that the revision made.
        let read_before = self.settings.verify && new.created_rev() == Some(self.revision);
        let mut text_len = 0;
        let mut kept = Vec::new();
        let mut is_kept = false;
        if with_text {
            if self.settings.deltas {
                let mut counter = Counter { kept: &mut kept, len: 0, whole: true };
                write_delta(old, new, self.cancel, &mut counter)?;
                text_len = counter.len;
                is_kept = counter.whole;
                header_line(&mut self.head, header::TEXT_DELTA, b"true");
                if let Some(old) = old {
                    self.head_sums(old, header::DELTA_BASE_MD5, header::DELTA_BASE_SHA1)?;
                }
            } else {
                text_len = new.length()?;
            }
            self.head_sums(new, header::CONTENT_MD5, header::CONTENT_SHA1)?;
        }
        let mut content_len = text_len;
        if with_props {
            let len = len64(self.block.len());
            content_len = content_len.plus(len);
            header_value(&mut self.head, header::PROP_CONTENT_LENGTH, len);
        }
        if with_text {
            header_value(&mut self.head, header::TEXT_CONTENT_LENGTH, text_len);
        }
        header_value(&mut self.head, header::CONTENT_LENGTH, content_len);
        self.head.push(b'\n');
        if with_props {
            self.head.extend_from_slice(&self.block);
        }
        if !with_text {
            self.head.extend_from_slice(b"\n\n");
            return self.flush_head();
        }
        self.flush_head()?;
        if is_kept {
            self.out.write_all(&kept).map_err(write_error)?;
        } else if self.settings.deltas {
            write_delta(old, new, self.cancel, self.out)?;
        } else if !read_before {
            let mut contents = new.contents()?.with_sum_aside();
            while let Some(bytes) = contents.next_piece()? {
                check_cancelled(self.cancel)?;
                self.out.write_all(bytes).map_err(write_error)?;
            }
        }
        self.out.write_all(b"\n\n").map_err(write_error)?;
        Ok(())
    }
}
