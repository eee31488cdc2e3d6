//! libFuzzer's way into `harness/wc_skels.rs`, which says what is tried.
#![no_main]
#[path = "../harness/wc_skels.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
