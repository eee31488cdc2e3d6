//! The properties of a node as lines that can be found.
//!
//! Invariant: no more than [`LONGEST`] bytes are made of a node's properties; what is no text is left out.

use sapwood_core::PropList;

/// Bytes of the lines of one node.
const LONGEST: usize = 256 << 10;

/// A line `NAME: TEXT` for each line of each value; `NAME:` for empty values.
#[must_use]
pub fn of_properties(props: &PropList) -> String {
    let mut lines = String::new();
    for (name, value) in props.iter() {
        let Ok(value) = std::str::from_utf8(value) else { continue };
        let empty = value.lines().next().is_none().then_some("");
        for line in value.lines().chain(empty) {
            if lines.len() > LONGEST {
                return lines;
            }
            lines.push_str(name);
            lines.push(':');
            if !line.is_empty() {
                lines.push(' ');
                lines.push_str(line);
            }
            lines.push('\n');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_name() {
        let mut props = PropList::new();
        props.set("svn:ignore", "*.o\nbuild\n");
        props.set("svn:executable", "");
        props.set("binary", &b"\xff\xfe"[..]);
        let lines = of_properties(&props);
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["svn:executable:", "svn:ignore: *.o", "svn:ignore: build"]);
        props.set("long", "x\n".repeat(LONGEST));
        assert!(of_properties(&props).len() < LONGEST + 100);
    }
}
