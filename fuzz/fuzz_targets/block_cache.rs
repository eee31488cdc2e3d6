//! libFuzzer's way into `harness/block_cache.rs`, which says what is tried.
#![no_main]
#[path = "../harness/block_cache.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
