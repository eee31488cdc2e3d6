//! What administrators do with a filesystem.

use std::path::Path;

use sapwood_core::{CancelToken, Revnum};

use super::Backend;
use super::filesystem::not_supported;
use crate::error::Result;
use sapwood_fsfs::hotcopy::HotcopyOptions;
use sapwood_fsfs::maintenance::MaintenanceOptions;
use sapwood_fsfs::pack::{PackNotice, PackOptions};
use sapwood_fsfs::upgrade::UpgradeNotice;

/// What administrators do with a filesystem: all of it may be refused.
pub(crate) trait Admin: Backend {
    fn freeze(&self) -> Result<Self::Frozen> {
        not_supported(self)
    }

    fn hotcopy(
        &self,
        _to: &Path,
        _options: &HotcopyOptions,
        _cancel: &CancelToken,
        _notify: &mut dyn FnMut(Revnum, Revnum) -> Result<()>,
    ) -> Result<()> {
        not_supported(self)
    }

    fn pack(
        &self,
        _options: &PackOptions,
        _cancel: &CancelToken,
        _notify: &mut dyn FnMut(PackNotice) -> Result<()>,
    ) -> Result<()> {
        not_supported(self)
    }

    fn upgrade(
        &self,
        _options: &MaintenanceOptions,
        _cancel: &CancelToken,
        _notify: &mut dyn FnMut(UpgradeNotice) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }

    fn recover(&self, _options: &MaintenanceOptions, _cancel: &CancelToken) -> Result<()> {
        not_supported(self)
    }

    fn build_rep_cache(
        &self,
        _range: (Revnum, Revnum),
        _cancel: &CancelToken,
        _progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        not_supported(self)
    }
}
