//! Making a new repository: the folder, what people configure in it, and its filesystem.

mod hooks;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_fs::admin::create::{self as fs_create, CreateOptions, NewFilesystem};
use sapwood_fs::{LocalStorage, WriteStorage};

use crate::error::Result;
use crate::repository::Repository;

/// What to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepositoryOptions {
    /// The filesystem in it.
    pub fs: CreateOptions,
    /// Whether Subversion 1.4 and older (with 1.4: 1.3 and older) must be able to use the
    /// repository; `None` when only newer ones do.
    pub compatible_minor: Option<u32>,
}

/// Makes a repository in the folder `path`, which must not exist or be empty. When the filesystem
/// cannot be made, the folder is removed again.
///
/// # Errors
/// E165002 inside another repository; E200011 for a folder with something in it; whatever the
/// system reports.
pub fn create(path: &Path, options: &RepositoryOptions) -> Result<()> {
    create_of(path, &NewFilesystem::Fsfs(options.fs), options.compatible_minor)
}

/// The same, with a filesystem of any kind.
///
/// # Errors
/// As [`create`].
pub fn create_of(path: &Path, kind: &NewFilesystem, compatible_minor: Option<u32>) -> Result<()> {
    let absolute = sapwood_core::paths::absolute(path)
        .map_err(|e| cannot(&e, "Can't determine absolute path of", path))?;
    if let Some(root) = Repository::find_root(&absolute) {
        let (path, root_shown) = (absolute.display(), root.display());
        let message = if root == absolute {
            format!("'{root_shown}' is an existing repository")
        } else {
            format!("'{path}' is a subdirectory of an existing repository rooted at '{root_shown}'")
        };
        return Err(SvnError::new(ErrorCode::REPOS_BAD_ARGS, message).into());
    }
    let older_than = |minor| compatible_minor.is_some_and(|m| m < minor);

    structure(path, older_than(5)).map_err(|e| e.context("Repository creation failed"))?;
    if let Err(error) = fs_create::create(&LocalStorage, &path.join("db"), kind) {
        // The folder was empty before, so nothing of others is in it. The first error counts.
        let _ = fs::remove_dir_all(path);
        return Err(error.into());
    }
    let format = if older_than(4) { "3\n" } else { "5\n" };
    let file = path.join("format");
    new_file(&file, format)?;
    LocalStorage
        .set_read_only(&file)
        .map_err(|e| cannot(&e, "Can't change perms of file", &file).into())
}

/// Everything but `db` and `format`.
fn structure(path: &Path, dav: bool) -> std::result::Result<(), SvnError> {
    new_dir(path).map_err(|e| e.context("Could not create top-level directory"))?;
    if dav {
        new_dir(&path.join("dav")).map_err(|e| e.context("Creating DAV sandbox dir"))?;
    }

    let locks = path.join("locks");
    new_dir(&locks).map_err(|e| e.context("Creating lock dir"))?;
    let unused = include_str!("create/templates/db.lock");
    new_file(&locks.join("db.lock"), unused).map_err(|e| e.context("Creating db lock file"))?;
    new_file(&locks.join("db-logs.lock"), unused)
        .map_err(|e| e.context("Creating db logs lock file"))?;

    let hooks = path.join("hooks");
    new_dir(&hooks).map_err(|e| e.context("Creating hook directory"))?;
    for hook in &hooks::HOOKS {
        let file = hooks.join(format!("{}.tmpl", hook.name));
        new_file(&file, &hook.template())
            .and_then(|()| make_executable(&file))
            .map_err(|e| e.context(format!("Creating {} hook", hook.name)))?;
    }

    let conf = path.join("conf");
    new_dir(&conf).map_err(|e| e.context("Creating conf directory"))?;
    for (name, contents, what) in [
        ("svnserve.conf", include_str!("create/templates/svnserve.conf"), "svnserve.conf"),
        ("passwd", include_str!("create/templates/passwd"), "passwd"),
        ("authz", include_str!("create/templates/authz"), "authz"),
        ("hooks-env.tmpl", include_str!("create/templates/hooks-env.tmpl"), "hooks-env"),
    ] {
        new_file(&conf.join(name), contents)
            .map_err(|e| e.context(format!("Creating {what} file")))?;
    }
    new_file(&path.join("README.txt"), include_str!("create/templates/README.txt"))
}

/// Makes a folder; one that is there and empty will do.
fn new_dir(path: &Path) -> std::result::Result<(), SvnError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut names =
                fs::read_dir(path).map_err(|e| cannot(&e, "Can't check directory", path))?;
            if names.next().is_none() {
                return Ok(());
            }
            Err(SvnError::new(
                ErrorCode::DIR_NOT_EMPTY,
                format!("'{}' exists and is non-empty", path.display()),
            ))
        }
        made => made.map_err(|e| cannot(&e, "Can't create directory", path)),
    }
}

fn new_file(path: &Path, contents: &str) -> std::result::Result<(), SvnError> {
    LocalStorage
        .create_with(path, contents.as_bytes())
        .map_err(|e| cannot(&e, "Can't open file", path))
}

/// Users that may read the file may execute it.
fn make_executable(path: &Path) -> std::result::Result<(), SvnError> {
    let change = || {
        let mode = fs::metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
    };
    change().map_err(|e| cannot(&e, "Can't change perms of file", path))
}

fn cannot(error: &io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_repository() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("repo");
        fs::create_dir(&path).unwrap();
        create(&path, &RepositoryOptions::default()).unwrap();
        for name in ["conf/authz", "hooks/pre-commit.tmpl", "locks/db.lock", "db/revs/0/0"] {
            assert!(path.join(name).exists(), "{name}");
        }
        assert!(!path.join("dav").exists());
        assert_eq!(fs::read_to_string(path.join("format")).unwrap(), "5\n");
        let mode = fs::metadata(path.join("hooks/pre-commit.tmpl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100);

        let error = create(&path, &RepositoryOptions::default()).unwrap_err();
        let shown = path.display();
        assert_eq!(SvnError::from(error).message(), format!("'{shown}' is an existing repository"));
        let inside = path.join("x");
        let error = create(&inside, &RepositoryOptions::default()).unwrap_err();
        assert_eq!(
            SvnError::from(error).message(),
            format!(
                "'{}' is a subdirectory of an existing repository rooted at '{shown}'",
                inside.display()
            )
        );
        // What is beside a repository is not in it, however the way there is written.
        create(&path.join("../other"), &RepositoryOptions::default()).unwrap();
        assert!(dir.path().join("other/format").exists());
    }

    #[test]
    fn old_ones_have_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("repo");
        let options = RepositoryOptions {
            fs: CreateOptions { format: 1, ..CreateOptions::default() },
            compatible_minor: Some(3),
        };
        create(&path, &options).unwrap();
        assert!(path.join("dav").exists());
        assert_eq!(fs::read_to_string(path.join("format")).unwrap(), "3\n");
    }

    #[test]
    fn folders_with_something_in_them_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine"), "x").unwrap();
        let error = SvnError::from(create(dir.path(), &RepositoryOptions::default()).unwrap_err());
        let sentences: Vec<_> = error.chain().map(|e| e.message().to_owned()).collect();
        assert_eq!(
            sentences,
            [
                "Repository creation failed".to_owned(),
                "Could not create top-level directory".to_owned(),
                format!("'{}' exists and is non-empty", dir.path().display())
            ]
        );
        assert!(dir.path().join("mine").exists());
    }
}
