//! The forms in which a tree can be downloaded.

/// A form of archives.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum ArchiveForm {
    /// A tar archive, compressed by gzip.
    TarGz,
    /// A zip archive.
    Zip,
}

impl ArchiveForm {
    /// As it stands in addresses, and at the end of the file's name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::TarGz => "tar.gz",
            Self::Zip => "zip",
        }
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::TarGz => "application/gzip",
            Self::Zip => "application/zip",
        }
    }
}
