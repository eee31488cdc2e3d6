//! libFuzzer's way into `harness/search_query.rs`, which says what is tried.
#![no_main]
#[path = "../harness/search_query.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
