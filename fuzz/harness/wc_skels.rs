//! What wc.db keeps as skels: conflicts and work items. What is read is written back and read again the same, and
//! no path of a conflict leads out of the working copy.

use sapwood_wc::conflict::Conflict;
use sapwood_wc::work_item::WorkItem;

/// Runs one input.
pub fn run(data: &[u8]) {
    if let Ok(conflict) = Conflict::parse(data) {
        for file in conflict.files() {
            assert!(is_inside(file), "{file}");
        }
        let again = Conflict::parse(&conflict.write()).expect("what was written");
        assert_eq!(again, conflict);
    }
    if let Ok(item) = WorkItem::parse(data) {
        let again = WorkItem::parse(&item.to_skel()).expect("what was written");
        assert_eq!(again, item);
    }
}

fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|name| name != "..")
}
