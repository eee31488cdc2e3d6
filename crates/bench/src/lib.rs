//! Measuring: repositories made from a seed ([`repo`]), the matrix of requests to our programs and
//! the reference's ([`matrix`]), the heat-up of a server's cache ([`heatup`]), and the reports on
//! the results: tables and a page ([`report`]). Everyday work on a working copy of a made tree
//! ([`tree`]) is measured by [`working`], merges of made branches by [`merging`], every command once by [`commands`].
//!
//! The matrix is the one with which Subversion's developers measured their formats in 2014; where
//! its configurations come from is documented at [`repo::PROFILES`] and [`server::server_options`].
//!
//! Like every library crate this one does not print and does not read the environment: progress
//! goes to a callback, paths and programs come as values; the program `sapwood-bench` is in `main.rs`. The programs that are measured are
//! children.

pub mod axes;
pub mod commands;
pub mod heatup;
pub mod http;
pub mod machine;
pub mod matrix;
pub mod merging;
pub mod programs;
pub mod repo;
pub mod report;
pub mod repositories;
pub mod results;
mod rules;
pub mod server;
pub mod stats;
mod svn_ways;
pub mod tree;
pub mod working;

/// A count as a number to calculate with; exact up to four billion, and never more.
pub(crate) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
