//! Measuring: repositories made from a seed ([`repo`]), and later what is asked of them.
//!
//! Like every library crate this one does not print and does not read the environment: progress
//! goes to a callback, paths and programs come as values.

pub mod repo;
