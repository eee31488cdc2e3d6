//! Changing the repository URL that a working copy records.

use rusqlite::params;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, uri};

use crate::db::Db;
use crate::error::{Error, Result};
use crate::root::Disk;
use crate::view::repos_location;

/// Says whether a URL leads to the repository of a UUID, given the root that it should have.
pub(crate) type Validate<'a> = &'a dyn Fn(&str, &str, &str) -> sapwood_core::SvnResult<()>;

/// As [`WorkingCopy::relocate`](crate::WorkingCopy::relocate).
pub(crate) fn relocate(
    db: &Db,
    disk: &Disk,
    from: &str,
    to: &str,
    validate: Validate<'_>,
) -> Result<()> {
    let (repos_id, place) = repos_location(db, disk, RelPath::ROOT)?;
    let old = db.repository(repos_id)?;
    let old_url = uri::join(&old.root, &place);
    let wrong = |message: String| Error::new(ErrorCode::WC_INVALID_RELOCATION, message);
    let rest = old_url.strip_prefix(from).ok_or_else(|| {
        wrong(format!(
            "Invalid source URL prefix: '{from}' (does not overlap target's URL '{old_url}')"
        ))
    })?;
    let new_url = format!("{to}{rest}");
    if !uri::is_url(&new_url) {
        return Err(wrong(format!("Invalid relocation destination: '{new_url}' (not a URL)")));
    }
    let encoded = uri::encode(&place);
    let new_root = match place.is_empty() {
        true => Some(new_url.as_str()),
        false => new_url.strip_suffix(encoded.as_ref()).and_then(|u| u.strip_suffix('/')),
    };
    let new_root = new_root.ok_or_else(|| {
        wrong(format!("Invalid relocation destination: '{new_url}' (does not point to target)"))
    })?;
    validate(&old.uuid, &new_url, new_root)?;
    db.write(|db| {
        let new_id = db.repository_id(new_root, &old.uuid)?;
        db.execute(
            "UPDATE nodes SET repos_id = ?3, dav_cache = NULL WHERE wc_id = ?1 AND repos_id = ?2",
            params![db.wc_id(), repos_id, new_id],
        )?;
        db.execute("UPDATE lock SET repos_id = ?2 WHERE repos_id = ?1", [repos_id, new_id])?;
        db.execute(
            "UPDATE externals SET repos_id = ?3 WHERE wc_id = ?1 AND repos_id = ?2",
            params![db.wc_id(), repos_id, new_id],
        )?;
        Ok(())
    })
}
