//! The picture of two branches that `svn mergeinfo` draws: four columns of eight lines.

use sapwood_client::mergeinfo::summary::Automatic;
use sapwood_core::exact::Exact;
use sapwood_core::{path, uri};

const HEADING: &str = "    youngest common ancestor\n    |         last full merge\n    |         |        \
                       tip of branch\n    |         |        |         repository path\n\n";

/// Where the source and the target part.
const SOURCE_IS_TRUNK: [&str; 4] =
    ["-------| |--", "   \\        ", "    \\       ", "     --| |--"];
const TARGET_IS_TRUNK: [&str; 4] = ["     --| |--", "    /       ", "   /        ", "-------| |--"];
const BOTH_ARE_BRANCHES: [&str; 4] =
    ["     --| |--", "... /       ", "    \\       ", "     --| |--"];

/// The last merge, which goes down or up, if there was one.
const DOWN: [&str; 4] = ["---------", " \\       ", "  \\      ", "---------"];
const UP: [&str; 4] = ["---------", "  /      ", " /       ", "---------"];
const NONE: [&str; 4] = ["---------", "         ", "         ", "---------"];

/// The lines that are drawn of both branches and what is between them.
const FIRST: usize = 2;

/// Draws the picture; the tip of a target that is a working copy has no number.
pub(super) fn draw(found: &Automatic, working: bool) -> String {
    let Automatic { ancestor, base, right, target, reintegrate_like } = found;
    let mut cells = [const { [const { String::new() }; 4] }; 8];
    let mut put = |row: usize, column: usize, text: String| {
        if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = text;
        }
    };
    put(0, 0, format!("  {:<8}  ", ancestor.revision));
    put(1, 0, "  |         ".to_owned());
    let parting = if ancestor.relpath == right.relpath {
        SOURCE_IS_TRUNK
    } else if ancestor.relpath == target.relpath {
        TARGET_IS_TRUNK
    } else {
        BOTH_ARE_BRANCHES
    };
    let merge = match (base.revision > ancestor.revision, *reintegrate_like) {
        (false, _) => NONE,
        (true, true) => {
            put(6, 2, "|        ".to_owned());
            put(7, 2, format!("{:<8} ", base.revision));
            UP
        }
        (true, false) => {
            put(0, 2, format!("{:<8} ", base.revision));
            put(1, 2, "|        ".to_owned());
            DOWN
        }
    };
    for (row, (left, right)) in parting.into_iter().zip(merge).enumerate() {
        put(row.plus(FIRST), 0, left.to_owned());
        put(row.plus(FIRST), 2, right.to_owned());
    }
    put(0, 3, format!("{:<8}", right.revision));
    let tip = if working { "WC".to_owned() } else { target.revision.to_string() };
    for (row, text) in ["|", "-", "", "", "-", "|", &tip].into_iter().enumerate() {
        put(row.plus(1), 3, format!("{text:<8}"));
    }
    text(&cells, [right.url(), target.url()].map(|url| below(&ancestor.root, &url)))
}

fn below(root: &str, url: &str) -> String {
    path::canonical_relpath(&uri::skip_ancestor(root, url).unwrap_or_default()).into_owned()
}

fn text(cells: &[[String; 4]; 8], [source, target]: [String; 2]) -> String {
    let mut out = HEADING.to_owned();
    let width = |column: usize| {
        cells.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    for (row, line) in cells.iter().enumerate() {
        out.push_str("  ");
        for (column, cell) in line.iter().enumerate() {
            out.push_str(&format!("{cell:<width$}", width = width(column)));
        }
        match row {
            2 => out.push_str(&format!("  {source}")),
            5 => out.push_str(&format!("  {target}")),
            _ => {}
        }
        out.push('\n');
    }
    out
}
