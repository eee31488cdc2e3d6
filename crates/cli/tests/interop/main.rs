//! Our programs beside the reference's, compared by what they print, exit with and leave behind.
//!
//! One test binary: `admin` (svnadmin), `look` (svnlook), `client` (the reference's client against
//! both servers), `wire` (random requests of our own to both servers), `mirror` (svnrdump, svnsync,
//! git-svn), `crowd` (many clients at once). Each
//! comparison runs on a few shapes of repository; `SAPWOOD_LONG=1` runs it on all, for every
//! revision and pair of revisions. Invariant: nothing here knows how our side works inside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

mod admin;
mod client;
mod crowd;
mod look;
mod mirror;
mod wire;

use sapwood_testkit::{Repository, Shape, long};

/// The shapes that the comparisons run on: a few, or all.
fn shapes() -> Vec<Shape> {
    if long() { Shape::all() } else { Shape::few() }
}

/// The repositories for a comparison that is cheap: the scripted history in every shape, and a
/// random one in each.
fn repositories() -> impl Iterator<Item = Repository> {
    shapes().into_iter().enumerate().flat_map(|(n, shape)| {
        let seed = u64::try_from(n).unwrap();
        [Repository::scripted(&shape), Repository::random(&shape, seed, 45)]
    })
}
