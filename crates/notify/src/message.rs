//! What a message says: JSON for webhooks, text for mail. `docs/formats/webhooks.md` has the JSON.

use serde::Serialize;

use crate::commit::{ChangedPath, Commit};

/// The longest subject of a mail, in characters.
const MOST_SUBJECT: usize = 120;
/// How many paths a mail names.
const MOST_LISTED: usize = 200;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Body<'c> {
    event: &'static str,
    repository: Repository<'c>,
    revision: u64,
    author: Option<&'c str>,
    date: Option<&'c str>,
    message: &'c str,
    paths: Vec<Path<'c>>,
    more_paths: usize,
}

#[derive(Serialize)]
struct Repository<'c> {
    name: &'c str,
    uuid: &'c str,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Path<'c> {
    path: &'c str,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_from: Option<CopiedFrom<'c>>,
}

#[derive(Serialize)]
struct CopiedFrom<'c> {
    path: &'c str,
    revision: u64,
}

/// The body of a webhook's request.
///
/// # Errors
/// None: no value of it fails.
pub(crate) fn json(commit: &Commit) -> serde_json::Result<Vec<u8>> {
    let paths = commit.paths.iter().map(of_path).collect();
    serde_json::to_vec(&Body {
        event: "commit",
        repository: Repository { name: &commit.repository, uuid: &commit.uuid },
        revision: commit.revision.0,
        author: commit.author.as_deref(),
        date: commit.date.as_deref(),
        message: &commit.message,
        paths,
        more_paths: commit.more_paths,
    })
}

fn of_path(changed: &ChangedPath) -> Path<'_> {
    let copied_from = changed.copied_from.as_ref();
    Path {
        path: changed.path.as_str(),
        action: changed.action.letter(),
        copied_from: copied_from
            .map(|(path, revision)| CopiedFrom { path: path.as_str(), revision: revision.0 }),
    }
}

/// The subject of a mail.
pub(crate) fn subject(commit: &Commit) -> String {
    let line = commit.message.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let author = commit.author.as_deref().unwrap_or("(no author)");
    let text = format!("[{}] r{} {author}: {line}", commit.repository, commit.revision);
    // One line, whatever a name has in it.
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(MOST_SUBJECT) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or(&text)),
        None => text,
    }
}

/// The text of a mail.
pub(crate) fn text(commit: &Commit) -> String {
    let mut text = format!(
        "Repository: {}\nRevision: {}\nAuthor: {}\nDate: {}\n\n{}\n\nChanged paths:\n",
        commit.repository,
        commit.revision,
        commit.author.as_deref().unwrap_or("(no author)"),
        commit.date.as_deref().unwrap_or("(no date)"),
        commit.message.trim_end(),
    );
    for changed in commit.paths.iter().take(MOST_LISTED) {
        text.push_str(&format!("   {} {}", changed.action.letter(), changed.path));
        if let Some((path, revision)) = &changed.copied_from {
            text.push_str(&format!(" (from {path}:{revision})"));
        }
        text.push('\n');
    }
    let listed = commit.paths.len().min(MOST_LISTED);
    if let Some(more @ 1..) =
        commit.paths.len().checked_add(commit.more_paths).and_then(|all| all.checked_sub(listed))
    {
        text.push_str(&format!("   ... and {more} more\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use sapwood_core::Revnum;
    use sapwood_core::paths::FsPathBuf;

    use super::*;
    use crate::commit::Action;

    fn commit() -> Commit {
        let path = |text: &str| FsPathBuf::canonicalized(text.to_owned());
        Commit {
            repository: "game".to_owned(),
            uuid: "u".to_owned(),
            revision: Revnum(7),
            author: Some("ada".to_owned()),
            date: None,
            message: "\nOne \"line\"\r\nBcc: eve@example.com\n".to_owned(),
            paths: vec![
                ChangedPath { path: path("/trunk/a"), action: Action::Modify, copied_from: None },
                ChangedPath {
                    path: path("/tags/1"),
                    action: Action::Add,
                    copied_from: Some((path("/trunk"), Revnum(6))),
                },
            ],
            more_paths: 3,
        }
    }

    #[test]
    fn json_of_a_commit() {
        let json: serde_json::Value = serde_json::from_slice(&json(&commit()).unwrap()).unwrap();
        let wanted = serde_json::json!({
            "event": "commit", "repository": {"name": "game", "uuid": "u"}, "revision": 7,
            "author": "ada", "date": null, "message": "\nOne \"line\"\r\nBcc: eve@example.com\n",
            "paths": [
                {"path": "/trunk/a", "action": "M"},
                {"path": "/tags/1", "action": "A", "copied-from": {"path": "/trunk", "revision": 6}},
            ],
            "more-paths": 3,
        });
        assert_eq!(json, wanted);
    }

    #[test]
    fn a_mail_has_one_line_of_subject_and_all_of_the_message() {
        assert_eq!(subject(&commit()), "[game] r7 ada: One \"line\"");
        let odd =
            Commit { author: Some("a\nBcc: x".to_owned()), message: "é".repeat(200), ..commit() };
        let line = subject(&odd);
        assert!(!line.contains('\n') && line.ends_with("é..."), "{line}");
        let text = text(&commit());
        assert!(text.contains("   A /tags/1 (from /trunk:6)\n   ... and 3 more\n"), "{text}");
    }
}
