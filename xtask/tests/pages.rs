//! Pages that are made from results and from docs/STATUS.md are what the tool makes of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is a failed test")]

use std::path::Path;
use std::process::Command;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn made_pages_are_up_to_date() {
    let made = Command::new("python3").arg(root().join("tools/pages.py")).arg("--check").output();
    let made = made.unwrap_or_else(|e| panic!("python3 is needed (`cargo xtask packages`): {e}"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Links from one document to another lead somewhere.
#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut folders = vec![
        root(),
        root().join("docs"),
        root().join("docs/formats"),
        root().join("docs/results"),
        root().join("fuzz"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                if !target.is_empty() && !link.contains("://") && !folder.join(target).exists() {
                    wrong.push(format!("{}: {link}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
}
