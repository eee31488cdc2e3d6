//! The program's tests, in one test program: linking one for each file would cost minutes.
//!
//! Invariant: every file beside this one is named here (`xtask/tests/house.rs` looks); a test is found by its
//! file's name: `cargo test -p sapwood-cli --test it FILE::`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::duplicate_mod,
    reason = "a failure is a failed test; harnesses of fuzz targets share files"
)]

mod accounts;
mod acme;
mod backup;
mod claims_authz;
mod common;
mod company;
mod convert;
mod directory;
mod directory_authz;
mod doctor;
mod dump;
mod editors;
mod far_away;
mod far_away_faults;
mod far_away_random;
mod fsx;
mod fsx_admin;
mod fsx_locks;
mod fuzz_kept;
mod growth;
mod guide;
mod http;
mod http_archives;
mod http_authz;
mod http_autoversioning;
mod http_config;
mod http_hidden;
mod http_hostile;
mod http_lists;
mod http_lock_form;
mod http_mirror;
mod http_names;
mod http_pages;
mod http_redirects;
mod http_waiting;
mod https;
mod https_clients;
mod interop;
mod json_logs;
#[cfg(feature = "kerberos")]
mod kerberos;
mod load;
mod locks;
mod mail;
mod maintenance;
mod mergeinfo_tidy;
mod missing_paths;
mod monitor;
mod notifications;
mod odd_files;
mod old_bytes;
mod output;
mod pack;
mod packaging;
mod parts;
mod pegs;
mod repo_admin;
mod revprops;
mod rules;
mod search;
#[cfg(feature = "secret-service")]
mod secret_service;
mod servers_http;
mod servers_killed;
mod servers_svn;
mod servers_tls;
mod service;
mod sign_in;
mod sign_out;
mod signals;
mod soak;
mod status_page;
mod store;
mod stored;
mod svn_accounts;
mod svn_compare;
mod svnadmin;
mod svndumpfilter;
mod svnlook;
mod svnmucc_props;
mod svnserve;
mod turns;
mod usage;
mod wc_commit;
mod wc_conflicts;
mod wc_copy;
mod wc_corners;
mod wc_costs;
mod wc_export;
mod wc_hostile;
mod wc_kills;
mod wc_large;
mod wc_many;
mod wc_merge;
mod wc_merge_stops;
mod wc_mergeinfo;
mod wc_move;
mod wc_pager;
mod wc_patch;
mod wc_questions;
mod wc_readers;
mod wc_resolver;
mod wc_shelves;
mod wc_status;
mod wc_text_bases;
mod wc_together;
mod wc_unversioned;
mod wc_upgrade;
mod wc_watch;
