//! A stream that counts the bytes that pass, both ways.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use sapwood_core::exact::Exact;
use sapwood_core::len64;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Wire;

/// Counts the bytes that pass.
pub(super) struct CountingWire {
    pub(super) inner: Box<dyn Wire>,
    pub(super) bytes: Arc<AtomicU64>,
}

impl CountingWire {
    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(len64(bytes), Ordering::Relaxed);
    }
}

impl AsyncRead for CountingWire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.count(buf.filled().len().minus(before));
        polled
    }
}

impl AsyncWrite for CountingWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = &polled {
            self.count(*written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
