//! Of which engine something is.
//!
//! Every type of this crate that an engine has its own form of holds an [`Of`]; [`each!`](each) does the same with both
//! forms. Both are checked by a match, which costs a comparison: nothing is boxed, and no call goes through a table.

/// A value of one of the engines.
#[derive(Clone, Debug)]
pub(crate) enum Of<Fsfs, Fsx> {
    /// Of FSFS.
    Fsfs(Fsfs),
    /// Of FSX.
    Fsx(Fsx),
}

/// Evaluates one expression for the value of either engine.
macro_rules! each {
    ($of:expr, $value:ident => $do:expr) => {
        match $of {
            $crate::of::Of::Fsfs($value) => $do,
            $crate::of::Of::Fsx($value) => $do,
        }
    };
}
pub(crate) use each;
