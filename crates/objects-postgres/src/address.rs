//! Addresses: `postgres://[USER@][HOST][:PORT]/DATABASE+STORE`, where STORE is the address of a store of objects.
//!
//! Invariant: an address has no password, because it stands in files and messages.

use std::fmt;

use sapwood_objects::OpenError;

/// How an address looks.
const FORM: &str = "a log: postgres://[USER@][HOST][:PORT]/DATABASE+STORE is one, without a password, \
                    where STORE is the address of a store";

/// What an address begins with.
const SCHEME: &str = "postgres://";

/// A database, and the store of the objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Who uses the database, if the address says it.
    pub user: Option<String>,
    /// The machine, if the address says it.
    pub host: Option<String>,
    /// The port, if the address says it.
    pub port: Option<u16>,
    /// The database.
    pub database: String,
    /// The address of the store of objects.
    pub store: String,
}

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// [`OpenError::BadAddress`]
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        Self::parts(text).ok_or_else(|| OpenError::BadAddress { address: shown(text), of: FORM })
    }

    fn parts(text: &str) -> Option<Self> {
        let (place, store) = text.strip_prefix(SCHEME)?.split_once('+')?;
        let (server, database) = place.split_once('/')?;
        let (user, server) = match server.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, server),
        };
        let (host, port) = host_and_port(server)?;
        if !is_name(database) || user.is_some_and(|user| !is_name(user)) {
            return None;
        }
        let (scheme, rest) = store.split_once("://")?;
        if !is_name(scheme) || rest.is_empty() || text.starts_with(&format!("{scheme}://")) {
            return None;
        }
        Some(Self {
            user: user.map(str::to_owned),
            host: (!host.is_empty()).then(|| host.to_owned()),
            port,
            database: database.to_owned(),
            store: store.to_owned(),
        })
    }

    /// Whether two addresses name one database, and the same user of it: their logs share connections.
    #[must_use]
    pub fn has_database_of(&self, other: &Self) -> bool {
        (&self.user, &self.host, self.port, &self.database)
            == (&other.user, &other.host, other.port, &other.database)
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_in_name)
}

/// A host, which may be empty, and a port: `HOST`, `HOST:PORT`, `[SIXTH]`, `[SIXTH]:PORT`.
fn host_and_port(server: &str) -> Option<(&str, Option<u16>)> {
    let port = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    if let Some(rest) = server.strip_prefix('[') {
        // An address of the sixth version stands in brackets.
        let (host, rest) = rest.split_once(']')?;
        if !host.contains(':') || !host.chars().all(|c| is_in_name(c) || c == ':') {
            return None;
        }
        return match rest.strip_prefix(':') {
            Some(text) => Some((host, Some(port(text)?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    let (host, port) = match server.split_once(':') {
        Some((host, text)) => (host, Some(port(text)?)),
        None => (server, None),
    };
    host.chars().all(is_in_name).then_some((host, port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, port, database, store } = self;
        f.write_str(SCHEME)?;
        if let Some(user) = user {
            write!(f, "{user}@")?;
        }
        match host {
            Some(host) if host.contains(':') => write!(f, "[{host}]")?,
            Some(host) => f.write_str(host)?,
            None => {}
        }
        if let Some(port) = port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{database}+{store}")
    }
}

/// An address for people: without what may be a password.
fn shown(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, rest)) if text.starts_with(SCHEME) => format!("{SCHEME}...@{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_database_and_a_store() {
        let whole =
            Address::parse("postgres://svn@db.example.com:5433/sapwood+s3://bucket/svn/game");
        let expected = Address {
            user: Some("svn".to_owned()),
            host: Some("db.example.com".to_owned()),
            port: Some(5433),
            database: "sapwood".to_owned(),
            store: "s3://bucket/svn/game".to_owned(),
        };
        assert_eq!(whole.unwrap(), expected);
        let short = Address::parse("postgres:///sapwood+file:///srv/store").unwrap();
        assert_eq!((short.user, short.host, short.port), (None, None, None));
        assert_eq!(short.store, "file:///srv/store");
        let sixth = Address::parse("postgres://[::1]/x+file:///a").unwrap();
        assert_eq!((sixth.host.as_deref(), sixth.port), (Some("::1"), None));
        assert_eq!(Address::parse("postgres://[::1]:7/x+file:///a").unwrap().port, Some(7));
    }

    #[test]
    fn what_is_none_is_refused_and_passwords_are_not_shown() {
        let bads = [
            "postgres://",
            "postgres://host/base",
            "postgres://host/base+",
            "postgres://host/base+/folder",
            "postgres://host/base+s3://",
            "postgres://host+s3://bucket/x",
            "postgres://host:port/base+s3://bucket/x",
            "postgres://host:99999/base+s3://bucket/x",
            "postgres://host/a/b+s3://bucket/x",
            "postgres://host/+s3://bucket/x",
            "postgres://host/base+postgres://host/base+s3://bucket/x",
            "s3://bucket/x",
            "",
        ];
        for bad in bads {
            assert!(matches!(Address::parse(bad), Err(OpenError::BadAddress { .. })), "{bad}");
        }
        let error = Address::parse("postgres://svn:secret@host/base+s3://bucket/x").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
