//! Logins by DIGEST-MD5 and the packets after them: whatever the other side says, no user is let in without the
//! password, and no byte is handed out that was not sealed. The first byte chooses who reads the rest.

use std::ops::RangeInclusive;

use sapwood_wire_svn::digest_md5::{
    Challenge, DigestClient, DigestLogin, DigestServer, Protection, RANDOM,
};
use sapwood_wire_svn::security_layer::Layer;

const ANY: RangeInclusive<u32> = 0..=256;

fn client(challenge: &[u8], strengths: &RangeInclusive<u32>) -> Option<DigestClient> {
    let login =
        DigestLogin { user: "jo", password: "secret", host: "h", realm: "place", strengths };
    DigestClient::new(challenge, &login, &[1; RANDOM]).ok()
}

/// A client, and the answer of a server to it.
fn layers(strengths: &RangeInclusive<u32>) -> Option<(Layer, Layer)> {
    let server = DigestServer::new("place", strengths, &[2; RANDOM]);
    let client = client(server.challenge().as_bytes(), strengths)?;
    let proven = server.finish(client.answer().as_bytes(), &|_| Some(b"secret".to_vec())).ok()?;
    Some((client.into_layer()?, proven.layer?))
}

/// Reads a challenge, an answer, a proof, or packets.
pub fn run(data: &[u8]) {
    let Some((first, said)) = data.split_first() else { return };
    match first % 4 {
        0 => {
            if let Ok(challenge) = Challenge::parse(said) {
                let again = Challenge::parse(challenge.write().as_bytes());
                // What is written may be longer than a challenge may be.
                assert!(again.is_err() || again.unwrap() == challenge);
            }
            let _ = client(said, &ANY);
        }
        1 => {
            let server = DigestServer::new("place", &ANY, &[2; RANDOM]);
            let proven = server.finish(said, &|_| Some(b"not to be guessed".to_vec()));
            assert!(proven.is_err(), "a login without the password");
        }
        2 => {
            let server = DigestServer::new("place", &ANY, &[2; RANDOM]);
            let client = client(server.challenge().as_bytes(), &ANY).expect("our own challenge");
            let proven =
                server.finish(client.answer().as_bytes(), &|_| Some(b"secret".to_vec()));
            let right = proven.expect("our own answer").proof;
            let is_proof = client.verify(said).is_ok();
            let digest = right.trim_start_matches("rspauth=");
            assert!(!is_proof || String::from_utf8_lossy(said).contains(digest));
        }
        _ => {
            for protection in Protection::ALL {
                let strengths = protection.strength()..=protection.strength();
                let Some((mut sender, receiver)) = layers(&strengths) else { continue };
                let mut opener = receiver.opener;
                let mut sealed = Vec::new();
                sender.sealer.seal(b"sent", &mut sealed).expect("a packet");
                opener.begin_with(&sealed);
                opener.begin_with(said);
                let (mut found, mut room) = (Vec::new(), [0; 100]);
                while let Ok(got @ 1..) = opener.read(&mut room, |_| Ok(0)) {
                    found.extend_from_slice(&room[..got]);
                }
                assert_eq!(found, b"sent", "a packet that no one sealed");
            }
        }
    }
}
