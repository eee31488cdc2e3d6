//! Names of the forms in which finished replies are kept.

/// The name of a form in which a finished reply, or a part of one, is kept by the caches: two
/// replies to the same question have the same bytes if they have the same form. What the number
/// says (the protocol, the fields, for whom) is the business of those who make replies; the caches
/// only compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormKey(u64);

impl FormKey {
    /// So many bits of the number are used, so that a cache has room for something of its own.
    pub const BITS: u32 = 63;

    /// The name with this number; `None` when it has too many bits.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number >> Self::BITS == 0 { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}
