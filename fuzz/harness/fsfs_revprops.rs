//! Packed revision properties: manifests and pack files.

use sapwood_core::Revnum;
use sapwood_core::hashdump::{END, parse};
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};

/// Runs one input as both.
pub fn run(data: &[u8]) {
    if let Ok(manifest) = RevpropManifest::parse(data, Revnum(0), 5) {
        assert_eq!(manifest.find(Revnum(0)), None);
        for revision in 1..5 {
            let (name, range) = manifest.find(Revnum(revision)).expect("a line for each");
            assert!(range.contains(&revision) && !name.contains('/'));
        }
        assert_eq!(manifest.packs().map(|(_, r)| r.end - r.start).sum::<u64>(), 4);
    }
    if let Ok(pack) = RevpropPack::parse(data) {
        for n in 0..pack.len().min(5000) {
            let revision = pack.first_revision().0 + u64::try_from(n).unwrap_or(0);
            let _ = parse(pack.get(Revnum(revision)).expect("one of the pack"), Some(END));
        }
    }
}
