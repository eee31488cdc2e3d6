//! Text deltas as streams of windows.

use sapwood_core::SvnResult;

use crate::svndiff::Version;
use crate::window::Window;

/// A text delta that the receiver pulls window by window.
pub trait TextDelta {
    /// The next window, `None` after the last.
    ///
    /// # Errors
    /// Whatever reading the source or the target meets.
    fn next_window(&mut self) -> SvnResult<Option<Window>>;

    /// The same delta as ready-made svndiff bytes, if it is stored in an encoding not newer than
    /// `newest` and nothing was pulled from it yet. A receiver that can pass bytes through asks
    /// for this first and then does not call [`TextDelta::next_window`].
    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        let _ = newest;
        None
    }
}

/// A whole svndiff stream, header included, in pieces.
pub trait EncodedDelta {
    /// The next piece of the stream, never empty; `None` at the end. Pieces need not be whole
    /// windows.
    ///
    /// # Errors
    /// Whatever reading the stored representation meets.
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>>;
}
