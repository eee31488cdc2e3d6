//! Line endings and the values of `svn:eol-style`.

/// A line ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eol {
    /// `\n`.
    Lf,
    /// `\r`.
    Cr,
    /// `\r\n`.
    CrLf,
}

impl Eol {
    /// The line ending of this system.
    pub const NATIVE: Self = Self::Lf;

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Cr => b"\r",
            Self::CrLf => b"\r\n",
        }
    }
}

/// The meaning of a value of `svn:eol-style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EolStyle {
    /// No property: line endings are left alone.
    #[default]
    None,
    /// `native`: `\n` in normal form, the system's in working form.
    Native,
    /// `LF`, `CR` or `CRLF`, in both forms.
    Fixed(Eol),
    /// Any other value.
    Unknown,
}

impl EolStyle {
    /// Reads a value of the property.
    #[must_use]
    pub fn parse(value: Option<&[u8]>) -> Self {
        match value {
            None => Self::None,
            Some(b"native") => Self::Native,
            Some(b"LF") => Self::Fixed(Eol::Lf),
            Some(b"CR") => Self::Fixed(Eol::Cr),
            Some(b"CRLF") => Self::Fixed(Eol::CrLf),
            Some(_) => Self::Unknown,
        }
    }

    /// The line ending of the working form, where one is set.
    #[must_use]
    pub const fn working(self) -> Option<Eol> {
        match self {
            Self::Native => Some(Eol::NATIVE),
            Self::Fixed(eol) => Some(eol),
            Self::None | Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(EolStyle::parse(None), EolStyle::None);
        assert_eq!(EolStyle::parse(Some(b"native")), EolStyle::Native);
        assert_eq!(EolStyle::parse(Some(b"CRLF")).working(), Some(Eol::CrLf));
        assert_eq!(EolStyle::parse(Some(b"crlf")), EolStyle::Unknown);
    }
}
