//! Conflicts and skipped paths of one run, and the summary of them.
//!
//! Invariant: a path in conflict counts once for each kind, however often it is reported.

use std::collections::HashSet;

use sapwood_core::exact::Exact;

/// Kinds of conflict that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    Text,
    Property,
    Tree,
}

/// Conflicts and skipped paths of one run.
#[derive(Debug, Default)]
pub(crate) struct ConflictStats {
    /// Paths in conflict, as shown: texts, properties, trees.
    open: [HashSet<String>; 3],
    resolved: [u64; 3],
    pub(super) skipped: u64,
}

const KINDS: [(ConflictKind, &str); 3] = [
    (ConflictKind::Text, "Text"),
    (ConflictKind::Property, "Property"),
    (ConflictKind::Tree, "Tree"),
];

impl ConflictStats {
    fn place(kind: ConflictKind) -> usize {
        match kind {
            ConflictKind::Text => 0,
            ConflictKind::Property => 1,
            ConflictKind::Tree => 2,
        }
    }

    /// A conflict was reported.
    pub(super) fn store(&mut self, kind: ConflictKind, path: &str) {
        if let Some(paths) = self.open.get_mut(Self::place(kind)) {
            paths.insert(path.to_owned());
        }
    }

    /// A reported conflict is resolved.
    pub(crate) fn resolve(&mut self, kind: ConflictKind, path: &str) {
        let at = Self::place(kind);
        if let (Some(paths), Some(count)) = (self.open.get_mut(at), self.resolved.get_mut(at))
            && paths.remove(path)
        {
            count.tally(1);
        }
    }

    /// All paths in conflict, in order, each once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut all: Vec<String> = self.open.iter().flatten().cloned().collect();
        all.sort_by(|a, b| sapwood_core::path::compare(a, b));
        all.dedup();
        all
    }

    /// The summary at the end of an update or merge; empty when there is nothing to say.
    pub(crate) fn summary(&self) -> String {
        let any_resolved = self.resolved.iter().any(|n| *n > 0);
        let mut text = String::new();
        for (kind, word) in KINDS {
            let at = Self::place(kind);
            let open = self.open.get(at).map_or(0, HashSet::len);
            let resolved = self.resolved.get(at).copied().unwrap_or(0);
            if open == 0 && resolved == 0 {
                continue;
            }
            text.push_str(&if any_resolved {
                format!("  {word} conflicts: {open} remaining (and {resolved} already resolved)\n")
            } else {
                format!("  {word} conflicts: {open}\n")
            });
        }
        if self.skipped > 0 {
            text.push_str(&format!("  Skipped paths: {}\n", self.skipped));
        }
        if text.is_empty() { text } else { format!("Summary of conflicts:\n{text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let mut stats = ConflictStats::default();
        assert_eq!(stats.summary(), "");
        stats.store(ConflictKind::Text, "a");
        stats.store(ConflictKind::Tree, "b");
        assert_eq!(
            stats.summary(),
            "Summary of conflicts:\n  Text conflicts: 1\n  Tree conflicts: 1\n"
        );
        stats.resolve(ConflictKind::Text, "a");
        assert_eq!(
            stats.summary(),
            "Summary of conflicts:\n  Text conflicts: 0 remaining (and 1 already resolved)\n  \
             Tree conflicts: 1 remaining (and 0 already resolved)\n"
        );
        assert_eq!(stats.paths(), ["b"]);
    }
}
