//! Names, passwords and groups.

use sapwood_ldap::{Directory, Kind, Login, Settings};
use sapwood_testkit::slapd::{SUFFIX, Slapd};

use crate::example::{company, entries, log_in, settings};

#[tokio::test]
async fn users_log_in_with_their_passwords_and_have_their_groups() {
    let server = company();
    let directory = Directory::new(settings(&[server.url()])).unwrap();
    let ada = "ada: all devs ops round top";
    // Twice, since connections are used again.
    for _ in 0..2 {
        assert_eq!(log_in(&directory, "ada", "secret of ada").await, ada);
        assert_eq!(log_in(&directory, "bob", "secret of bob").await, "bob: ops");
        assert_eq!(log_in(&directory, "e*(v)e", "secret of eve").await, "e*(v)e: ");
        for (user, password) in [
            ("ada", "secret of bob"),
            ("ada", ""),
            ("", ""),
            ("", "secret of ada"),
            ("unknown", "x"),
            ("a*", "secret of ada"),
            ("ada)(uid=*", "secret of ada"),
            ("*", "secret of ada"),
            ("ada\0", "secret of ada"),
            ("eve", "secret of eve"),
            ("cn=ada", "secret of ada"),
        ] {
            assert_eq!(
                log_in(&directory, user, password).await,
                "refused",
                "{user:?} {password:?}"
            );
        }
    }
    // Rules know one name for one user, however it was typed.
    assert_eq!(log_in(&directory, "ADA", "secret of ada").await, ada);
    assert!(log_in(&directory, "lovelace", "secret of ada").await.starts_with("Lovelace: "));
    let twins = log_in(&directory, "twin", "secret of twin").await;
    assert!(twins.contains("More than one entry"), "{twins}");
    // Where only one of them is looked for, there is no doubt.
    let people = Settings { base: format!("ou=people,{SUFFIX}"), ..settings(&[server.url()]) };
    let people = Directory::new(people).unwrap();
    assert_eq!(log_in(&people, "twin", "secret of twin").await, "twin: ");
}

#[tokio::test]
async fn groups_are_found_as_the_settings_say() {
    let server = company();
    let groups = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(&[server.url()]);
        change(&mut settings);
        let directory = Directory::new(settings).unwrap();
        async move { log_in(&directory, "ada", "secret of ada").await }
    };
    assert_eq!(groups(&|s| s.nested = false).await, "ada: devs ops");
    assert_eq!(groups(&|s| s.group_base = Some(format!("ou=people,{SUFFIX}"))).await, "ada: ");
    let only = |s: &mut Settings| s.group_filter = Some("(memberUid={user})".to_owned());
    assert_eq!(groups(&only).await, "ada: ops");
    let by_attribute = |s: &mut Settings| s.group_filter = Some("(cn={sn})".to_owned());
    assert_eq!(groups(&by_attribute).await, "ada: ");
    let named = |s: &mut Settings| {
        s.groups.insert("developers".to_owned(), format!("CN=Devs, OU=Groups, {SUFFIX}"));
        s.groups.insert("nothing".to_owned(), format!("cn=nothing,{SUFFIX}"));
    };
    assert_eq!(groups(&named).await, "ada: developers");
    // A search that the server refuses lets no user in without groups.
    let nowhere = |s: &mut Settings| s.group_base = Some("dc=elsewhere".to_owned());
    assert!(groups(&nowhere).await.starts_with("unavailable: "));
}

#[tokio::test]
async fn the_primary_group_of_active_directory_counts() {
    // S-1-5-21-1-2-3 and 1104 for the user, 513 and 514 for the groups, as base64.
    let sid = |last: u8, high: u8| {
        let sid = [
            1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, last, high, 0,
            0,
        ];
        sapwood_core::base64::encode(&sid)
    };
    let group = |name: &str, last: u8, member: &str| {
        format!(
            "dn: cn={name},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\nobjectClass: extensibleObject\n\
             sAMAccountName: {name}\nobjectSid:: {}\nmember: {member},{SUFFIX}\n\n",
            sid(last, 2)
        )
    };
    let ada = format!(
        "dn: cn=Ada L,ou=people,{SUFFIX}\nobjectClass: inetOrgPerson\nobjectClass: extensibleObject\nsn: x\n\
         sAMAccountName: ada.l\nobjectSid:: {}\nprimaryGroupID: 513\nuserPassword: secret\n\n",
        sid(0x50, 4)
    );
    let more = [
        ada,
        group("Domain Users", 1, "cn=bob,ou=people"),
        group("Everybody", 2, "cn=Domain Users,ou=groups"),
        group("Artists", 3, "cn=Ada L,ou=people"),
    ];
    let server = Slapd::start(&(entries() + &more.concat()), None);
    let answer = |nested| {
        let settings = Settings {
            kind: Kind::ActiveDirectory,
            user_filter: Some("(sAMAccountName={user})".to_owned()),
            // OpenLDAP has no rule that follows groups of groups.
            group_filter: Some("(member={dn})".to_owned()),
            nested,
            ..settings(&[server.url()])
        };
        let directory = Directory::new(settings).unwrap();
        async move { log_in(&directory, "ADA.L", "secret").await }
    };
    assert_eq!(answer(true).await, "ada.l: Artists Domain Users Everybody");
    assert_eq!(answer(false).await, "ada.l: Artists Domain Users");
}

#[tokio::test]
async fn changes_count_when_the_cache_ends() {
    let mut server = company();
    let now = Directory::new(settings(&[server.url()])).unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let later = Directory::new(Settings { cache: hour, ..settings(&[server.url()]) }).unwrap();
    for directory in [&now, &later] {
        assert_eq!(log_in(directory, "bob", "secret of bob").await, "bob: ops");
        assert!(matches!(directory.find("bob").await, Login::Accepted(_)));
        assert!(matches!(directory.find("bo*").await, Login::Refused));
    }
    assert!(now.has_proved("bob", "secret of bob").is_none());
    assert_eq!(later.has_proved("bob", "secret of bob").unwrap().name, "bob");
    assert!(later.has_proved("bob", "secret of ada").is_none());
    assert_eq!(later.has_found("bob").unwrap().groups, ["ops"]);
    server.change(&format!(
        "dn: cn=bob,ou=people,{SUFFIX}\nchangetype: modify\nreplace: userPassword\nuserPassword: other\n\n\
         dn: cn=ops,ou=groups,{SUFFIX}\nchangetype: modify\ndelete: memberUid\nmemberUid: bob\n\n"
    ));
    assert_eq!(log_in(&now, "bob", "secret of bob").await, "refused");
    assert_eq!(log_in(&now, "bob", "other").await, "bob: ");
    assert_eq!(log_in(&later, "bob", "secret of bob").await, "bob: ops");
    assert_eq!(log_in(&later, "bob", "other").await, "bob: ");
}
