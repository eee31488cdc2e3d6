//! libFuzzer's way into `harness/fsfs_index.rs`, which says what is tried.
#![no_main]
#[path = "../harness/fsfs_index.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
