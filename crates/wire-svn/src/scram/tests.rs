//! The examples of RFC 5802 and RFC 7677, and both sides against each other.

use super::*;

fn password(user: &str) -> Option<Vec<u8>> {
    (user == "user").then(|| b"pencil".to_vec())
}

fn begin(hash: Hash, first: &str, nonce: &str, salt: &str) -> Result<ScramServer> {
    let salt = base64::decode(salt.as_bytes()).unwrap();
    ScramServer::begin(hash, first.as_bytes(), &password, nonce, &salt)
}

#[test]
fn rfc_5802_example() {
    let first = "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL";
    let mut scram = begin(Hash::Sha1, first, "3rfcNHYJY1ZVvWVs7j", "QSXCR+Q6sek8bf92").unwrap();
    assert_eq!(
        scram.server_first(),
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    );
    let last = "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,\
                p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
    let (user, verifier) = scram.finish(last.as_bytes()).unwrap();
    assert_eq!((&*user, &*verifier), ("user", "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="));
}

#[test]
fn rfc_7677_example() {
    let (nonce, salt) = ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "W22ZaJ0SNY7soEsUEjb6gQ==");
    let begin = |first: &str| begin(Hash::Sha256, first, nonce, salt);
    let whole = format!("rOprNGfwEbeRWgbNEkqO{nonce}");
    let last = format!("c=biws,r={whole},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    let done = begin(first).unwrap().finish(last.as_bytes());
    let verifier = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
    assert_eq!(done, Ok(("user".to_owned(), verifier.to_owned())));
    // One thing wrong.
    for wrong in [
        last.replace("p=d", "p=e"),
        last.replace("p=dHzb", "p="),
        last.replace("c=biws", "c=eSws"),
        last.replace(nonce, ""),
        last.replace(",p=", ",q="),
        String::new(),
    ] {
        assert!(begin(first).unwrap().finish(wrong.as_bytes()).is_err(), "{wrong}");
    }
    let stranger = "n,,n=other,r=rOprNGfwEbeRWgbNEkqO";
    assert_eq!(begin(stranger).unwrap().finish(last.as_bytes()), Err(NotProven));
    // The empty password of an unknown user opens nothing.
    let mut scram = begin(stranger).unwrap();
    let said = format!("n=other,r=rOprNGfwEbeRWgbNEkqO,{},c=biws,r={whole}", scram.server_first);
    let proofs = Proofs::new(Hash::Sha256, b"", &scram.salt, ITERATIONS, said.as_bytes()).unwrap();
    let last = format!("c=biws,r={whole},p={}", base64::encode(&proofs.client));
    assert_eq!(scram.finish(last.as_bytes()), Err(NotProven));
}

#[test]
fn the_client_of_rfc_5802() {
    let nonce = "fyko+d2lbbFgONRv9qkxdawL".to_owned();
    let mut client = ScramClient::with_nonce(Hash::Sha1, "user", b"pencil", nonce);
    assert_eq!(client.first(), "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL");
    let first = "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
    assert_eq!(client.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="), Err(NotProven));
    assert_eq!(
        client.answer(first.as_bytes()).unwrap(),
        "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    );
    client.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=").unwrap();
    assert_eq!(client.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKA="), Err(NotProven));
    assert_eq!(client.verify(b"e=other-error"), Err(Malformed));
    for wrong in [
        first.replace("r=f", "r=g"),
        first.replace("3rfcNHYJY1ZVvWVs7j", ""),
        first.replace("s=QS", "s=?S"),
        first.replace("i=4096", "i=0"),
        first.replace("i=4096", "i=4000000000"),
        first.replace(",i=4096", ""),
        String::new(),
    ] {
        assert_eq!(client.answer(wrong.as_bytes()), Err(Malformed), "{wrong}");
    }
}

#[test]
fn both_sides_agree() {
    for hash in Hash::ALL {
        for (user, right) in [("a,b=c", true), ("other", false)] {
            let mut client = ScramClient::new(hash, user, b"secret", &[1; RANDOM]);
            let look_up = |name: &str| (name == "a,b=c").then(|| b"secret".to_vec());
            let first = client.first();
            let (nonce, salt) = ([2; RANDOM], [3; RANDOM]);
            let server = ScramServer::new(hash, first.as_bytes(), &look_up, &nonce, &salt);
            let mut server = server.unwrap();
            let answer = client.answer(server.server_first().as_bytes()).unwrap();
            match server.finish(answer.as_bytes()) {
                Ok((name, proof)) => {
                    assert!(right && name == user);
                    client.verify(proof.as_bytes()).unwrap();
                }
                Err(error) => assert!(!right && error == NotProven),
            }
        }
    }
}

#[test]
fn first_messages() {
    let begin = |first: &str| begin(Hash::Sha512, first, "x", "AAAA");
    assert_eq!(begin("y,a=a=2Cb=3D,n=a=2Cb=3D,r=n,ext=1").unwrap().user, "a,b=");
    for bad in [
        "",
        "n",
        "n,,",
        "n,,n=user",
        "n,,n=user,r=",
        "n,,n=,r=x",
        "n,,r=x,n=user",
        "n,a=other,n=user,r=x",
        "n,b,n=user,r=x",
        "n,,n=us=er,r=x",
        "n,,m=ext,n=user,r=x",
        "p=tls-unique,,n=user,r=x",
    ] {
        assert!(begin(bad).is_err(), "{bad}");
    }
}
