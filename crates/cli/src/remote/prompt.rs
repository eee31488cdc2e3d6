//! The questions for credentials and about certificates: name, password (not shown), yes or no.

use std::io::BufRead as _;
use std::path::Path;

use sapwood_core::{SvnError, SvnResult};
use sapwood_ra::auth::{Certificate, Decision, Failures, Prompter, Simple};

use crate::question::{ask_hidden, ask_openly, write_beside_question};
use crate::report;

/// Asks at the process's terminal, or, without one, on standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal;

impl Prompter for Terminal {
    fn simple(&self, realm: &str, username: Option<&str>, may_save: bool) -> SvnResult<Simple> {
        if !realm.is_empty() {
            write_beside_question(&format!("Authentication realm: {realm}\n"));
        }
        let username = match username {
            Some(name) => name.to_owned(),
            None => ask_openly("Username: ")?,
        };
        let password = ask_hidden(&format!("Password for '{username}': "))?;
        Ok(Simple { username, password, may_save })
    }

    fn server_trust(
        &self,
        realm: &str,
        failures: Failures,
        certificate: &Certificate,
        may_save: bool,
    ) -> SvnResult<Decision> {
        let answer = ask_openly(&trust_question(realm, failures, certificate, may_save))?;
        Ok(match answer.chars().next() {
            Some('t' | 'T') => Decision::Temporarily,
            Some('p' | 'P') if may_save => Decision::Permanently,
            _ => Decision::Reject,
        })
    }

    fn store_plaintext(&self, realm: &str, file: &Path) -> SvnResult<bool> {
        report::stderr(&format!(
            "\nThe password for the realm\n\n   {realm}\n\ncan only be kept unencrypted. To be \
             asked no more, set the option\n'store-plaintext-passwords' to 'yes' or 'no' in\n\
             '{}'.\n",
            file.display()
        ));
        yes_or_no("Store password unencrypted (yes/no)? ")
    }

    fn client_certificate(&self, realm: &str) -> SvnResult<String> {
        write_beside_question(&format!("Authentication realm: {realm}\n"));
        let file = ask_openly("Client certificate filename: ")?;
        let whole = std::path::absolute(&file);
        Ok(whole.map_or(file, |whole| whole.to_string_lossy().into_owned()))
    }

    fn passphrase(&self, certificate: &str) -> SvnResult<String> {
        ask_hidden(&format!("Passphrase for '{certificate}': "))
    }

    fn store_plaintext_passphrase(&self, certificate: &str, file: &Path) -> SvnResult<bool> {
        write_beside_question(&format!(
            "\nThe passphrase of the client certificate\n\n   {certificate}\n\ncan only be kept \
             unencrypted. To be asked no more, set the option\n\
             'store-ssl-client-cert-pp-plaintext' to 'yes' or 'no' in\n'{}'.\n",
            file.display()
        ));
        yes_or_no("Store passphrase unencrypted (yes/no)? ")
    }
}

/// Asks until it is one or the other.
fn yes_or_no(mut question: &str) -> SvnResult<bool> {
    loop {
        match ask_openly(question)?.as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => question = "Please type 'yes' or 'no': ",
        }
    }
}

/// The question about a server's certificate, in the reference's sentences.
fn trust_question(realm: &str, failures: Failures, it: &Certificate, may_save: bool) -> String {
    let mut text = format!("Error validating server certificate for '{realm}':\n");
    for (failure, sentence) in [
        (
            Failures::UNKNOWN_CA,
            " - The certificate is not issued by a trusted authority. Use the\n   fingerprint to \
             validate the certificate manually!\n",
        ),
        (Failures::NAME, " - The certificate hostname does not match.\n"),
        (Failures::NOT_YET_VALID, " - The certificate is not yet valid.\n"),
        (Failures::EXPIRED, " - The certificate has expired.\n"),
        (Failures::OTHER, " - The certificate has an unknown error.\n"),
    ] {
        if failures.has(failure) {
            text.push_str(sentence);
        }
    }
    text.push_str(&format!(
        "Certificate information:\n - Hostname: {}\n - Valid: from {} until {}\n - Issuer: {}\n \
         - Fingerprint: {}\n",
        it.hostname, it.valid_from, it.valid_until, it.issuer, it.fingerprint
    ));
    text.push_str(if may_save {
        "(R)eject, accept (t)emporarily or accept (p)ermanently? "
    } else {
        "(R)eject or accept (t)emporarily? "
    });
    text
}

/// The first line of standard input, for `--password-from-stdin`.
pub(crate) fn stdin_line() -> SvnResult<String> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|e| SvnError::io(&e, "Can't read stdin"))?;
    let len = line.trim_end_matches(['\n', '\r']).len();
    line.truncate(len);
    Ok(line)
}
