//! Merging a change of properties into the local ones.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;
use sapwood_core::{PropList, SvnResult};

use super::skel::PropConflict;

/// A property and its new value; `None` deletes it.
pub type PropChange = (String, Option<Vec<u8>>);

/// What became of the properties, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PropState {
    /// There was nothing to do.
    #[default]
    Unchanged,
    /// They took the change.
    Changed,
    /// They took it beside local changes.
    Merged,
    /// Some could not take it.
    Conflicted,
}

/// The result of a merge of properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropMerge {
    /// The new local properties.
    pub actual: PropList,
    /// What happened to them.
    pub state: PropState,
    /// The record of the conflict, without a marker file yet.
    pub conflict: Option<PropConflict>,
}

/// The result for one property.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The local value stays, and it was equal already or not asked to change.
    Keep {
        merged: bool,
    },
    Set {
        value: Option<Vec<u8>>,
        merged: bool,
    },
    Conflict,
}

/// Merges `changes`, which were made to `old` (the properties of the old incoming node; those of an
/// update are the pristine ones), into `actual`, the local properties, made from `pristine`.
#[must_use]
pub fn merge_props(
    old: &PropList,
    pristine: &PropList,
    actual: &PropList,
    changes: &[PropChange],
) -> PropMerge {
    let mut merge = PropMerge { actual: actual.clone(), ..PropMerge::default() };
    let mut theirs = old.clone();
    let mut conflicts = Vec::new();
    for (name, to) in changes {
        let to = to.as_deref();
        match to {
            Some(value) => theirs.set(name, value),
            None => theirs.remove(name),
        };
        merge.state = merge.state.max(PropState::Changed);
        let one =
            One { name, base: pristine.get(name), from: old.get(name), to, mine: actual.get(name) };
        match one.merge() {
            Outcome::Keep { merged: false } => {}
            Outcome::Keep { merged: true } => merge.state = merge.state.max(PropState::Merged),
            Outcome::Set { value, merged } => {
                match value {
                    Some(value) => merge.actual.set(name, value),
                    None => merge.actual.remove(name),
                };
                if merged {
                    merge.state = merge.state.max(PropState::Merged);
                }
            }
            Outcome::Conflict => {
                merge.state = PropState::Conflicted;
                conflicts.push(name.clone());
            }
        }
    }
    if !conflicts.is_empty() {
        merge.conflict = Some(PropConflict {
            marker: None,
            names: conflicts,
            old: Some(old.clone()),
            mine: Some(actual.clone()),
            theirs: Some(theirs),
        });
    }
    merge
}

/// One property: its pristine value, the change, and the local value.
struct One<'a> {
    name: &'a str,
    base: Option<&'a [u8]>,
    from: Option<&'a [u8]>,
    to: Option<&'a [u8]>,
    mine: Option<&'a [u8]>,
}

impl One<'_> {
    fn is_mergeinfo(&self) -> bool {
        self.name == names::MERGEINFO
    }

    fn merge(&self) -> Outcome {
        match (self.from, self.to) {
            (None, Some(to)) => self.add(to),
            (None, None) => Outcome::Keep { merged: false },
            (Some(from), None) => self.delete(from),
            (Some(from), Some(to)) => self.change(from, to),
        }
    }

    fn add(&self, to: &[u8]) -> Outcome {
        match self.mine {
            Some(mine) if mine == to => Outcome::Keep { merged: true },
            Some(mine) => {
                let both = || -> SvnResult<String> {
                    let mut both = Mergeinfo::parse(mine)?;
                    both.merge(&Mergeinfo::parse(to)?);
                    Ok(both.to_value())
                };
                match both() {
                    Ok(value) if self.is_mergeinfo() => {
                        Outcome::Set { value: Some(value.into_bytes()), merged: true }
                    }
                    _ => Outcome::Conflict,
                }
            }
            None if self.base.is_some() => Outcome::Conflict,
            None => Outcome::Set { value: Some(to.to_vec()), merged: false },
        }
    }

    fn delete(&self, from: &[u8]) -> Outcome {
        match (self.base, self.mine) {
            (None, Some(mine)) if mine != from => Outcome::Conflict,
            (None, _) => Outcome::Set { value: None, merged: true },
            (Some(base), mine) if base == from => match mine {
                Some(mine) if mine == from => Outcome::Set { value: None, merged: false },
                Some(_) => Outcome::Conflict,
                None => Outcome::Keep { merged: true },
            },
            (Some(_), _) => Outcome::Conflict,
        }
    }

    fn change(&self, from: &[u8], to: &[u8]) -> Outcome {
        if self.is_mergeinfo()
            && let Ok(outcome) = self.change_mergeinfo(from, to)
        {
            return outcome;
        }
        match self.mine {
            Some(mine) if mine == to => Outcome::Keep { merged: from != to },
            Some(mine) if mine == from => Outcome::Set { value: Some(to.to_vec()), merged: false },
            _ => Outcome::Conflict,
        }
    }

    fn change_mergeinfo(&self, from: &[u8], to: &[u8]) -> SvnResult<Outcome> {
        let Some(mine) = self.mine else {
            if self.base.is_some() {
                return Ok(Outcome::Conflict);
            }
            let (_, added) =
                Mergeinfo::diff(&Mergeinfo::parse(from)?, &Mergeinfo::parse(to)?, true);
            return Ok(Outcome::Set { value: Some(added.to_value().into_bytes()), merged: false });
        };
        if self.base == Some(mine) && self.base == Some(from) {
            return Ok(Outcome::Set { value: Some(to.to_vec()), merged: false });
        }
        if self.base != Some(mine) && mine == to {
            return Ok(Outcome::Keep { merged: true });
        }
        let value = combine(from, mine, to)?;
        Ok(Outcome::Set { value: Some(value.into_bytes()), merged: true })
    }
}

