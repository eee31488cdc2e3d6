//! A macro for editors that hand most calls on to another editor.

/// The methods of [`sapwood_delta::Editor`] that only hand on to `self.$inner`.
macro_rules! delegate_editor {
    ($inner:ident: $($method:ident),* $(,)?) => {
        $($crate::delegate::delegate_editor!(@$method $inner);)*
    };
    (@set_target_revision $i:ident) => {
        fn set_target_revision(&mut self, revision: sapwood_core::Revnum) -> sapwood_core::SvnResult<()> {
            self.$i.set_target_revision(revision)
        }
    };
    (@delete_entry $i:ident) => {
        fn delete_entry(
            &mut self,
            path: &sapwood_core::paths::RelPath,
            revision: Option<sapwood_core::Revnum>,
            parent: sapwood_delta::Handle,
        ) -> sapwood_core::SvnResult<()> {
            self.$i.delete_entry(path, revision, parent)
        }
    };
    (@open_directory $i:ident) => {
        $crate::delegate::delegate_editor!(@open open_directory $i);
    };
    (@close_directory $i:ident) => {
        fn close_directory(&mut self, dir: sapwood_delta::Handle) -> sapwood_core::SvnResult<()> {
            self.$i.close_directory(dir)
        }
    };
    (@absent_directory $i:ident) => {
        $crate::delegate::delegate_editor!(@absent absent_directory $i);
    };
    (@open_file $i:ident) => {
        $crate::delegate::delegate_editor!(@open open_file $i);
    };
    (@close_file $i:ident) => {
        fn close_file(
            &mut self,
            file: sapwood_delta::Handle,
            text: Option<sapwood_core::Md5>,
        ) -> sapwood_core::SvnResult<()> {
            self.$i.close_file(file, text)
        }
    };
    (@apply_textdelta $i:ident) => {
        fn apply_textdelta(
            &mut self,
            file: sapwood_delta::Handle,
            base: Option<sapwood_core::Md5>,
            delta: &mut dyn sapwood_delta::TextDelta,
        ) -> sapwood_core::SvnResult<()> {
            self.$i.apply_textdelta(file, base, delta)
        }
    };
    (@change_dir_prop $i:ident) => {
        $crate::delegate::delegate_editor!(@prop change_dir_prop $i);
    };
    (@change_file_prop $i:ident) => {
        $crate::delegate::delegate_editor!(@prop change_file_prop $i);
    };
    (@close_edit $i:ident) => {
        fn close_edit(&mut self) -> sapwood_core::SvnResult<()> {
            self.$i.close_edit()
        }
    };
    (@absent_file $i:ident) => {
        $crate::delegate::delegate_editor!(@absent absent_file $i);
    };
    (@abort_edit $i:ident) => {
        fn abort_edit(&mut self) -> sapwood_core::SvnResult<()> {
            self.$i.abort_edit()
        }
    };
    // Calls that directories and files have in common.
    (@open $method:ident $i:ident) => {
        fn $method(
            &mut self,
            path: &sapwood_core::paths::RelPath,
            parent: sapwood_delta::Handle,
            base: Option<sapwood_core::Revnum>,
        ) -> sapwood_core::SvnResult<sapwood_delta::Handle> {
            self.$i.$method(path, parent, base)
        }
    };
    (@absent $method:ident $i:ident) => {
        fn $method(
            &mut self,
            path: &sapwood_core::paths::RelPath,
            parent: sapwood_delta::Handle,
        ) -> sapwood_core::SvnResult<()> {
            self.$i.$method(path, parent)
        }
    };
    (@prop $method:ident $i:ident) => {
        fn $method(
            &mut self,
            node: sapwood_delta::Handle,
            name: &str,
            value: Option<&[u8]>,
        ) -> sapwood_core::SvnResult<()> {
            self.$i.$method(node, name, value)
        }
    };
}

pub(crate) use delegate_editor;
