//! Runs every fuzz target over the inputs that are kept for it (`fuzz/README.md`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "the harnesses panic on faults: that is their purpose"
)]

use std::path::Path;

macro_rules! targets {
    ($($name:ident = $path:literal;)*) => {
        $(
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                replay(stringify!($name), $name::run);
            }
        )*
    };
}

targets! {
    svndiff = "../../../fuzz/harness/svndiff.rs";
    hashdump = "../../../fuzz/harness/hashdump.rs";
    config = "../../../fuzz/harness/config.rs";
    skel = "../../../fuzz/harness/skel.rs";
    entries = "../../../fuzz/harness/entries.rs";
    text = "../../../fuzz/harness/text.rs";
    diff = "../../../fuzz/harness/diff.rs";
    patch = "../../../fuzz/harness/patch.rs";
    fsfs_items = "../../../fuzz/harness/fsfs_items.rs";
    fsfs_index = "../../../fuzz/harness/fsfs_index.rs";
    fsfs_revprops = "../../../fuzz/harness/fsfs_revprops.rs";
    fsx_items = "../../../fuzz/harness/fsx_items.rs";
    dumpstream = "../../../fuzz/harness/dumpstream.rs";
    accounts = "../../../fuzz/harness/accounts.rs";
    id_token = "../../../fuzz/harness/id_token.rs";
    servers = "../../../fuzz/harness/servers.rs";
    backup_record = "../../../fuzz/harness/backup_record.rs";
    repository_log = "../../../fuzz/harness/repository_log.rs";
    block_cache = "../../../fuzz/harness/block_cache.rs";
    repository_checkpoint = "../../../fuzz/harness/repository_checkpoint.rs";
    rep_table = "../../../fuzz/harness/rep_table.rs";
    store_addresses = "../../../fuzz/harness/store_addresses.rs";
    queue = "../../../fuzz/harness/queue.rs";
    rules = "../../../fuzz/harness/rules.rs";
    coloured_text = "../../../fuzz/harness/coloured_text.rs";
    search_query = "../../../fuzz/harness/search_query.rs";
    authz = "../../../fuzz/harness/authz.rs";
    protocol = "../../../fuzz/harness/protocol.rs";
    load = "../../../fuzz/harness/load.rs";
    commit = "../../../fuzz/harness/commit.rs";
    fsfs_conf = "../../../fuzz/harness/fsfs_conf.rs";
    ra_replies = "../../../fuzz/harness/ra_replies.rs";
    sasl = "../../../fuzz/harness/sasl.rs";
    hooks_env = "../../../fuzz/harness/hooks_env.rs";
    dav = "../../../fuzz/harness/dav.rs";
    wc_skels = "../../../fuzz/harness/wc_skels.rs";
    externals = "../../../fuzz/harness/externals.rs";
    keywords = "../../../fuzz/harness/keywords.rs";
    diff3 = "../../../fuzz/harness/diff3.rs";
    shelves = "../../../fuzz/harness/shelves.rs";
}

fn replay(name: &str, run: fn(&[u8])) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept").join(name);
    let mut count = 0;
    for entry in std::fs::read_dir(&kept).expect("a folder of kept inputs") {
        let path = entry.expect("an entry").path();
        let input = std::fs::read(&path).expect("a kept input");
        // The name of the file that failed is in the test's output.
        println!("{}", path.display());
        run(&input);
        count += 1;
    }
    assert!(count > 0, "no inputs in {}", kept.display());
}