/// Applies what `mine` and `to` each changed of `from`.
fn combine(from: &[u8], mine: &[u8], to: &[u8]) -> SvnResult<String> {
    let mut from = Mergeinfo::parse(from)?;
    let (mut deleted, mut added) = Mergeinfo::diff(&from, &Mergeinfo::parse(mine)?, true);
    let theirs = Mergeinfo::diff(&from, &Mergeinfo::parse(to)?, true);
    deleted.merge(&theirs.0);
    added.merge(&theirs.1);
    from.merge(&added);
    Ok(from.without(&deleted, true).to_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pairs: &[(&str, &str)]) -> PropList {
        pairs.iter().copied().collect()
    }

    /// An update: name, pristine value, local value, incoming value; state, and the result.
    fn update(
        name: &str,
        base: Option<&str>,
        mine: Option<&str>,
        to: Option<&str>,
    ) -> (PropState, Option<String>) {
        let one = |value: Option<&str>| value.map(|v| list(&[(name, v)])).unwrap_or_default();
        let changes = [(name.to_owned(), to.map(|v| v.as_bytes().to_vec()))];
        let merge = merge_props(&one(base), &one(base), &one(mine), &changes);
        let names = merge.conflict.map(|c| c.names).unwrap_or_default();
        assert_eq!(merge.state == PropState::Conflicted, names == [name]);
        (merge.state, merge.actual.get_str(name).map(str::to_owned))
    }

    #[test]
    fn each_case() {
        use PropState::{Changed, Conflicted, Merged};
        for (base, mine, to, state, result) in [
            (None, None, Some("n"), Changed, Some("n")),
            (None, Some("n"), Some("n"), Merged, Some("n")),
            (None, Some("m"), Some("n"), Conflicted, Some("m")),
            (Some("b"), Some("b"), None, Changed, None),
            (Some("b"), None, None, Merged, None),
            (Some("b"), Some("m"), None, Conflicted, Some("m")),
            (Some("b"), Some("b"), Some("n"), Changed, Some("n")),
            (Some("b"), Some("n"), Some("n"), Merged, Some("n")),
            (Some("b"), Some("m"), Some("n"), Conflicted, Some("m")),
            (Some("b"), None, Some("n"), Conflicted, None),
        ] {
            let got = update("p", base, mine, to);
            assert_eq!(got, (state, result.map(str::to_owned)), "{base:?} {mine:?} {to:?}");
        }
    }

    #[test]
    fn mergeinfo_is_combined() {
        let name = names::MERGEINFO;
        assert_eq!(
            update(name, Some("/a:1"), Some("/a:1-2"), Some("/a:1,4")),
            (PropState::Merged, Some("/a:1-2,4".to_owned()))
        );
        assert_eq!(
            update(name, None, Some("/a:1"), Some("/b:2")),
            (PropState::Merged, Some("/a:1\n/b:2".to_owned()))
        );
        assert_eq!(update(name, Some("x"), Some("y"), Some("z")).0, PropState::Conflicted);
    }
}
