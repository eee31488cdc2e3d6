//! Externals within externals: which are being fetched, so that none fetches itself without end.
//!
//! The reference goes on until a path is too long for SQLite, some 240 levels down, and fails then.

use std::cell::RefCell;
use std::rc::Rc;

use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::revision::Revision;

/// The deepest nesting of externals.
const MAX_NESTING: usize = 64;

/// URL and revision of each external that is being fetched, the outermost first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nesting(Rc<RefCell<Vec<(UrlBuf, Revision)>>>);

/// As long as this lives, its external is being fetched.
pub(crate) struct Inside(Nesting);

impl Nesting {
    /// Begins to fetch an external.
    pub(crate) fn enter(&self, url: &Url, revision: Revision) -> Inside {
        self.0.borrow_mut().push((url.to_owned(), revision));
        Inside(self.clone())
    }

    /// Refuses an external that would be created within itself: its content would create it once more,
    /// and so on. (An existing one may have been changed by its user, so that the recursion ends.)
    ///
    /// # Errors
    /// E195005.
    pub(crate) fn check(&self, url: &Url, revision: Revision) -> SvnResult<()> {
        let above = self.0.borrow();
        let same = |(other, at): &(UrlBuf, Revision)| *other == *url && *at == revision;
        if above.len() < MAX_NESTING && !above.iter().any(same) {
            return Ok(());
        }
        let text = format!("The external at '{url}' brings itself");
        Err(SvnError::new(ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION, text))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.borrow_mut().pop();
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::Revnum;

    use super::*;

    fn url(text: &str) -> &Url {
        Url::new(text).unwrap()
    }

    #[test]
    fn an_external_within_itself_is_refused_and_no_other() {
        let nesting = Nesting::default();
        let (one, two) = (Revision::Number(Revnum(1)), Revision::Number(Revnum(2)));
        let outer = nesting.enter(url("file:///r/a"), one);
        assert!(nesting.check(url("file:///r/a"), one).is_err());
        assert!(nesting.check(url("file:///r/a"), two).is_ok());
        let inner = nesting.clone().enter(url("file:///r/b"), one);
        assert!(nesting.check(url("file:///r/b"), one).is_err());
        drop(inner);
        assert!(nesting.check(url("file:///r/b"), one).is_ok());
        drop(outer);
        assert!(nesting.check(url("file:///r/a"), one).is_ok());
    }

    #[test]
    fn the_depth_has_a_limit() {
        let nesting = Nesting::default();
        let urls = (0..MAX_NESTING).map(|at| format!("file:///r/{at}"));
        let inside: Vec<Inside> =
            urls.map(|text| nesting.enter(url(&text), Revision::Head)).collect();
        assert!(nesting.check(url("file:///other"), Revision::Head).is_err());
        drop(inside);
        assert!(nesting.check(url("file:///other"), Revision::Head).is_ok());
    }
}
