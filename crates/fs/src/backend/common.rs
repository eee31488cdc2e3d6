//! What FSFS and FSX offer by functions of the same names: written once for both.
//!
//! Each macro is the part of an implementation in which a function hands on to the engine's own function of its name.

/// Hands functions on: those after `plain` as they are, those after `failing` with the error of this crate.
macro_rules! hand_on {
    (plain: $(fn $plain:ident(&self $(, $p:ident: $P:ty)*) -> $R:ty;)*
     failing: $(fn $failing:ident(&self $(, $f:ident: $F:ty)*) -> $T:ty;)*
     changing: $(fn $changing:ident(&mut self $(, $c:ident: $C:ty)*) -> $U:ty;)*) => {
        $(fn $plain(&self $(, $p: $P)*) -> $R {
            self.$plain($($p),*)
        })*
        $(fn $failing(&self $(, $f: $F)*) -> Result<$T> {
            Ok(self.$failing($($f),*)?)
        })*
        $(fn $changing(&mut self $(, $c: $C)*) -> Result<$U> {
            Ok(self.$changing($($c),*)?)
        })*
    };
}
pub(super) use hand_on;

macro_rules! filesystem {
    () => {
        super::common::hand_on! {
            plain:
            fn caches(&self) -> (&Arc<Caches>, u32);
            fn storage(&self) -> &dyn WriteStorage;
            fn path(&self) -> &Path;
            failing:
            fn youngest(&self) -> Revnum;
            fn min_unpacked_rev(&self) -> Revnum;
            fn revision_root(&self, revision: Revnum) -> Self::Root;
            fn txn_root(&self, name: &str) -> Self::Root;
            fn transactions(&self) -> Vec<String>;
            fn txn_props(&self, name: &str) -> PropList;
            changing:
        }

        fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
            Ok(self.lock_files().lock(path)?)
        }

        fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
            Ok(self.lock_files().locks(path, depth)?)
        }

        fn may_have_locks(&self) -> Result<bool> {
            Ok(self.lock_files().may_have_locks()?)
        }
    };
}
pub(super) use filesystem;

macro_rules! root {
    () => {
        super::common::hand_on! {
            plain:
            fn revision(&self) -> Option<Revnum>;
            fn base_revision(&self) -> Revnum;
            fn txn_name(&self) -> Option<&str>;
            failing:
            fn node(&self, path: &FsPath) -> NodeOf<Self>;
            fn find(&self, path: &FsPath) -> Option<NodeOf<Self>>;
            fn kind(&self, path: &FsPath) -> Option<NodeKind>;
            fn history(&self, path: &FsPath) -> History<Self::Fs>;
            fn closest_copy(&self, path: &FsPath) -> Option<(Revnum, FsPathBuf)>;
            fn node_origin_rev(&self, path: &FsPath) -> Revnum;
            fn verify(&self) -> ();
            changing:
        }
    };
}
pub(super) use root;

macro_rules! node {
    () => {
        super::common::hand_on! {
            plain:
            fn fs(&self) -> &Self::Fs;
            fn path(&self) -> &FsPath;
            fn shared_path(&self) -> SharedFsPath;
            fn kind(&self) -> NodeKind;
            fn id(&self) -> <Self::Fs as Nodes>::Id;
            fn created_path(&self) -> &FsPath;
            fn text_key(&self) -> Option<(Revnum, u64)>;
            fn same_contents_rep(&self, other: &Self) -> bool;
            fn same_props_rep(&self, other: &Self) -> bool;
            fn copied_from(&self) -> Option<(Revnum, &FsPath)>;
            fn predecessor_count(&self) -> u64;
            fn has_mergeinfo(&self) -> bool;
            fn mergeinfo_count(&self) -> u64;
            failing:
            fn props(&self) -> Arc<PropList>;
            fn has_props(&self) -> bool;
            fn entries(&self) -> <Self::Fs as Backend>::Directory;
            fn child(&self, name: &str) -> Option<Self>;
            fn length(&self) -> u64;
            fn recorded_md5(&self) -> Option<Md5>;
            fn sha1(&self) -> Option<Sha1>;
            fn contents(&self) -> <Self::Fs as Backend>::Contents;
            fn delta_from(&self, source: Option<&Self>) -> <Self::Fs as Backend>::Delta;
            fn contents_differ(&self, other: &Self) -> bool;
            fn predecessor(&self) -> Option<Self>;
            changing:
        }
    };
}
pub(super) use node;

