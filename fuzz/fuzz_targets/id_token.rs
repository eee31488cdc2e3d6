//! libFuzzer's way into `harness/id_token.rs`, which says what is tried.
#![no_main]
#[path = "../harness/id_token.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
