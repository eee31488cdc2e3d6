//! One run of a row by one system: made ready, timed, and put back.

use std::fs::File;
use std::process::Stdio;

use sapwood_core::{SvnError, SvnResult};

use super::RowTimes;
use super::rows::Row;
use super::site::Site;
use crate::programs::timed;

/// The file, in a site's folder, with what the last run printed.
pub(super) const PRINTED: &str = "printed";

/// Runs a row.
pub(super) fn once(row: &Row, site: &Site, number: u32) -> SvnResult<RowTimes> {
    site.ready(row.before, row.folder, number)?;
    let printed = site.folder.join(PRINTED);
    let complaints = site.folder.join("complaints");
    let out = File::create(&printed)
        .map_err(|e| SvnError::io(&e, format_args!("Can't write '{}'", printed.display())))?;
    let mut command = site.shell(&format!("exec {}", row.command), row.folder, number);
    command.stdin(Stdio::null()).stdout(out);
    let (usage, status) = timed(&mut command, &complaints)?;
    let said = std::fs::read(&complaints)
        .map_err(|e| SvnError::io(&e, format_args!("Can't read '{}'", complaints.display())))?;
    let complaint = String::from_utf8_lossy(&said).lines().next().unwrap_or("").to_owned();
    site.ready(row.after, row.folder, number)?;
    Ok(RowTimes {
        seconds: usage.wall,
        cpu: usage.cpu,
        peak_mib: usage.peak_mib,
        code: status.code(),
        complaint,
    })
}
