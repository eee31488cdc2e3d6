//! Representations: texts stored plain, or as chains of svndiff deltas.
//!
//! A chain is resolved window by window: window N of a text is window N of its delta applied to
//! window N of its base. Expanded windows are cached, so a chain is only walked down to the first
//! cached one. Nothing is ever held whole but small texts, directories and property lists.

pub(crate) mod chain;
pub(crate) mod header;
pub(crate) mod svndiff;
