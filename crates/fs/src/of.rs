//! Of which engine something is.
//!
//! Every type of this crate that an engine has its own form of holds an [`Of`], whose type [`of!`](of) writes; [`each!`](each)
//! and [`both!`](both) evaluate an expression for whichever engine it is. That is a match: nothing is boxed, and no call goes
//! through a table. The engine in memory is there in tests only, with the feature `memory`.

use sapwood_fs_common::history::{History, Nodes};

/// A value of one of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of<Fsfs, Fsx, #[cfg(feature = "memory")] Memory> {
    /// Of FSFS.
    Fsfs(Fsfs),
    /// Of FSX.
    Fsx(Fsx),
    /// Of the engine in memory.
    #[cfg(feature = "memory")]
    Memory(Memory),
}

/// The [`Of`] of one associated type of [`Backend`](crate::backend::Backend).
#[cfg(feature = "memory")]
macro_rules! of {
    ($part:ident) => {
        $crate::of::Of<
            <sapwood_fsfs::Filesystem as $crate::backend::Backend>::$part,
            <sapwood_fsx::Filesystem as $crate::backend::Backend>::$part,
            <$crate::memory::Filesystem as $crate::backend::Backend>::$part,
        >
    };
}

/// The [`Of`] of one associated type of [`Backend`](crate::backend::Backend).
#[cfg(not(feature = "memory"))]
macro_rules! of {
    ($part:ident) => {
        $crate::of::Of<
            <sapwood_fsfs::Filesystem as $crate::backend::Backend>::$part,
            <sapwood_fsx::Filesystem as $crate::backend::Backend>::$part,
        >
    };
}
pub(crate) use of;

/// The [`Of`] of the histories that engines walk.
#[cfg(feature = "memory")]
pub(crate) type OfHistory = Of<
    History<sapwood_fsfs::Filesystem>,
    History<sapwood_fsx::Filesystem>,
    History<crate::memory::Filesystem>,
>;
/// The [`Of`] of the histories that engines walk.
#[cfg(not(feature = "memory"))]
pub(crate) type OfHistory = Of<History<sapwood_fsfs::Filesystem>, History<sapwood_fsx::Filesystem>>;

/// The [`Of`] of ids.
#[cfg(feature = "memory")]
pub(crate) type OfId = Of<
    <sapwood_fsfs::Filesystem as Nodes>::Id,
    <sapwood_fsx::Filesystem as Nodes>::Id,
    <crate::memory::Filesystem as Nodes>::Id,
>;
/// The [`Of`] of ids.
#[cfg(not(feature = "memory"))]
pub(crate) type OfId =
    Of<<sapwood_fsfs::Filesystem as Nodes>::Id, <sapwood_fsx::Filesystem as Nodes>::Id>;

/// Evaluates one expression for the value of any engine. `$wrap`, where it is given, makes a value of the same engine an [`Of`].
macro_rules! each {
    ($of:expr, $value:ident => $do:expr) => {
        match $of {
            $crate::of::Of::Fsfs($value) => $do,
            $crate::of::Of::Fsx($value) => $do,
            #[cfg(feature = "memory")]
            $crate::of::Of::Memory($value) => $do,
        }
    };
    ($of:expr, $value:ident, $wrap:ident => $do:expr) => {
        match $of {
            $crate::of::Of::Fsfs($value) => {
                let $wrap = $crate::of::Of::Fsfs;
                $do
            }
            $crate::of::Of::Fsx($value) => {
                let $wrap = $crate::of::Of::Fsx;
                $do
            }
            #[cfg(feature = "memory")]
            $crate::of::Of::Memory($value) => {
                let $wrap = $crate::of::Of::Memory;
                $do
            }
        }
    };
}
pub(crate) use each;

/// Evaluates one expression for two values of one engine, and another one for values of two engines.
macro_rules! both {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $do:expr, else $other:expr) => {
        match ($a, $b) {
            ($crate::of::Of::Fsfs($x), $crate::of::Of::Fsfs($y)) => $do,
            ($crate::of::Of::Fsx($x), $crate::of::Of::Fsx($y)) => $do,
            #[cfg(feature = "memory")]
            ($crate::of::Of::Memory($x), $crate::of::Of::Memory($y)) => $do,
            _ => $other,
        }
    };
    ($a:expr, $b:expr, ($x:ident, $y:ident), $wrap:ident => $do:expr, else $other:expr) => {
        match ($a, $b) {
            ($crate::of::Of::Fsfs($x), $crate::of::Of::Fsfs($y)) => {
                let $wrap = $crate::of::Of::Fsfs;
                $do
            }
            ($crate::of::Of::Fsx($x), $crate::of::Of::Fsx($y)) => {
                let $wrap = $crate::of::Of::Fsx;
                $do
            }
            #[cfg(feature = "memory")]
            ($crate::of::Of::Memory($x), $crate::of::Of::Memory($y)) => {
                let $wrap = $crate::of::Of::Memory;
                $do
            }
            _ => $other,
        }
    };
}
pub(crate) use both;
