//! `fsfs.conf`: whatever it says, a filesystem that opens takes a revision and is whole then. The first
//! byte chooses the format.

use sapwood_core::CancelToken;
use sapwood_core::config::{Case, Config};
use sapwood_fs::txn::WriteConfig;
use sapwood_repos::load::{LoadOptions, load};

#[path = "fixture.rs"]
mod fixture;

const REVISION: &[u8] = include_bytes!("../kept/load/seed-history");

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let Ok(config) = Config::parse(text, Case::INSENSITIVE) else { return };
    for format in [1, 3, 4, 6, 7, 8] {
        if let Ok(read) = WriteConfig::new(&config, format) {
            assert!(read.l2p_page_size > 0 && read.l2p_page_size.is_power_of_two());
            assert!(read.p2l_page_size > 0 && read.p2l_page_size.is_power_of_two());
        }
    }
    let fixture = fixture::Fixture::new(*kind, false);
    std::fs::write(fixture.path().join("db/fsfs.conf"), text).expect("fsfs.conf");
    let caches = sapwood_fs::Caches::new(4 << 20);
    let options = sapwood_fs::OpenOptions::default();
    let Ok(repository) = sapwood_repos::Repository::open(&fixture.path(), &caches, &options) else {
        return;
    };
    let options = LoadOptions { no_flush: true, ..LoadOptions::default() };
    if load(&repository, Box::new(REVISION), options, &mut |_| Ok(()), &CancelToken::new()).is_ok()
    {
        fixture.assert_whole(false);
    }
}
