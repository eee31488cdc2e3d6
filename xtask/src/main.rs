//! The one command that is CI.
fn main() {}
