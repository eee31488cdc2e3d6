//! Both sides against the examples of the standard, against each other, and what each refuses.

use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::*;
use crate::security_layer::{Layer, LayerError};

const ANY: RangeInclusive<u32> = 0..=256;

/// RFC 2831, section 4, is of the service `imap`; the digests of another service follow from the same formula.
#[test]
fn the_example_of_the_standard() {
    let exchange = Exchange {
        nonce: "OA6MG9tEQGm2hh",
        cnonce: "OA6MHXh6VqTrRk",
        qop: "auth",
        uri: "imap/elwood.innosoft.com",
        authzid: None,
    };
    let key = exchange.session_key(secret(b"chris", b"elwood.innosoft.com", b"secret"));
    assert_eq!(exchange.response(key), "d388dad90d4bbd760a152321f2143af7");
    assert_eq!(exchange.proof(key), "ea40f60335c427b5527b84dbabcdfffd");
    let challenge = b"realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",\
        algorithm=md5-sess,charset=utf-8";
    let found = Challenge::parse(challenge).unwrap();
    assert_eq!(found.realms, ["elwood.innosoft.com"]);
    assert_eq!(
        (found.offered, found.max_packet, found.utf8),
        (vec![Protection::None], 65536, true)
    );
}

fn login<'a>(
    user: &'a str,
    password: &'a str,
    strengths: &'a RangeInclusive<u32>,
) -> DigestLogin<'a> {
    DigestLogin { user, password, host: "example.org", realm: "A place", strengths }
}

fn lookup(user: &str) -> Option<Vec<u8>> {
    (user == "ada").then(|| "s\u{e4}cret \u{4e00}\"\\".as_bytes().to_vec())
}

const PASSWORD: &str = "s\u{e4}cret \u{4e00}\"\\";

#[test]
fn both_sides_agree() {
    for (offered, wanted, strength) in [
        (ANY, ANY, 128),
        (0..=0, ANY, 0),
        (1..=1, ANY, 1),
        (56..=112, ANY, 112),
        (ANY, 0..=100, 1),
        (128..=256, 0..=128, 128),
    ] {
        let server = DigestServer::new("A place", &offered, &[7; RANDOM]);
        let challenge = server.challenge();
        let client =
            DigestClient::new(challenge.as_bytes(), &login("ada", PASSWORD, &wanted), &[8; RANDOM]);
        let client = client.unwrap();
        let proven = server.finish(client.answer().as_bytes(), &lookup).unwrap();
        assert_eq!(proven.user, "ada");
        client.verify(proven.proof.as_bytes()).unwrap();
        assert_eq!(client.verify(b"rspauth=00"), Err(DigestError::NotProven));
        assert_eq!(client.verify(b"nonsense"), Err(DigestError::Malformed));
        assert_eq!(client.protection.strength(), strength, "{offered:?} {wanted:?}");
        match (client.into_layer(), proven.layer) {
            (None, None) => assert_eq!(strength, 0),
            (Some(client), Some(server)) => both_ways(client, server),
            _ => panic!("{offered:?} {wanted:?}: only one side has a layer"),
        }
    }
    let server = DigestServer::new("A place", &(0..=0), &[7; RANDOM]);
    let strong = 1..=256;
    let refused = DigestClient::new(
        server.challenge().as_bytes(),
        &login("ada", PASSWORD, &strong),
        &[8; RANDOM],
    );
    assert_eq!(refused.unwrap_err(), DigestError::TooWeak);
}

fn pass(
    sealer: &mut crate::security_layer::Sealer,
    opener: &mut crate::security_layer::Opener,
    text: &[u8],
) {
    let mut sent = Vec::new();
    sealer.seal(text, &mut sent).unwrap();
    let mut rest = &*sent;
    let mut found = vec![0; text.len()];
    let mut at = 0;
    while at < text.len() {
        at += opener.read(&mut found[at..], |room| std::io::Read::read(&mut rest, room)).unwrap();
    }
    assert!(found == text && rest.is_empty());
}

fn both_ways(mut client: Layer, mut server: Layer) {
    for len in [1, 5, 6, 7, 8, 100, 40_000] {
        let text = vec![b'x'; len];
        pass(&mut client.sealer, &mut server.opener, &text);
        pass(&mut server.sealer, &mut client.opener, &text);
    }
}

/// The client's answer, changed by `change`, to a challenge.
fn refused(change: impl Fn(&str) -> String) -> Refusal {
    let server = DigestServer::new("A place", &(0..=1), &[7; RANDOM]);
    let challenge = server.challenge();
    let client =
        DigestClient::new(challenge.as_bytes(), &login("ada", PASSWORD, &ANY), &[8; RANDOM]);
    let answer = change(client.unwrap().answer());
    server.finish(answer.as_bytes(), &lookup).unwrap_err()
}

#[test]
fn what_a_server_refuses() {
    let replaced = |from: &'static str, to: &'static str| {
        refused(move |answer| {
            assert!(answer.contains(from), "{answer}");
            answer.replace(from, to)
        })
    };
    for (from, to) in [
        ("nc=00000001", "nc=00000002"),
        ("nonce=\"Bw", "nonce=\"Cw"),
        ("cnonce=\"", "cnonce=\"\",x=\""),
        ("\"A place\"", "\"Elsewhere\""),
        ("svn/", "imap/"),
        ("charset=utf-8", "charset=latin1"),
        ("qop=auth-int", "qop=auth-conf,cipher=rc4"),
        ("qop=auth-int", "qop=auth-int,qop=auth"),
        ("username=\"ada\"", "username=\"ada\",authzid=\"bob\""),
        ("username=\"ada\"", "username=\"\""),
        ("username=\"ada\",", ""),
        ("maxbuf=16384", "maxbuf=1"),
        ("response=", "x="),
    ] {
        assert_eq!(replaced(from, to), Refusal::Malformed, "{from} {to}");
    }
    let bob = Refusal::NotProven("bob".to_owned());
    assert_eq!(replaced("\"ada\"", "\"bob\""), bob);
    // What is chosen is part of the digest.
    assert_eq!(replaced("qop=auth-int", "qop=auth"), Refusal::NotProven("ada".to_owned()));
    assert_eq!(refused(|answer| format!("{answer},x={}", "y".repeat(4096))), Refusal::Malformed);
    assert_eq!(refused(|_| String::new()), Refusal::Malformed);
}

