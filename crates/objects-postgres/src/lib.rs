//! Logs in PostgreSQL, whose objects are in a store beside it: for stores that let two writers create one object, and where a claim
//! is to take less time than a store needs for one.
//!
//! The crate is there in every build; the log only with the feature `postgres`, which release builds have: it brings a dozen packages
//! that nothing else needs. Without it [`Connection::open`] says so.
//!
//! Invariant: nothing outside of this crate knows of the library, nor of the runtime that it needs.

mod address;
pub mod pass_file;
#[cfg(feature = "postgres")]
mod pg;
#[cfg(not(feature = "postgres"))]
mod without;

pub use address::Address;
#[cfg(feature = "postgres")]
pub use pg::Connection;
pub use sapwood_objects::OpenError;
#[cfg(not(feature = "postgres"))]
pub use without::Connection;

/// How a database is reached.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Variables as other programs for PostgreSQL take them: `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGPASSFILE`, `PGSSLMODE`,
    /// `PGSSLROOTCERT`.
    /// What an address says counts before them.
    pub variables: Vec<(String, String)>,
}

impl Settings {
    /// The value of a variable, if it is not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().rev().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
