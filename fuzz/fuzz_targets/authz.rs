//! libFuzzer's way into `harness/authz.rs`, which says what is tried.
#![no_main]
#[path = "../harness/authz.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
