//! Our programs beside the reference's, compared by what they print, exit with and leave behind.
//!
//! Modules: `admin` (svnadmin), `bench` (svnbench), `look` (svnlook), `client` (the reference's client against
//! both servers), `special` (wide directories, svnmucc), `wire` (random requests of our own to both servers), `mirror` (svnrdump, svnsync,
//! git-svn), `login` (passwords, tunnels), `mucc` (svnmucc), `rdump` (svnrdump), `sync` (svnsync), `closing` (a proxy that closes connections), `svnkit` (the client in Java), `asynchronous` (the crate `svn`), `crowd` (many clients at once). Each
//! comparison runs on a few shapes of repository; `SAPWOOD_LONG=1` runs it on all. What is the same in
//! every shape but for the bytes on disk (working copies, logs, blame: what only a client sees) is then
//! compared for every revision in the `THOROUGH` shapes, and for some revisions in the others.
//! `SAPWOOD_SHAPES=v1.6-s7,v1.1` runs long comparisons of these shapes only: all of them take more
//! than an hour. Invariant: nothing here knows how our side works inside.

mod admin;
mod asynchronous;
mod bench;
mod client;
mod closing;
mod crowd;
mod login;
mod look;
mod mirror;
mod mucc;
mod rdump;
mod special;
mod svnkit;
mod sync;
mod wire;
mod written;

use sapwood_testkit::tree::Node;
use sapwood_testkit::{Repository, Shape, long};

/// Shapes that long comparisons treat revision by revision also where they are slow: each way of
/// addressing, packed and not, with all that can be deltified and without.
const THOROUGH: [&str; 4] = ["v1.1", "v1.6-s7-packed", "v1.9-s7-half-deltify", "v1.10-s1000"];

/// The shapes that the comparisons run on: a few, or all.
fn shapes() -> Vec<Shape> {
    if long() { all_shapes() } else { Shape::few() }
}

/// The shapes of long comparisons: all, or the chosen ones.
fn all_shapes() -> Vec<Shape> {
    let mut shapes = Shape::all();
    if let Ok(chosen) = std::env::var("SAPWOOD_SHAPES") {
        let chosen: Vec<&str> = chosen.split(',').collect();
        shapes.retain(|shape| chosen.contains(&shape.name().as_str()));
    }
    shapes
}

/// Whether slow comparisons of this repository are for every revision.
fn thorough(repo: &Repository) -> bool {
    long() && THOROUGH.contains(&repo.shape.name().as_str())
}

/// The nodes of a revision that are worth a look: those that it changed, and one in `step` of the
/// others, which are others in each revision.
fn chosen_nodes(repo: &Repository, revision: usize, step: usize) -> Vec<(String, &Node)> {
    let before = revision.checked_sub(1).map(|r| &repo.history.revision(r).root);
    let nodes = repo.history.revision(revision).root.walk();
    let chosen = nodes.into_iter().enumerate().filter(|(n, (path, node))| {
        n % step == revision % step
            || thorough(repo)
                && before.is_none_or(|before| match (before.get(path), node.entries()) {
                    (None, _) => true,
                    (Some(old), None) => old != *node,
                    (Some(old), Some(_)) => old.props != node.props || old.entries().is_none(),
                })
    });
    chosen.map(|(_, node)| node).collect()
}

/// The repositories for a comparison that is cheap: the scripted history in every shape, and a
/// random one in each.
fn repositories() -> impl Iterator<Item = Repository> {
    let all: Vec<String> = Shape::all().iter().map(Shape::name).collect();
    shapes().into_iter().flat_map(move |shape| {
        let at = all.iter().position(|name| *name == shape.name()).unwrap();
        // Long runs keep answers of the reference by history.
        let seed = u64::try_from(if long() { at % 3 } else { at }).unwrap();
        [Repository::scripted(&shape), Repository::random(&shape, seed, 45)]
    })
}
