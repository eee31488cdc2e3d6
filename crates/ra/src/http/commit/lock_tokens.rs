//! The lock tokens that the requests of a commit show.
//!
//! Invariant: no token is shown of what the commit itself has deleted, but with the deletion.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_wire_dav::xml::{HEADER, Xml as _};
use sapwood_wire_dav::{headers, merge};

use super::HttpCommit;
use crate::http::client::Call;

/// Bytes of an `If` header, beyond which tokens go into the body.
const MAX_IF: usize = 4 << 10;
impl HttpCommit<'_> {
    /// The value of an `If` header that shows the tokens of these paths.
    fn if_header<'t>(
        &self,
        tokens: impl Iterator<Item = &'t (RelPathBuf, String)>,
    ) -> Option<String> {
        let mut header = String::new();
        for (path, token) in tokens {
            if !header.is_empty() {
                header.push(' ');
            }
            let url = format!("{}{}", self.session.client.base, self.session.public(path));
            header.push_str(&format!("<{url}> (<{token}>)"));
        }
        (!header.is_empty()).then_some(header)
    }

    /// With the tokens of locks at a path and below it: of what lay below a deleted folder servers keep
    /// the locks.
    pub(super) fn with_tokens_below<'c>(&self, call: Call<'c>, path: &RelPath) -> Call<'c> {
        let below = self
            .lock_tokens
            .iter()
            .filter(|(locked, _)| locked.is_at_or_below(path) && !self.deleted.contains(locked));
        match self.if_header(below) {
            Some(header) if header.len() <= MAX_IF => call.with("if", header),
            _ => call,
        }
    }

    /// With the token of the path's lock, unless what had it was deleted.
    pub(super) fn with_token<'c>(&self, call: Call<'c>, path: &RelPath) -> Call<'c> {
        if self.deleted.contains(path) {
            return call;
        }
        match self.if_header(self.lock_tokens.iter().filter(|(locked, _)| locked == path)) {
            Some(header) => call.with("if", header),
            None => call,
        }
    }

    /// With the tokens of locks at a path that is deleted, and below it.
    pub(super) fn with_tokens_of_deleted<'c>(&self, call: Call<'c>, path: &RelPath) -> Call<'c> {
        let all: Vec<(RelPathBuf, String)> = self
            .lock_tokens
            .iter()
            .filter(|(locked, _)| locked.is_at_or_below(path))
            .cloned()
            .collect();
        let Some(header) = self.if_header(all.iter()) else { return call };
        let mut call = call;
        if header.len() <= MAX_IF {
            call = call.with("if", header);
        } else {
            // More than a header holds: the path's own token there, all in the body.
            if let Some(own) = self.if_header(all.iter().filter(|(locked, _)| locked == path)) {
                call = call.with("if", own);
            }
            let mut body = Vec::new();
            body.raw(HEADER);
            merge::write_locks(&mut body, &all);
            call = call.xml(body);
        }
        match self.keep_locks {
            true => call.with(headers::OPTIONS, headers::options::KEEP_LOCKS),
            false => call,
        }
    }
}
