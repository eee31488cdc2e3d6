//! `svn auth`.

use std::path::PathBuf;

use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, SvnError, SvnResult, glob};
use sapwood_ra::auth::Description;
use sapwood_ra::auth::store::{StoredCredential, all};

use super::log::SEPARATOR;
use super::options::Opt;
use super::out::Out;
use super::{Command, Invocation};
use crate::command::{name, to_text, usage_error};
use crate::remote::config::user_dir;
use crate::{report, user_date};

pub(super) const COMMAND: Command = Command {
    name: "auth",
    help: "Manage cached authentication credentials.\n\
        usage: 1. svn auth [PATTERN ...]\n       \
        2. svn auth --remove PATTERN [PATTERN ...]\n\
        \n  \
        1. List what is kept to log in with: names, passwords, certificates of servers and\n     \
        passphrases. With PATTERNs only what matches all of them: * is any text, ? any\n     \
        character, [abc] any of these. Passwords are shown with --show-passwords only.\n\
        \n  \
        2. Remove what matches all PATTERNs.\n",
    options: &[Opt::Remove, Opt::ShowPasswords],
    overrides: &[(Opt::Remove, "remove the credentials that match")],
    run,
    ..Command::DEFAULT
};

/// Values that no pattern is compared with.
const SECRETS: [&str; 2] = ["password", "passphrase"];

/// The certificate of a server, in base64.
const CERTIFICATE: &str = "ascii_cert";

/// Whether credentials match a pattern somewhere.
fn matches(kept: &StoredCredential, pattern: &str) -> bool {
    let pattern = format!("*{pattern}*");
    let found = |text: &[u8]| glob::matches(pattern.as_bytes(), text);
    found(kept.kind.as_bytes())
        || found(kept.realm.as_bytes())
        || kept.values.iter().any(|(name, value)| match name {
            CERTIFICATE => certificate_matches(value, &pattern),
            _ => !SECRETS.contains(&name) && found(value),
        })
}

/// Checksums and hosts match in any case.
fn certificate_matches(ascii: &[u8], pattern: &str) -> bool {
    let Some(certificate) = Description::of_kept(ascii) else { return false };
    let found = |text: &str| glob::matches(pattern.as_bytes(), text.as_bytes());
    let lower = pattern.to_ascii_lowercase();
    let found_in_any_case =
        |text: &str| glob::matches(lower.as_bytes(), text.to_ascii_lowercase().as_bytes());
    found(&certificate.subject)
        || found(&certificate.issuer)
        || found_in_any_case(&certificate.fingerprint)
        || certificate.hostnames.iter().any(|host| found_in_any_case(host))
}

/// A certificate as text; a warning about an invalid one.
fn certificate(ascii: &[u8]) -> String {
    let Some(certificate) = Description::of_kept(ascii) else {
        report::warning(&SvnError::new(ErrorCode::X509_CERT_INVALID_FORMAT, ""), "svn: ");
        return String::new();
    };
    let Description { subject, issuer, fingerprint, .. } = &certificate;
    let [from, until] = [certificate.valid_from, certificate.valid_until];
    let [from, until] = [from, until].map(|at| user_date::human(at.0));
    let hosts = match certificate.hostnames.join(", ") {
        none if none.is_empty() => none,
        hosts => format!("Hostnames: {hosts}\n"),
    };
    format!(
        "Subject: {subject}\nValid from: {from}\nValid until: {until}\nIssuer: {issuer}\n\
         Fingerprint: {fingerprint}\n{hosts}"
    )
}

fn print(out: &Out, kept: &StoredCredential, show_passwords: bool) -> SvnResult<()> {
    let mut text = format!(
        "{SEPARATOR}Credential kind: {}\nAuthentication realm: {}\n",
        kept.kind, kept.realm
    );
    for (name, value) in kept.values.iter() {
        if value == kept.realm.as_bytes() {
            continue;
        }
        if name == CERTIFICATE {
            text.push_str(&certificate(value));
            continue;
        }
        let value = match SECRETS.contains(&name) && !show_passwords {
            true => "[not shown]".into(),
            false => String::from_utf8_lossy(value),
        };
        let name = match name {
            "password" => "Password",
            "passphrase" => "Passphrase",
            "passtype" => "Password cache",
            "username" => "Username",
            other => other,
        };
        if name == "failures" {
            text.push_str(&failures(&value));
        } else {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    text.push('\n');
    out.text(&text)
}

/// Why a certificate had to be accepted by hand.
fn failures(value: &str) -> String {
    let bits = value.trim().parse::<u32>().unwrap_or(0);
    let reasons = [
        (0x1, "The certificate is not yet valid."),
        (0x2, "The certificate has expired."),
        (0x4, "The certificate's Common Name (hostname) does not match the remote hostname."),
        (0x8, "The certificate issuer is unknown."),
        (0x4000_0000, "Unknown verification failure."),
    ];
    let lines: Vec<String> = reasons
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, text)| format!("  {text}\n"))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("Automatic certificate validity check failed because:\n{}", lines.concat())
}

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let mut patterns = Vec::new();
    for arg in std::mem::take(&mut inv.args) {
        patterns.push(to_text(&arg)?);
    }
    let remove = inv.has(Opt::Remove);
    if remove && patterns.is_empty() {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let given = inv.opt.session.os_value(name::CONFIG_DIR).map(PathBuf::from);
    // Without a home a guess would be the present folder, where nothing may be removed.
    let Some(dir) = given.or_else(user_dir) else {
        return Err(usage_error("The user's home is not known: say --config-dir"));
    };
    let shown = dir.display();
    let mut count = 0u64;
    for kept in all(&dir) {
        if !patterns.iter().all(|pattern| matches(&kept, pattern)) {
            continue;
        }
        count = count.plus(1);
        if !remove {
            print(&inv.out, &kept, inv.has(Opt::ShowPasswords))?;
            continue;
        }
        let StoredCredential { kind, realm, file, .. } = &kept;
        inv.out.text(&format!("Deleting {kind} credential for realm '{realm}'\n"))?;
        std::fs::remove_file(file).map_err(|e| {
            SvnError::io(&e, format_args!("Can't remove file '{}'", file.display()))
        })?;
    }
    let plural = if count == 1 { "" } else { "s" };
    if count == 0 && !patterns.is_empty() {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!("Credentials cache in '{shown}' contains no matching credentials"),
        ));
    }
    inv.out.text(&match (count, remove, patterns.is_empty()) {
        (0, ..) => format!("Credentials cache in '{shown}' is empty\n"),
        (_, true, _) => format!("Deleted {count} matching credential{plural} from '{shown}'\n"),
        (_, false, true) => {
            format!("Credentials cache in '{shown}' contains {count} credential{plural}\n")
        }
        (_, false, false) => {
            format!("Credentials cache in '{shown}' contains {count} matching credential{plural}\n")
        }
    })
}
