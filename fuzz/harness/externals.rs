//! Values of `svn:externals`: targets stay below the directory, and URLs that can be resolved are canonical.

use sapwood_core::{Url, uri};
use sapwood_wc::externals::parse::{duplicate_targets, parse};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else { return };
    let date = |text: &str| sapwood_core::date::Timestamp::parse(text.as_bytes()).ok();
    let Ok(all) = parse(value, "dir", &date) else { return };
    assert!(duplicate_targets(&all).len() <= all.len() / 2);
    for external in &all {
        let target = &external.target;
        assert!(!target.is_empty() && !target.starts_with('/'), "{target}");
        assert!(target.split('/').all(|name| !matches!(name, "" | "." | "..")), "{target}");
        for directory in ["http://host/repo/trunk/dir", "svn://host/repo", "file:///repo/a%20b"] {
            let root = directory.strip_suffix("/trunk/dir").unwrap_or(directory);
            let (Ok(base), Ok(place)) = (Url::new(root), Url::new(directory)) else { continue };
            if let Ok(url) = external.resolve(base, place) {
                assert_eq!(
                    uri::canonicalize(&url).as_deref(),
                    Ok(url.as_str()),
                    "{}",
                    external.url
                );
            }
        }
    }
}
