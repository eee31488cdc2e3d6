//! A program without Kerberos.

use crate::{KerberosError, Step, Use};

/// What there is none of.
#[derive(Debug)]
pub enum Context {}

#[allow(clippy::missing_errors_doc, reason = "there is one error")]
impl Context {
    /// Is an error.
    pub const fn initiate(_: Use, _: &str) -> Result<Self, KerberosError> {
        Err(KerberosError::NotBuiltIn)
    }

    /// Is an error.
    pub const fn accept(_: Use) -> Result<Self, KerberosError> {
        Err(KerberosError::NotBuiltIn)
    }

    /// Cannot be called.
    pub const fn step(&mut self, _: Option<&[u8]>) -> Result<Step, KerberosError> {
        match *self {}
    }

    /// Cannot be called.
    pub const fn user(&mut self) -> Result<String, KerberosError> {
        match *self {}
    }

    /// Cannot be called.
    pub const fn wrap(&mut self, _: bool, _: &[u8]) -> Result<Vec<u8>, KerberosError> {
        match *self {}
    }

    /// Cannot be called.
    pub(crate) const fn unwrap_token(
        &mut self,
        _: bool,
        _: &[u8],
    ) -> Result<Vec<u8>, KerberosError> {
        match *self {}
    }
}