#[test]
fn what_a_client_refuses() {
    let of = |challenge: &str| {
        DigestClient::new(challenge.as_bytes(), &login("ada", PASSWORD, &ANY), &[8; RANDOM])
            .map(|client| client.answer().to_owned())
    };
    let right = "nonce=\"n\",algorithm=md5-sess";
    assert!(of(right).unwrap().contains("qop=auth,digest-uri=\"svn/example.org\""));
    let two = format!("{right},realm=\"B\",realm=\"A place\",qop=\"auth-x,auth\"");
    assert!(of(&two).unwrap().contains("realm=\"A place\""));
    for wrong in [
        "",
        "nonce=\"n\"",
        "algorithm=md5-sess",
        "nonce=\"\",algorithm=md5-sess",
        "nonce=\"n\",nonce=\"n\",algorithm=md5-sess",
        "nonce=\"n\",algorithm=md5",
        "nonce=\"n\",algorithm=md5-sess,charset=x",
        "nonce=\"n\",algorithm=md5-sess,maxbuf=1",
    ] {
        assert_eq!(of(wrong), Err(DigestError::Malformed), "{wrong}");
    }
    assert_eq!(of(&format!("{right},x={}", "y".repeat(2048))), Err(DigestError::Malformed));
    assert_eq!(of(&format!("{right},qop=\"auth-conf\",cipher=\"des\"")), Err(DigestError::TooWeak));
}

fn layers(strength: u32) -> (Layer, Layer) {
    let strengths = strength..=strength;
    let server = DigestServer::new("A place", &strengths, &[7; RANDOM]);
    let challenge = server.challenge();
    let client =
        DigestClient::new(challenge.as_bytes(), &login("ada", PASSWORD, &ANY), &[8; RANDOM]);
    let client = client.unwrap();
    let server = server.finish(client.answer().as_bytes(), &lookup).unwrap().layer.unwrap();
    (client.into_layer().unwrap(), server)
}

/// What the server says to packets, whole.
fn received(
    opener: &mut crate::security_layer::Opener,
    mut sent: &[u8],
) -> Result<Vec<u8>, LayerError> {
    let mut found = Vec::new();
    loop {
        let mut room = [0; 64];
        match opener.read(&mut room, |room| std::io::Read::read(&mut sent, room)) {
            Ok(0) => return Ok(found),
            Ok(got) => found.extend_from_slice(&room[..got]),
            Err(error) => {
                return Err(error
                    .get_ref()
                    .and_then(|e| e.downcast_ref::<LayerError>())
                    .unwrap()
                    .clone());
            }
        }
    }
}

#[test]
fn changed_packets_are_refused() {
    for strength in [1, 112, 128] {
        let (mut client, _) = layers(strength);
        let mut sent = Vec::new();
        client.sealer.seal(b"( get-latest-rev ( ) ) ", &mut sent).unwrap();
        let hidden = !sent.windows(10).any(|bytes| bytes == b"get-latest");
        assert_eq!(hidden, strength > 1);
        for at in 4..sent.len() {
            let mut changed = sent.clone();
            changed[at] ^= 4;
            let error = received(&mut layers(strength).1.opener, &changed).unwrap_err();
            assert!(
                matches!(error, LayerError::Wrong | LayerError::OutOfSequence),
                "{at}: {error}"
            );
        }
        let mut opener = layers(strength).1.opener;
        assert_eq!(received(&mut opener, &sent).unwrap(), b"( get-latest-rev ( ) ) ");
        // The same packet again.
        assert_eq!(received(&mut opener, &sent), Err(LayerError::OutOfSequence));
        let short = [0, 0, 0, 3, 1, 2, 3];
        assert_eq!(received(&mut layers(strength).1.opener, &short), Err(LayerError::TooShort));
        // A client's packets are not a server's.
        assert_eq!(received(&mut layers(strength).0.opener, &sent), Err(LayerError::Wrong));
    }
}

proptest! {
    #[test]
    fn any_challenge(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = DigestClient::new(&bytes, &login("ada", PASSWORD, &ANY), &[8; RANDOM]);
        let server = DigestServer::new("A place", &ANY, &[7; RANDOM]);
        prop_assert!(server.finish(&bytes, &lookup).is_err());
    }

    #[test]
    fn challenges_there_and_back(
        realms in prop::collection::vec("[ -~\u{e4}]{0,9}", 0..3),
        nonce in "[!-~]{1,20}",
        low in 0u32..130,
        more in 0u32..130,
        max_packet in 17u32..1 << 24,
        utf8: bool,
    ) {
        let offered: Vec<_> = Protection::within(&(low..=low + more)).collect();
        let challenge = Challenge { realms, nonce, offered, max_packet, utf8 };
        prop_assert_eq!(Challenge::parse(challenge.write().as_bytes()).unwrap(), challenge);
    }
}
