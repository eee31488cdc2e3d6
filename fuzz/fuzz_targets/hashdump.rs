//! libFuzzer's way into `harness/hashdump.rs`, which says what is tried.
#![no_main]
#[path = "../harness/hashdump.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
