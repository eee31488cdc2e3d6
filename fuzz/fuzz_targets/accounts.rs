//! libFuzzer's way into `harness/accounts.rs`, which says what is tried.
#![no_main]
#[path = "../harness/accounts.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
