//! libFuzzer's way into `harness/store_addresses.rs`, which says what is tried.
#![no_main]
#[path = "../harness/store_addresses.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
