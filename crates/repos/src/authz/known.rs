//! A cache of parsed authz files, found by their content.
//!
//! A file that lies in a repository, or that comes with a groups file, is read for every
//! connection. Where its text is the same as before, so are the rules: they need not be parsed
//! again, and what is cached for their users stays valid.

use parking_lot::Mutex;
use sapwood_core::{SvnError, SvnResult};

use super::Authz;
use super::source::ConfigSource;

/// How many texts are cached; the least recently used one is evicted.
const MAX_KEPT: usize = 64;

/// The rules of the texts that were read last.
#[derive(Debug, Default)]
pub struct KnownAuthz {
    /// The most recently used one is at the end.
    kept: Mutex<Vec<CachedAuthz>>,
}

#[derive(Debug)]
struct CachedAuthz {
    rules: Vec<u8>,
    groups: Option<Vec<u8>>,
    authz: Authz,
    warnings: Vec<SvnError>,
}

impl KnownAuthz {
    /// As [`Authz::read`].
    ///
    /// # Errors
    /// As [`Authz::read`].
    pub fn read(
        &self,
        source: &ConfigSource<'_>,
        path: &str,
        groups_path: Option<&str>,
        kind: &str,
        warn: &mut dyn FnMut(SvnError),
    ) -> SvnResult<Authz> {
        let rules = source.load(path)?;
        let groups = groups_path.map(|p| source.load(p)).transpose()?;
        let mut kept = self.kept.lock();
        let place = kept.iter().position(|known| known.rules == rules && known.groups == groups);
        if let Some(place) = place {
            let known = kept.remove(place);
            let (authz, warnings) = (known.authz.clone(), known.warnings.clone());
            kept.push(known);
            drop(kept);
            warnings.into_iter().for_each(warn);
            return Ok(authz);
        }
        drop(kept);
        let mut warnings = Vec::new();
        let authz = Authz::parse(&rules, groups.as_deref(), &mut |warning| {
            warnings.push(warning.clone());
            warn(warning);
        })
        .map_err(|e| e.context(format!("Error while parsing {kind} file: '{path}':")))?;
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push(CachedAuthz { rules, groups, authz: authz.clone(), warnings });
        Ok(authz)
    }

    /// Empties the cache.
    pub fn clear(&self) {
        self.kept.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::PathAuthorizer as _;
    use sapwood_fs::{Caches, OpenOptions};

    #[test]
    fn the_same_text_is_the_same_rules() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("authz");
        let (caches, options) = (Caches::new(1 << 20), OpenOptions::default());
        let source = ConfigSource { caches: &caches, options: &options, must_exist: true };
        let known = KnownAuthz::default();
        let rules_of = |text: &str, user: &str| {
            std::fs::write(&path, text).unwrap();
            let authz = known.read(&source, path.to_str().unwrap(), None, "authz", &mut |_| ());
            authz.unwrap().for_user("r", Some(user)).rules().unwrap()
        };
        let text = "[groups]\ng = ann, bob\n[/]\n* = r\n[/a]\n@g =\n[/b]\nbob =\n";
        let (ann, bob) = (rules_of(text, "ann"), rules_of(text, "bob"));
        assert_ne!(ann, bob);
        assert_eq!(ann, rules_of(text, "ann"));
        // The rules make no difference between these two users.
        assert_eq!(rules_of(text, "eve"), rules_of(text, "zoe"));
        assert_ne!(ann, rules_of(&text.replace("/b", "/c"), "ann"));
        assert_eq!(ann, rules_of(text, "ann"));
    }
}
