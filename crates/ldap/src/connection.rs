//! One connection to a server: binds and searches.
//!
//! Invariant: an operation that does not end, because it takes too long or its client has gone, takes the connection with
//! it; no answer is taken for that to another question.

use std::sync::Arc;

use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, LdapError, Scope, SearchOptions};
use rustls::ClientConfig;

use crate::address::Address;
use crate::entry::Entry;
use crate::error::{Error, Result};

/// `referral`, a result code of RFC 4511, appendix A.
const REFERRAL: u32 = 10;
/// `sizeLimitExceeded`
const SIZE_LIMIT: u32 = 4;
/// `noSuchObject`
const NO_SUCH_OBJECT: u32 = 32;

/// The result codes that say of a bind that this password does not let this user in. Any other one but success is a fault of
/// the server or of its settings.
const REFUSALS: [u32; 7] = [
    19, // constraintViolation: a password policy's lock
    NO_SUCH_OBJECT,
    34, // invalidDNSyntax
    48, // inappropriateAuthentication
    49, // invalidCredentials
    50, // insufficientAccessRights
    53, // unwillingToPerform
];

/// A connection.
pub(crate) struct Connection {
    ldap: Ldap,
    server: String,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to the server of an address.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub(crate) async fn open(
        address: &Address,
        tls: Arc<ClientConfig>,
        start_tls: bool,
    ) -> Result<Self> {
        let settings = LdapConnSettings::new().set_config(tls).set_starttls(start_tls);
        let server = address.url.clone();
        let (driver, ldap) = LdapConnAsync::with_settings(settings, &server)
            .await
            .map_err(|e| unreachable(&server, &e))?;
        // It ends when the connection is dropped; why it ended the next operation says.
        tokio::spawn(async move { driver.drive().await.unwrap_or(()) });
        Ok(Self { ldap, server })
    }

    /// Whether the server accepts this password for this entry.
    ///
    /// # Errors
    /// If the server does not say.
    pub(crate) async fn bind(&mut self, dn: &str, password: &str) -> Result<bool> {
        // A bind without a name or without a password succeeds for every user (RFC 4513, section 5.1.2).
        if dn.is_empty() || password.is_empty() {
            return Ok(false);
        }
        let answer =
            self.ldap.simple_bind(dn, password).await.map_err(|e| unreachable(&self.server, &e))?;
        match answer.rc {
            0 => Ok(true),
            code if REFUSALS.contains(&code) => Ok(false),
            code => Err(self.refused("a bind", code, &answer.text, &answer.refs)),
        }
    }

    /// The entries below `base` that match a filter, at most `most`; `Ok(None)` if there are more.
    ///
    /// Continuations on other servers are left out, as most clients of Active Directory do: there they lead to zones of
    /// its DNS.
    ///
    /// # Errors
    /// If the server does not answer, or answers with an error.
    pub(crate) async fn search(
        &mut self,
        base: &str,
        filter: &str,
        attributes: &[&str],
        most: usize,
    ) -> Result<Option<Vec<Entry>>> {
        // One more, so that it is known whether there are more.
        let limit = i32::try_from(most.saturating_add(1)).unwrap_or(i32::MAX);
        self.ldap.with_search_options(SearchOptions::new().sizelimit(limit));
        let unreachable = |e: &LdapError| unreachable(&self.server, e);
        let mut stream = self
            .ldap
            .streaming_search(base, Scope::Subtree, filter, attributes)
            .await
            .map_err(|e| unreachable(&e))?;
        let mut entries = Vec::new();
        while let Some(answer) = stream.next().await.map_err(|e| unreachable(&e))? {
            if answer.is_ref() || answer.is_intermediate() {
                continue;
            }
            let entry = Entry::of(answer)
                .map_err(|why| Error::Malformed { server: self.server.clone(), why })?;
            if entries.len() == most {
                return Ok(None);
            }
            entries.push(entry);
        }
        let answer = stream.finish().await;
        match answer.rc {
            0 => Ok(Some(entries)),
            SIZE_LIMIT => Ok(None),
            code => Err(self.refused("a search", code, &answer.text, &answer.refs)),
        }
    }

    fn refused(&self, what: &'static str, code: u32, text: &str, refs: &[String]) -> Error {
        let server = self.server.clone();
        match refs.first() {
            Some(to) if code == REFERRAL => Error::Referral { server, to: to.clone() },
            _ => Error::Answer { server, what, why: format!("result {code} {text}").trim().into() },
        }
    }
}

fn unreachable(server: &str, error: &LdapError) -> Error {
    Error::Unreachable { server: server.to_owned(), why: error.to_string() }
}
