//! Questions to search indexes: what is parsed is asked of any path and text without harm, and words are found in themselves.

use sapwood_core::FsPath;
use sapwood_search::Query;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(query) = Query::parse(text) else { return };
    let path = FsPath::new("/trunk/a.c").expect("a path");
    let _ = (query.allows_path(path), query.allows_change(Some("ada"), Some("2024-01-01")));
    // A word is a part of the question, and so the question has all of them. A pattern may find anything.
    let found = query.is_in(text);
    assert!(!query.has_words() || query.has_patterns() || found);
}
