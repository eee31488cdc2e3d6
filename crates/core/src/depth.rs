//! How far below a path an operation reaches.

/// A depth, in increasing order of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// Not known or not given: let the other side decide.
    Unknown,
    /// Nothing: only sent to remove a node from a working copy.
    Exclude,
    /// Only the node itself.
    Empty,
    /// The node and its file children.
    Files,
    /// The node and its immediate children, those directories being empty.
    Immediates,
    /// Everything below.
    Infinity,
}

impl Depth {
    /// The word used on the command line, on the wire and in wc.db.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Exclude => "exclude",
            Self::Empty => "empty",
            Self::Files => "files",
            Self::Immediates => "immediates",
            Self::Infinity => "infinity",
        }
    }

    /// The inverse of [`Depth::word`]; an unknown word is [`Depth::Unknown`], as in the
    /// reference.
    #[must_use]
    pub fn from_word(word: &[u8]) -> Self {
        match word {
            b"exclude" => Self::Exclude,
            b"empty" => Self::Empty,
            b"files" => Self::Files,
            b"immediates" => Self::Immediates,
            b"infinity" => Self::Infinity,
            _ => Self::Unknown,
        }
    }
}
