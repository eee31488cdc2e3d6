//! What tests of faults share.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

pub mod stopping;
