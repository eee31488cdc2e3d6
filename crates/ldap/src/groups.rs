//! The groups of a user.
//!
//! Invariant: either all groups are known, or the login fails: a group can take rights away.

use std::collections::{BTreeSet, HashSet};

use crate::connection::Connection;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::filter::escape;
use crate::settings::{CheckedSettings, Kind};
use crate::sid;

/// The most groups of a user.
const MOST: usize = 4096;
/// How many groups one search asks for the groups that they are in.
const AT_ONCE: usize = 64;

/// The attributes of a user that the groups of Active Directory need.
pub(crate) const OF_USERS: [&str; 2] = ["objectSid", "primaryGroupID"];

/// The names of all groups that a user is in, sorted.
///
/// # Errors
/// If the server does not answer, and [`Error::TooManyGroups`].
pub(crate) async fn of(
    checked: &CheckedSettings,
    connection: &mut Connection,
    user: &Entry,
    name: &str,
) -> Result<Vec<String>> {
    let mut search = Search { checked, connection, name, found: Vec::new(), seen: HashSet::new() };
    search.of_entry(user).await?;
    match checked.settings.kind {
        Kind::ActiveDirectory => search.primary(user).await?,
        Kind::Ldap if checked.settings.nested => search.nested().await?,
        Kind::Ldap => {}
    }
    let names: BTreeSet<String> =
        search.found.iter().filter_map(|group| name_of(checked, group)).collect();
    Ok(names.into_iter().collect())
}

struct Search<'a> {
    checked: &'a CheckedSettings,
    connection: &'a mut Connection,
    /// The user's name.
    name: &'a str,
    found: Vec<Entry>,
    seen: HashSet<String>,
}

impl Search<'_> {
    /// The groups that the filter finds for an entry. A group whose attributes the filter names and which lacks one is in
    /// no other.
    async fn of_entry(&mut self, entry: &Entry) -> Result<()> {
        let value = |word: &str| match word {
            "dn" => Some(entry.dn.as_bytes().to_vec()),
            "user" => Some(self.name.as_bytes().to_vec()),
            attribute => entry.value(attribute).map(<[u8]>::to_vec),
        };
        let Some(filter) = self.checked.group_filter.fill(&value) else { return Ok(()) };
        self.add(&filter).await
    }

    /// The primary group of a user of Active Directory, and the groups that it is in.
    async fn primary(&mut self, user: &Entry) -> Result<()> {
        let [sid, id] = OF_USERS;
        let id = user.text(id).and_then(|id| id.parse().ok());
        let group = user.value(sid).zip(id).and_then(|(sid, id)| sid::of_primary_group(sid, id));
        let Some(group) = group else { return Ok(()) };
        let known = self.found.len();
        self.add(&format!("(objectSid={})", escape(&group))).await?;
        let primary = self.found.get(known).cloned();
        match primary.filter(|_| self.checked.settings.nested) {
            Some(primary) => self.of_entry(&primary).await,
            None => Ok(()),
        }
    }

    /// The groups that the groups are in, and so on.
    async fn nested(&mut self) -> Result<()> {
        let mut asked = 0;
        while asked < self.found.len() {
            let next: Vec<String> = self
                .found
                .iter()
                .skip(asked)
                .take(AT_ONCE)
                .map(|group| escape(group.dn.as_bytes()))
                .map(|dn| format!("(member={dn})(uniqueMember={dn})"))
                .collect();
            asked += next.len();
            self.add(&format!("(|{})", next.concat())).await?;
        }
        Ok(())
    }

    async fn add(&mut self, filter: &str) -> Result<()> {
        let (base, name) = (&self.checked.group_base, &self.checked.group_name);
        let too_many = || Error::TooManyGroups { user: self.name.to_owned(), most: MOST };
        let groups = self.connection.search(base, filter, &[name], MOST).await?;
        for group in groups.ok_or_else(too_many)? {
            if self.seen.insert(normal(&group.dn)) {
                self.found.push(group);
            }
        }
        if self.found.len() > MOST { Err(too_many()) } else { Ok(()) }
    }
}

/// The name of a group in rules: as the settings name its entry, or the value of its attribute.
fn name_of(checked: &CheckedSettings, group: &Entry) -> Option<String> {
    let names = &checked.settings.groups;
    if names.is_empty() {
        return group.text(&checked.group_name).map(str::to_owned);
    }
    let dn = normal(&group.dn);
    names.iter().find(|(_, entry)| normal(entry) == dn).map(|(name, _)| name.clone())
}

/// A distinguished name in one form: lower case, no white space beside its separators.
fn normal(dn: &str) -> String {
    let parts = dn.split(',').map(|part| match part.split_once('=') {
        Some((kind, value)) => format!("{}={}", kind.trim(), value.trim()),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(",").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn groups_have_the_names_of_the_settings_if_there_are_any() {
        let checked = |groups: &[(&str, &str)]| {
            let groups = groups.iter().map(|(n, dn)| ((*n).to_owned(), (*dn).to_owned())).collect();
            let servers = vec!["ldaps://a".to_owned()];
            let base = "dc=x".to_owned();
            CheckedSettings::of(Settings { servers, base, groups, ..Settings::default() }).unwrap()
        };
        let group = Entry::with("cn=Devs,ou=groups,dc=x", &[("cn", &["Devs"])]);
        assert_eq!(name_of(&checked(&[]), &group).as_deref(), Some("Devs"));
        let named = checked(&[("developers", "CN=devs, OU = Groups,dc=X"), ("qa", "cn=qa,dc=x")]);
        assert_eq!(name_of(&named, &group).as_deref(), Some("developers"));
        assert_eq!(name_of(&named, &Entry::with("cn=devs,dc=x", &[("cn", &["devs"])])), None);
        let two = Entry::with("cn=a,dc=x", &[("cn", &["a", "b"])]);
        assert_eq!(name_of(&checked(&[]), &two), None, "it has no one name");
    }
}
