//! libFuzzer's way into `harness/servers.rs`, which says what is tried.
#![no_main]
#[path = "../harness/servers.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
