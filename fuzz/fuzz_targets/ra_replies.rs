//! libFuzzer's way into `harness/ra_replies.rs`, which says what is tried.
#![no_main]
#[path = "../harness/ra_replies.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
