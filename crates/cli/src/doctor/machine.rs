//! The machine and the server: space, clocks, the configuration and the certificate.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sapwood_core::date::{MICROS_PER_SEC, Timestamp};

use super::finding::Findings;
use super::shown;

/// Less free space than this is a problem, in bytes; less than ten times as much a warning.
const LITTLE: u64 = 512 << 20;
/// The most by which the clock of a disk may differ from that of the machine.
const CLOCK: Duration = Duration::from_secs(5);

/// The space where a path is, and the clock of that disk.
pub(super) fn space(path: &Path, findings: &mut Findings) {
    let Ok(found) = rustix::fs::statvfs(path) else { return };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} MiB are free on its disk", free >> 20);
    let full = found.f_files > 0 && found.f_favail < 1000;
    if free < LITTLE || full {
        let what = if full { "its disk has no room for more files".to_owned() } else { text };
        findings.problem(what, format!("df -h {0}; df -i {0}", shown(path)));
    } else if free / 10 < LITTLE {
        findings.warning(text, format!("df -h {}", shown(path)));
    } else {
        findings.good(text);
    }
    clock(path, findings);
}

/// A file server whose clock differs makes files look newer or older than they are.
fn clock(path: &Path, findings: &mut Findings) {
    // Where nothing can be written, the rights say so.
    let Ok(file) = tempfile::NamedTempFile::new_in(path.join("db")) else { return };
    let Ok(made) = file.as_file().metadata().and_then(|meta| meta.modified()) else { return };
    let now = SystemTime::now();
    let difference = made.duration_since(now).or_else(|_| now.duration_since(made));
    if let Ok(difference) = difference
        && difference > CLOCK
    {
        let what = format!("the clock of its disk differs by {} s", difference.as_secs());
        findings.problem(what, "set both clocks by one source (NTP)");
    }
}

/// What a configuration names.
#[derive(Debug, Default)]
pub(super) struct ConfiguredPaths {
    /// The repositories, and folders of them.
    pub(super) folders: Vec<PathBuf>,
    /// The folder of their backups.
    pub(super) backups: Option<PathBuf>,
}

/// The configuration of a server: what is wrong with it, and what it names.
pub(super) fn of_configuration(config: &Path) -> (Findings, ConfiguredPaths) {
    let mut findings = Findings::default();
    match crate::serve::examined(config) {
        Ok(examined) => {
            for (text, is_warning) in examined.problems {
                if is_warning {
                    findings.warning(text, "");
                } else {
                    findings.problem(text, "");
                }
            }
            examined.certificates.iter().for_each(|path| of_certificate(path, &mut findings));
            examined.ordered.iter().for_each(|ordered| of_ordered(ordered, &mut findings));
            examined.servers.iter().for_each(|(name, why)| of_server(name, why, &mut findings));
            if findings.worst() == super::Grade::Good {
                findings.good("the configuration is sound");
            }
            (findings, ConfiguredPaths { folders: examined.folders, backups: examined.backups })
        }
        Err(error) => {
            findings.problem(crate::report::lines(&error, "").trim_end().to_owned(), "");
            (findings, ConfiguredPaths::default())
        }
    }
}

/// A server of the list.
fn of_server(name: &str, why: &Option<String>, findings: &mut Findings) {
    match why {
        None => findings.good(format!("server '{name}' is there")),
        Some(why) => {
            let todo = "start it, or compare its '[servers]' with this one's: meanwhile the others do without it";
            findings.warning(why.clone(), todo);
        }
    }
}

/// A certificate that the server orders itself.
fn of_ordered(ordered: &sapwood_acme::StoredCertificate, findings: &mut Findings) {
    let file = shown(&ordered.certificate);
    if ordered.is_there {
        of_certificate(&ordered.certificate, findings);
    } else if ordered.failure.is_none() {
        findings.warning(format!("there is no certificate {file} yet"), "start the server");
    }
    if ordered.is_open {
        let todo = format!("chmod 600 {file}");
        findings.problem(format!("other users of this machine can read the key in {file}"), todo);
    }
    if let Some(why) = &ordered.failure {
        findings.problem(why.clone(), "look at the reason; a reload tries again");
    }
}

/// The end of a certificate.
fn of_certificate(path: &Path, findings: &mut Findings) {
    let Ok(end) = sapwood_server::dav::certificate_end(path) else { return };
    let now = Timestamp::now().0 / MICROS_PER_SEC;
    let days = end.checked_sub(now).map_or(0, |seconds| seconds / 86_400);
    let file = shown(path);
    if end <= now {
        findings.problem(format!("the certificate {file} has ended"), "get a new one");
    } else if days < 30 {
        findings.warning(format!("the certificate {file} ends in {days} days"), "get a new one");
    } else {
        findings.good(format!("the certificate {file} ends in {days} days"));
    }
}
