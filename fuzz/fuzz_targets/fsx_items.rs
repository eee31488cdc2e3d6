//! libFuzzer's way into `harness/fsx_items.rs`, which says what is tried.
#![no_main]
#[path = "../harness/fsx_items.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::run(data));
