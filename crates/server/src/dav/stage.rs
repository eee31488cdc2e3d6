//! How far a request is handled.

/// How far a request is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// As far as its body is not needed.
    Admit,
    /// To the end.
    Run,
}
