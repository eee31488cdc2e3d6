//! `entries` files of old working copies, lines and XML: names lead nowhere else, each is there once, in
//! order.

use sapwood_wc::upgrade::parse_entries;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(entries) = parse_entries(data, "/wc") else { return };
    assert!(entries.this.name.is_empty() && entries.this.url.is_some());
    let names: Vec<&str> = entries.children.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for entry in &entries.children {
        let name = &entry.name;
        assert!(!name.contains(['/', '\0']) && !matches!(name.as_str(), "" | "." | ".."), "{name}");
        assert_eq!(entries.child(name), Some(entry));
        let files = [&entry.conflict_old, &entry.conflict_new, &entry.conflict_working];
        for file in files.into_iter().chain([&entry.prop_reject]).flatten() {
            assert!(file.split('/').all(|part| !matches!(part, "" | "." | "..")), "{file}");
        }
    }
}