/// The whole of what a directory offers, whose entries have the fields `name`, `kind` and `id`.
macro_rules! directory {
    () => {
        fn len(&self) -> usize {
            (**self).len()
        }

        fn get(&self, at: usize) -> Option<Entry<'_, Self::Fs>> {
            (**self).get(at).map(|entry| (&*entry.name, entry.kind, entry.id))
        }

        fn find(&self, name: &str) -> Option<Entry<'_, Self::Fs>> {
            (**self).find(name).map(|entry| (&*entry.name, entry.kind, entry.id))
        }

        fn find_next(&self, name: &str, hint: &mut usize) -> Option<Entry<'_, Self::Fs>> {
            (**self).find_next(name, hint).map(|entry| (&*entry.name, entry.kind, entry.id))
        }

        fn is_same(&self, other: &Self) -> bool {
            Arc::ptr_eq(self, other)
        }

        fn byte_len(&self) -> usize {
            (**self).byte_len()
        }
    };
}
pub(super) use directory;

macro_rules! contents {
    () => {
        fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
            Ok(self.read_some(buf)?)
        }

        fn next_piece(&mut self) -> Result<Option<&[u8]>> {
            Ok(self.next_piece()?)
        }
    };
}
pub(super) use contents;

macro_rules! writer {
    () => {
        fn fs(&self) -> &Self::Fs {
            (**self).fs()
        }

        fn lock_paths(
            &self,
            targets: &[LockTarget],
            options: &LockOptions<'_>,
        ) -> LockOutcome<Lock> {
            (**self).lock_paths(targets, options).into()
        }

        fn unlock_paths(
            &self,
            targets: &[UnlockTarget],
            user: Option<&str>,
            break_lock: bool,
        ) -> LockOutcome<()> {
            (**self).unlock_paths(targets, user, break_lock).into()
        }

        fn set_uuid(&self, uuid: &str) -> Result<Self> {
            Ok((**self).set_uuid(uuid)?)
        }

        fn change_revision_props(
            &self,
            revision: Revnum,
            change: &mut ChangeProps<'_>,
        ) -> Result<()> {
            Ok((**self).change_revision_props(revision, change)?)
        }

        fn take_error_after_commit(&self) -> Option<SvnError> {
            (**self).take_error_after_commit()
        }

        fn purge_txn(&self, name: &str) -> Result<()> {
            Ok((**self).purge_txn(name)?)
        }

        fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
            Ok((**self).change_txn_props(name, changes)?)
        }

        fn forget_younger_reps(&self, youngest: Revnum) -> Result<()> {
            Ok((**self).forget_younger_reps(youngest)?)
        }
    };
}
pub(super) use writer;

macro_rules! txn {
    () => {
        super::common::hand_on! {
            plain:
            failing:
            changing:
            fn publish(&mut self) -> ();
            fn refresh(&mut self) -> ();
        }

        fn suspend(self) -> Result<String> {
            Ok(self.suspend()?)
        }

        fn abort(self) -> Result<()> {
            Ok(self.abort()?)
        }
    };
}
pub(super) use txn;

macro_rules! bulk {
    () => {
        super::common::hand_on! {
            plain:
            fn published(&self) -> Revnum;
            failing:
            fn begin(&self) -> <Self::Fs as Backend>::Txn;
            fn youngest(&self) -> Revnum;
            fn commit(&self, txn: <Self::Fs as Backend>::Txn) -> Revnum;
            fn sync(&self) -> ();
            changing:
        }

        fn failure(&self) -> Option<Error> {
            self.failure().map(Error::from)
        }
    };
}
pub(super) use bulk;
