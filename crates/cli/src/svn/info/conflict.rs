//! Conflicts in the output of `svn info`.

use std::fmt::Write as _;

use sapwood_client::conflict_info::ConflictInfo;
use sapwood_core::NodeKind;
use sapwood_wc::conflict::Location;

use crate::svn::xml_out::optional_element;
use crate::xml::{self, Tag};

/// A location in a repository, with `^` for the root of the working copy's.
fn place(location: Option<&Location>, own_root: Option<&str>) -> String {
    let Some((location, revision)) = location.and_then(|l| Some((l, l.revision?))) else {
        return "(none)".to_owned();
    };
    let kind = match location.kind {
        Some(NodeKind::File) => "file",
        Some(NodeKind::Dir) => "dir",
        None => "none",
    };
    let root = if own_root == Some(&location.root) { "^" } else { location.root.as_str() };
    let path = sapwood_core::uri::encode(&location.relpath);
    let slash = if path.is_empty() { "" } else { "/" };
    format!("({kind}) {root}{slash}{path}@{revision}")
}

/// Appends the lines about conflicts. `display` makes paths those that the user knows.
pub(super) fn lines(
    text: &mut String,
    conflicts: &ConflictInfo,
    root: Option<&str>,
    display: impl Fn(&str) -> String,
) {
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name}: {value}");
    };
    if let Some(files) = &conflicts.text {
        let names = [
            "Conflict Previous Base File",
            "Conflict Previous Working File",
            "Conflict Current Base File",
        ];
        for (name, file) in names.iter().zip(files) {
            if let Some(file) = file {
                line(name, &display(file));
            }
        }
    }
    if let Some(tree) = &conflicts.tree {
        line("Tree conflict", &tree.description);
    }
    if let Some(names) = &conflicts.props {
        line("Conflicted Properties", &names.join(" "));
    }
    if conflicts.tree.is_none() {
        line("Conflict Details", &conflicts.edit);
    }
    let [left, right] = &conflicts.locations;
    line("  Source  left", &place(left.as_ref(), root));
    line("  Source right", &place(right.as_ref(), root));
}

fn versions(text: &mut String, conflicts: &ConflictInfo) {
    for (side, location) in ["source-left", "source-right"].iter().zip(&conflicts.locations) {
        let Some(location) = location else { continue };
        let revision = location.revision.map(|revision| revision.to_string());
        let mut attributes = vec![
            ("side", *side),
            ("repos-url", location.root.as_str()),
            ("path-in-repos", location.relpath.as_str()),
        ];
        attributes.extend(revision.as_deref().map(|revision| ("revision", revision)));
        attributes.push(("kind", location.kind.map_or("none", NodeKind::word)));
        xml::open(text, "version", Tag::Empty, &attributes);
    }
}

/// Appends conflicts as XML.
pub(super) fn xml(text: &mut String, conflicts: &ConflictInfo) {
    if let Some(tree) = &conflicts.tree {
        let attributes = [
            ("victim", tree.victim.as_str()),
            ("kind", tree.kind.map_or("none", NodeKind::word)),
            ("operation", conflicts.operation),
            ("action", tree.action),
            ("reason", tree.reason),
        ];
        xml::open(text, "tree-conflict", Tag::Normal, &attributes);
        versions(text, conflicts);
        xml::close(text, "tree-conflict");
        return;
    }
    if let Some([old, mine, theirs]) = &conflicts.text {
        let attributes = [("operation", conflicts.operation), ("type", "text")];
        xml::open(text, "conflict", Tag::Normal, &attributes);
        versions(text, conflicts);
        optional_element(text, "prev-base-file", old.as_deref());
        optional_element(text, "prev-wc-file", mine.as_deref());
        optional_element(text, "cur-base-file", theirs.as_deref());
        xml::close(text, "conflict");
    }
    if conflicts.props.is_some() {
        let attributes = [("operation", conflicts.operation), ("type", "property")];
        xml::open(text, "conflict", Tag::Normal, &attributes);
        versions(text, conflicts);
        optional_element(text, "prop-file", conflicts.reject.as_deref());
        xml::close(text, "conflict");
    }
}
