//! Who may change what a working copy knows only as it was earlier.

use sapwood_core::FsPath;
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnResult};
use sapwood_delta::Editor as _;
use sapwood_repos::authz::Access;
use sapwood_repos::commit::{CommitAuthorizer, CommitEditor, CommitSetup};
use sapwood_repos::{Hooks, Repository};
use sapwood_testkit::fspath;

use crate::common::Place;

struct Everything;

impl CommitAuthorizer for Everything {
    fn allows(&self, _path: &FsPath, _required: Access, _recursive: bool) -> bool {
        true
    }
}

/// One commit.
fn commit(
    repository: &Repository,
    edit: impl FnOnce(&mut CommitEditor<'_>) -> SvnResult<()>,
) -> SvnResult<()> {
    let mut editor = CommitEditor::new(CommitSetup {
        repository,
        hooks: Hooks::new(repository, None),
        url: "svn://host/r",
        base_path: fspath("/").to_owned(),
        revprops: PropList::new(),
        user: Some("user"),
        lock_tokens: Vec::new(),
        capabilities: &[],
        authorizer: &Everything,
    });
    edit(&mut editor)?;
    editor.close_edit()
}

/// Sets a property of the root, or of the directory `/d`, as of revision `base`.
fn set(repository: &Repository, dir: bool, base: u64, name: &str) -> SvnResult<()> {
    commit(repository, |editor| {
        let root = editor.open_root(Some(Revnum(base)))?;
        let at = if dir {
            editor.open_directory(RelPath::trusted("d"), root, Some(Revnum(base)))?
        } else {
            root
        };
        editor.change_dir_prop(at, name, Some(b"v"))?;
        editor.change_dir_prop(at, "another", Some(b"v"))
    })
}

#[test]
fn properties_of_directories() {
    for place in Place::each() {
        let repository = &place.repository;
        commit(repository, |editor| {
            let root = editor.open_root(Some(Revnum(0)))?;
            editor.add_directory(RelPath::trusted("d"), root, None).map(drop)
        })
        .unwrap();
        set(repository, true, 1, "a").unwrap();
        // The root of a transaction is its own from the start: it counts as what it was made from.
        for (dir, path) in [(true, "/d"), (false, "/")] {
            let error = set(repository, dir, 1, "b").unwrap_err();
            assert_eq!(error.code(), ErrorCode::FS_TXN_OUT_OF_DATE);
            assert_eq!(error.message(), format!("Directory '{path}' is out of date"));
        }
        set(repository, false, 2, "b").unwrap();
        assert_eq!(repository.fs().youngest().unwrap(), Revnum(3));
    }
}
