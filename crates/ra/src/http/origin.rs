//! The address of a server or proxy.

/// The address of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) host: String,
    pub(super) port: u16,
}
