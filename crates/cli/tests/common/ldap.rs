//! The directory of a company: users, whose passwords are `secret of NAME`, and groups of them.

use sapwood_testkit::slapd::{SUFFIX, Slapd};

/// A group, and who is in it.
pub(crate) type Group<'n> = (&'n str, &'n [&'n str]);

/// A server that knows these users and groups.
pub(crate) fn company(users: &[&str], groups: &[Group<'_>]) -> Slapd {
    let user = |name: &&str| {
        format!(
            "dn: uid={name},{SUFFIX}\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: {name}\n\
             userPassword: secret of {name}\n\n"
        )
    };
    let group = |(name, members): &Group<'_>| {
        let members = members.iter().map(|who| format!("member: uid={who},{SUFFIX}\n"));
        let members: String = members.collect();
        format!("dn: cn={name},{SUFFIX}\nobjectClass: groupOfNames\n{members}\n")
    };
    let users: String = users.iter().map(user).collect();
    let groups: String = groups.iter().map(group).collect();
    Slapd::start(&(users + &groups), None)
}
