//! Properties of nodes: what they may be ([`rules`]), which are inherited ([`inherited`]), and
//! setting them ([`set`]).

pub mod inherited;
pub mod rules;
pub(crate) mod set;
pub(crate) mod values;

pub use set::Change;
pub(crate) use set::WorkingFile;
pub(crate) use set::{matches_changelist, store_props};
