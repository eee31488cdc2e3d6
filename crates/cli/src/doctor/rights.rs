//! Files of a repository that their user cannot write, and passwords that others can read.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::finding::Findings;
use super::shown;

/// Looks at the owners of a repository's files, and at the rights of this process.
pub(super) fn look(repository: &Path, findings: &mut Findings) {
    let Ok(meta) = fs::metadata(repository.join("db")) else { return };
    let owner = (meta.uid(), meta.gid());
    let is_root = rustix::process::geteuid().is_root();
    let mut foreign: Vec<PathBuf> = Vec::new();
    let mut closed: Vec<PathBuf> = Vec::new();
    for path in written(&repository.join("db")) {
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.uid() != owner.0 {
            foreign.push(path.clone());
        }
        if !is_fixed(&meta) && !may_write(&path) {
            closed.push(path);
        }
    }
    if let Some(first) = foreign.first() {
        let what = format!(
            "files have another owner than the folder 'db' ({} of those that were looked at, {})",
            foreign.len(),
            shown(first)
        );
        let todo = format!("chown -R {}:{} {}", owner.0, owner.1, shown(repository));
        // Who is allowed to write by the group or by all is no problem yet.
        if closed.is_empty() {
            findings.warning(what, todo);
        } else {
            findings.problem(what, todo);
        }
    }
    if let (Some(first), false) = (closed.first(), is_root) {
        let user = rustix::process::geteuid().as_raw();
        let what = format!("the user {user} may not write {}: no commit is possible", shown(first));
        findings.problem(what, format!("run the server as user {}, or chown -R", owner.0));
    }
    if foreign.is_empty() && (closed.is_empty() || is_root) {
        findings.good(format!("its files belong to user {}", owner.0));
    }
    secrets(repository, findings);
}

/// What commits write: the folder, all that is right in it, and what is newest in each folder there, where a process of
/// another user has written last.
fn written(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in entries(folder) {
        found.extend(entries(&entry).into_iter().max_by_key(|path| modified(path)));
        found.push(entry);
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Whether a file is one that no user may write: Subversion takes that right away from what never changes again, as `format` and the files of
/// revisions.
fn is_fixed(meta: &fs::Metadata) -> bool {
    meta.is_file() && meta.permissions().mode() & 0o222 == 0
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Passwords that are stored in the clear, and that others can read.
fn secrets(repository: &Path, findings: &mut Findings) {
    let path = repository.join("conf/passwd");
    let (Ok(meta), Ok(bytes)) = (fs::metadata(&path), crate::input::contents_if_there(&path))
    else {
        return;
    };
    let text = bytes.as_deref().map_or(String::new(), |b| String::from_utf8_lossy(b).into_owned());
    let has_passwords = text.lines().any(|line| {
        let line = line.trim();
        !line.starts_with(['#', '[']) && line.contains('=')
    });
    if has_passwords && meta.permissions().mode() & 0o004 != 0 {
        let what = "every user of this machine can read the passwords in conf/passwd";
        findings.warning(what, format!("chmod o-r {}", shown(&path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not even its owner writes it, and commits do not need that.
    #[test]
    fn what_never_changes_again_need_not_be_writable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("format");
        fs::write(&file, "8\n").unwrap();
        let is_fixed_with = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            is_fixed(&fs::metadata(path).unwrap())
        };
        assert!(is_fixed_with(&file, 0o444));
        assert!(!is_fixed_with(&file, 0o644) && !is_fixed_with(&file, 0o464));
        assert!(!is_fixed_with(folder.path(), 0o555), "a folder that is closed takes no file");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
