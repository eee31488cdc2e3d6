//! A login by DIGEST-MD5.

use sapwood_core::SvnResult;
use sapwood_wire_svn::digest_md5::{DigestServer, Refusal};

use super::{BAD_PROTOCOL, NO_RANDOM, Outcome, Success, Verifier, random, step};
use crate::svn::connection::Connection;

impl Verifier {
    /// Challenges the client, whatever it began with: there is no login by an earlier nonce.
    pub(super) fn digest_md5(&self, conn: &mut Connection) -> SvnResult<Outcome> {
        let Some(nonce) = random() else { return Ok(NO_RANDOM.into()) };
        let server = DigestServer::new(&self.realm, &self.strengths, &nonce);
        let Some(answer) = step(conn, server.challenge().as_bytes())? else {
            return Ok(Outcome::Anew);
        };
        let proven = match server.finish(&answer, &|user| self.password(user)) {
            Ok(proven) => proven,
            Err(Refusal::NotProven(user)) => return Ok(Outcome::NotProven(Some(user))),
            Err(Refusal::Malformed) => return Ok(BAD_PROTOCOL.into()),
        };
        Ok(match self.proven(&proven.user, Some(proven.proof.into_bytes())) {
            Outcome::Success(success) => {
                Outcome::Success(Success { layer: proven.layer, ..success })
            }
            other => other,
        })
    }
}
