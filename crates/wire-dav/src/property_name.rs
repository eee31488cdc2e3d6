//! The names of properties in XML, and those of a repository that they stand for.

use crate::{NS_CUSTOM, NS_SVN_PROPS};

/// The name of a property in XML.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The namespace.
    pub namespace: String,
    /// The name in it.
    pub name: String,
}

impl Name {
    /// A name.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// How a property of the repository is named in XML.
    #[must_use]
    pub fn of_property(property: &str) -> Self {
        match property.strip_prefix("svn:") {
            Some(name) => Self::new(NS_SVN_PROPS, name),
            None => Self::new(NS_CUSTOM, property),
        }
    }

    /// Which property of the repository it names, if any.
    #[must_use]
    pub fn property(&self) -> Option<String> {
        match self.namespace.as_str() {
            NS_SVN_PROPS => Some(format!("svn:{}", self.name)),
            NS_CUSTOM => Some(self.name.clone()),
            _ => None,
        }
    }
}

/// Whether XML can have an element of this name. (Subversion sends and accepts colons in it,
/// against the standard.)
pub(crate) fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == ':')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.' | '\u{b7}'))
}
