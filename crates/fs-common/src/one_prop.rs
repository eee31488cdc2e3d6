//! A change of one property, as writers of property lists are asked for it.

use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

/// Sets or (with `None`) removes the property `name`, if its present value is `expected`: for functions that change the
/// properties of a revision.
///
/// # Errors
/// E160049 when it is not.
pub fn change_one(
    name: &str,
    expected: Option<&[u8]>,
    value: Option<&[u8]>,
) -> impl FnMut(&PropList) -> SvnResult<Option<PropList>> {
    move |present| {
        if present.get(name) != expected {
            return Err(SvnError::new(
                ErrorCode::FS_PROP_BASEVALUE_MISMATCH,
                format!("revprop '{name}' has unexpected value in filesystem"),
            ));
        }
        let mut props = present.clone();
        match value {
            Some(value) => drop(props.set(name, value)),
            None => drop(props.remove(name)),
        }
        Ok(Some(props))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_expected_value_is_replaced() {
        let mut present = PropList::new();
        present.set("p", "old");
        let changed = change_one("p", Some(b"old"), Some(b"new"))(&present).unwrap().unwrap();
        assert_eq!(changed.get("p"), Some(&b"new"[..]));
        let removed = change_one("p", Some(b"new"), None)(&changed).unwrap().unwrap();
        assert!(removed.is_empty());
        for expected in [None, Some(&b"else"[..])] {
            let error = change_one("p", expected, None)(&present).unwrap_err();
            assert_eq!(error.code(), ErrorCode::FS_PROP_BASEVALUE_MISMATCH);
        }
    }
}
