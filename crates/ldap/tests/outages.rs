//! Servers that are down, hang or refer to others.

use std::time::Duration;

use sapwood_ldap::{Directory, Login, Settings};
use sapwood_testkit::slapd::{SUFFIX, Slapd};
use tokio::task::JoinSet;

use crate::example::{company, log_in, settings};

#[tokio::test]
async fn the_next_server_answers_when_one_is_down() {
    let (mut first, second) = (company(), company());
    let directory = Directory::new(settings(&[first.url(), second.url()])).unwrap();
    assert_eq!(log_in(&directory, "bob", "secret of bob").await, "bob: ops");
    first.kill();
    for _ in 0..3 {
        assert_eq!(log_in(&directory, "bob", "secret of bob").await, "bob: ops");
        assert_eq!(log_in(&directory, "bob", "secret of ada").await, "refused");
    }
    // A server that was started again has closed the connections that waited.
    let mut only = company();
    let directory = Directory::new(settings(&[only.url()])).unwrap();
    assert_eq!(log_in(&directory, "bob", "secret of bob").await, "bob: ops");
    only.start_again();
    assert_eq!(log_in(&directory, "bob", "secret of bob").await, "bob: ops");
}

#[tokio::test]
async fn while_all_are_down_those_who_were_in_stay_in_and_no_others_come() {
    let mut server = company();
    let directory = Directory::new(settings(&[server.url()])).unwrap();
    assert_eq!(log_in(&directory, "ada", "secret of ada").await, "ada: all devs ops round top");
    server.kill();
    for _ in 0..3 {
        assert_eq!(log_in(&directory, "ada", "secret of ada").await, "ada: all devs ops round top");
        for (user, password) in [("ada", "secret of bob"), ("bob", "secret of bob"), ("eve", "x")] {
            let said = log_in(&directory, user, password).await;
            assert!(said.starts_with("unavailable: "), "{user}: {said}");
        }
        assert_eq!(log_in(&directory, "ada", "").await, "refused");
    }
    // The fault is worth one line in a log, not one for each request.
    let news = |login| matches!(login, Login::Unavailable { is_news: true, .. });
    assert!(!news(directory.log_in("bob", "secret of bob").await));
    let none = Settings { keep: Duration::ZERO, ..settings(&[server.url()]) };
    let none = Directory::new(none).unwrap();
    server.start_again();
    assert_eq!(log_in(&none, "bob", "secret of bob").await, "bob: ops");
    server.kill();
    assert!(news(none.log_in("bob", "secret of bob").await), "nothing is kept");
}

/// A server that hangs holds up as many logins as are checked at a time; the others end without it, and nothing grows.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_holds_up_few() {
    let server = company();
    let settings = Settings {
        timeout: Duration::from_secs(1),
        connections: 4,
        cache: Duration::from_secs(3600),
        ..settings(&[server.url()])
    };
    let directory = Directory::new(settings).unwrap();
    assert_eq!(log_in(&directory, "ada", "secret of ada").await, "ada: all devs ops round top");
    server.hang(true);
    let mut all = JoinSet::new();
    for number in 0..500 {
        let directory = directory.clone();
        all.spawn(async move { log_in(&directory, &format!("user{number}"), "x").await });
    }
    let began = std::time::Instant::now();
    // Those who are in are served meanwhile.
    assert_eq!(log_in(&directory, "ada", "secret of ada").await, "ada: all devs ops round top");
    let said = all.join_all().await;
    let asked = said.iter().filter(|said| said.contains("no answer within 1 s")).count();
    assert!(said.iter().all(|said| said.starts_with("unavailable: ")), "{said:?}");
    // Four at a time; the first failure turns the rest away. One more round may have begun before it.
    assert!(asked <= 8, "{asked} waited for the server");
    assert!(began.elapsed() < Duration::from_secs(60), "one after the other would take minutes");
    server.hang(false);
}

#[tokio::test]
async fn the_account_that_searches_is_not_tried_again_and_again() {
    let server = company();
    let wrong = Settings {
        bind_dn: Some(format!("cn=ada,ou=people,{SUFFIX}")),
        ..settings(&[server.url()])
    };
    let directory = Directory::new(wrong).unwrap();
    let said = log_in(&directory, "bob", "secret of bob").await;
    assert!(said.contains("'bind-dn' failed: the server refuses"), "{said}");
    let again = log_in(&directory, "bob", "secret of bob").await;
    assert!(again.contains("No server of the directory answers"), "{again}");
    let missing = Settings { bind_password: Some("/nothing".into()), ..settings(&[server.url()]) };
    let said = log_in(&Directory::new(missing).unwrap(), "bob", "secret of bob").await;
    assert!(said.contains("Can't read '/nothing'"), "{said}");
    // It must be there to find a user.
    let anonymous = Settings { bind_dn: None, bind_password: None, ..settings(&[server.url()]) };
    let said = log_in(&Directory::new(anonymous).unwrap(), "bob", "secret of bob").await;
    assert!(!said.starts_with("bob"), "{said}");
}

#[tokio::test]
async fn referrals_lead_to_servers_of_the_configuration_only() {
    let real = company();
    // The people of this one are elsewhere.
    let refers = Slapd::start(
        &format!(
            "dn: ou=people,{SUFFIX}\nobjectClass: referral\nobjectClass: extensibleObject\nou: people\n\
             ref: {}/ou=people,{SUFFIX}\n\n",
            real.url()
        ),
        None,
    );
    let at = |servers: &[String]| {
        let base = format!("ou=people,{SUFFIX}");
        let group_base = Some(SUFFIX.to_owned());
        Directory::new(Settings { base, group_base, ..settings(servers) }).unwrap()
    };
    let both = at(&[refers.url(), real.url()]);
    assert_eq!(log_in(&both, "bob", "secret of bob").await, "bob: ops");
    assert_eq!(log_in(&both, "bob", "secret of ada").await, "refused");
    let said = log_in(&at(&[refers.url()]), "bob", "secret of bob").await;
    assert!(said.contains("refers to"), "{said}");
}
