//! libFuzzer's way into `harness/fsfs_conf.rs`, which says what is tried.
#![no_main]
#[path = "../harness/fsfs_conf.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
