//! One login, by one server: the user's entry is searched, its password tried, its groups read.

use std::sync::Arc;
use std::time::Instant;

use rustls::ClientConfig;

use crate::connection::Connection;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::groups;
use crate::member::Member;
use crate::server::{Idle, Server};
use crate::settings::CheckedSettings;

/// What a server is asked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) user: String,
    /// Without one, only whether there is such a user.
    pub(crate) password: Option<String>,
}

/// The user, if the server knows one with this name and password. Connections that waited may have been closed by the
/// server: then the question is asked once more over new ones.
///
/// # Errors
/// If the server does not say.
pub(crate) async fn ask(
    checked: &CheckedSettings,
    tls: &Arc<ClientConfig>,
    server: &Server,
    question: &Question,
) -> Result<Option<Member>> {
    let mut login = Login { checked, tls, server, reused: false, may_reuse: true };
    match login.ask(question).await {
        Err(Error::Unreachable { .. }) if login.reused => {
            login.may_reuse = false;
            login.ask(question).await
        }
        result => result,
    }
}

struct Login<'a> {
    checked: &'a CheckedSettings,
    tls: &'a Arc<ClientConfig>,
    server: &'a Server,
    /// Whether a connection was used that had waited.
    reused: bool,
    may_reuse: bool,
}

impl Login<'_> {
    async fn ask(&mut self, question: &Question) -> Result<Option<Member>> {
        let mut searcher = self.searcher().await?;
        let found = self.entry(&mut searcher, &question.user).await?;
        if let Some(password) = &question.password {
            // An unknown user takes as long as a wrong password.
            let dn = match &found {
                Some((entry, _)) => entry.dn.clone(),
                None => format!("cn=nothing,{}", self.checked.settings.base),
            };
            let mut binder = self.open(&self.server.binders).await?;
            let accepted = binder.bind(&dn, password).await?;
            self.server.binders.put(binder, Instant::now());
            if !accepted {
                self.server.searchers.put(searcher, Instant::now());
                return Ok(None);
            }
        }
        let member = match found {
            Some((entry, name)) => {
                let groups = groups::of(self.checked, &mut searcher, &entry, &name).await?;
                Some(Member { name, groups })
            }
            None => None,
        };
        self.server.searchers.put(searcher, Instant::now());
        Ok(member)
    }

    /// A connection that can search.
    async fn searcher(&mut self) -> Result<Connection> {
        let waits = self.may_reuse.then(|| self.server.searchers.take(Instant::now())).flatten();
        if let Some(connection) = waits {
            self.reused = true;
            return Ok(connection);
        }
        let mut connection = self.connect().await?;
        let settings = &self.checked.settings;
        if let (Some(dn), Some(file)) = (&settings.bind_dn, &settings.bind_password) {
            let unreadable = |why: String| Error::Secret { path: file.display().to_string(), why };
            let secret = std::fs::read_to_string(file).map_err(|e| unreadable(e.to_string()))?;
            let secret = secret.strip_suffix('\n').unwrap_or(&secret);
            let secret = secret.strip_suffix('\r').unwrap_or(secret);
            if secret.is_empty() {
                return Err(unreadable("it is empty".to_owned()));
            }
            if !connection.bind(dn, secret).await? {
                let server = self.server.address.url.clone();
                let why = "the server refuses its name or password".to_owned();
                return Err(Error::Answer { server, what: "the bind of 'bind-dn'", why });
            }
        }
        Ok(connection)
    }

    async fn open(&mut self, idle: &Idle) -> Result<Connection> {
        match self.may_reuse.then(|| idle.take(Instant::now())).flatten() {
            Some(connection) => {
                self.reused = true;
                Ok(connection)
            }
            None => self.connect().await,
        }
    }

    async fn connect(&self) -> Result<Connection> {
        let start_tls = self.checked.settings.start_tls;
        Connection::open(&self.server.address, Arc::clone(self.tls), start_tls).await
    }

    /// The entry of a user, and the user's name as the directory spells it.
    async fn entry(
        &self,
        searcher: &mut Connection,
        user: &str,
    ) -> Result<Option<(Entry, String)>> {
        let checked = self.checked;
        let value = |_: &str| Some(user.as_bytes().to_vec());
        let Some(filter) = checked.user_filter.fill(&value) else { return Ok(None) };
        let attributes: Vec<&str> = std::iter::once(&*checked.user_name)
            .chain(groups::OF_USERS)
            .chain(checked.group_filter.attributes())
            .filter(|name| !matches!(*name, "dn" | "user"))
            .collect();
        let base = &checked.settings.base;
        let ambiguous = || Error::Ambiguous(user.to_owned());
        let found = searcher.search(base, &filter, &attributes, 1).await?.ok_or_else(ambiguous)?;
        let Some(entry) = found.into_iter().next() else { return Ok(None) };
        Ok(spelled(&entry, &checked.user_name, user).map(|name| (entry, name)))
    }
}

/// The name of a user, as the directory spells it: rules know one name for one user, while searches ignore case.
fn spelled(entry: &Entry, attribute: &str, user: &str) -> Option<String> {
    let names = entry.values(attribute);
    let same = |name: &&str| name.to_lowercase() == user.to_lowercase();
    let mut texts = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
    match names {
        [_] => texts.next().map(str::to_owned),
        _ => texts.find(same).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_that_the_directory_spells() {
        let entry = |names: &[&str]| Entry::with("x", &[("uid", names)]);
        let spell = |names: &[&str], user: &str| spelled(&entry(names), "uid", user);
        assert_eq!(spell(&["ada"], "ADA").as_deref(), Some("ada"));
        assert_eq!(spell(&["ada"], "ada@example.com").as_deref(), Some("ada"), "another attribute");
        assert_eq!(spell(&["ada", "Lovelace"], "lovelace").as_deref(), Some("Lovelace"));
        assert_eq!(spell(&["ada", "lovelace"], "countess"), None);
        assert_eq!(spell(&[], "ada"), None);
    }
}
