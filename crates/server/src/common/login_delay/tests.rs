//! Wrong passwords are answered later and later, and others do not pay for it.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn address(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

fn fail(logins: &LoginDelay, at: Option<IpAddr>, user: &str, now: Instant) -> Duration {
    logins.begin(at, user, SECOND, now).unwrap().failed(now).wait
}

#[test]
fn delays_double_up_to_a_limit() {
    let logins = LoginDelay::default();
    let mut now = Instant::now();
    let mut waits = Vec::new();
    for _ in 0..14 {
        let wait = fail(&logins, address(1), "ada", now);
        waits.push(wait.as_secs());
        now += wait;
    }
    assert_eq!(waits, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 32, 32]);
    assert_eq!(fail(&logins, address(2), "bob", now), Duration::ZERO);
    assert_eq!(fail(&logins, address(3), "Ada", now), SECOND * 32, "the user");
    assert_eq!(fail(&logins, address(1), "eve", now), SECOND * 32, "the address");
    now += MEMORY + SECOND;
    assert_eq!(fail(&logins, address(1), "ada", now), Duration::ZERO);
}

#[test]
fn many_at_a_time_do_not_add_up_nor_shut_an_office_out() {
    let logins = LoginDelay::default();
    let now = Instant::now();
    for _ in 0..40 {
        assert!(fail(&logins, address(1), "ada", now) <= SECOND * MOST);
    }
    // The right password of the same user at the same address is checked at once, and bob's too.
    logins.begin(address(1), "ada", SECOND, now).unwrap().succeeded(now);
    logins.begin(address(1), "bob", SECOND, now).unwrap().succeeded(now);
    assert_eq!(fail(&logins, None, "ada", now), Duration::ZERO, "success clears the user");
}

#[test]
fn a_place_without_delays_waits_for_nothing() {
    let logins = LoginDelay::default();
    let now = Instant::now();
    while logins.begin(address(1), "ada", SECOND, now).map(|one| one.failed(now)).is_ok() {}
    let there = logins.begin(address(1), "ada", Duration::ZERO, now).unwrap();
    assert_eq!(there.failed(now).wait, Duration::ZERO);
}

#[test]
fn clients_that_hang_up_guess_no_faster() {
    let logins = LoginDelay::default();
    let begun = Instant::now();
    let guesses = |user: &dyn Fn(u32) -> String| {
        let mut guesses = 0;
        for tenth in 0..36_000 {
            let now = begun + Duration::from_millis(tenth * 100);
            while let Ok(one) = logins.begin(address(7), &user(guesses), SECOND, now) {
                let _ = one.failed(now);
                guesses += 1;
            }
        }
        guesses
    };
    let of_one = guesses(&|_| "ada".to_owned());
    assert!(of_one < 64 * 3600 / 32 + 100, "{of_one} guesses in an hour");
    let of_many = guesses(&|number| format!("user{number}"));
    assert!(of_many < 512 * 3600 / 32 + 700, "{of_many} guesses in an hour");
}

#[test]
fn users_who_logged_in_are_not_shut_out_by_their_neighbours() {
    let logins = LoginDelay::default();
    let now = Instant::now();
    logins.begin(address(1), "ada", SECOND, now).unwrap().succeeded(now);
    let mut number = 0;
    while let Ok(one) = logins.begin(address(1), &format!("user{number}"), SECOND, now) {
        let _ = one.failed(now);
        number += 1;
    }
    let wait = logins.begin(address(1), "bob", SECOND, now).unwrap_err();
    assert!(wait <= SECOND * MOST);
    assert!(logins.begin(address(1), "ada", SECOND, now).is_ok());
    assert!(logins.begin(address(1), "bob", SECOND, now + SECOND * MOST).is_ok());
    assert!(logins.begin(address(2), "bob", SECOND, now).is_ok());
}

#[test]
fn attempts_under_way_count_until_they_end() {
    let logins = LoginDelay::default();
    let now = Instant::now();
    let begun: Vec<Attempt> =
        std::iter::from_fn(|| logins.begin(address(1), "ada", SECOND, now).ok()).collect();
    assert_eq!(begun.len(), OF_USER);
    drop(begun);
    assert!(logins.begin(address(1), "ada", SECOND, now).is_ok());
}

#[test]
fn what_is_right_at_once_counts_as_an_attempt_that_succeeds() {
    let (logins, now) = (LoginDelay::default(), Instant::now());
    let prove = |user: &str| logins.prove_at_once(address(1), user, SECOND, now);
    let mut begun: Vec<Attempt> =
        std::iter::from_fn(|| logins.begin(address(1), "ada", SECOND, now).ok()).collect();
    assert!(!prove("Ada"), "as many are under way as may be");
    assert!(logins.prove_at_once(address(1), "ada", Duration::ZERO, now), "no delays there");
    begun.pop();
    assert!(prove("ADA"), "once one is over");
    drop(begun);
    // The user is known at the address now, so others' attempts there do not count.
    let others: Vec<Attempt> = (0..)
        .map_while(|n| logins.begin(address(1), &format!("user{n}"), SECOND, now).ok())
        .collect();
    assert_eq!(others.len(), OF_ADDRESS);
    assert!(prove("ada") && !prove("bob"));
    let failures = |user| logins.begin(address(2), user, SECOND, now).unwrap().failed(now);
    let _ = failures("ada");
    assert!(prove("ada"));
    assert!(!logins.records.lock().contains_key(&Key::User("ada".to_owned())), "forgiven");
}

#[test]
fn what_is_kept_is_bounded() {
    let logins = LoginDelay::default();
    let now = Instant::now();
    for number in 0..100_000u64 {
        let now = now + Duration::from_millis(number);
        let _ = logins.begin(None, &format!("user{number}"), SECOND, now).unwrap().failed(now);
    }
    assert!(logins.records.lock().len() <= MOST_RECORDS);
    let networks = ["2001:db8::1", "2001:db8::2"].map(|a| network(a.parse().unwrap()));
    assert_eq!(networks[0], networks[1]);
    assert_eq!(network("::ffff:192.0.2.1".parse().unwrap()), address(1).unwrap());
}
