//! Manual pages of the package, made of Markdown: `sapwood.toml(5)` of `docs/serve.md`, and a page of section 7 for each of
//! the guide's.
//!
//! Invariant: no text of a page is taken for a command of man(7).

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What a page is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// Its name: `sapwood.toml`.
    pub(crate) name: &'a str,
    /// Its section: 1 to 8.
    pub(crate) section: u8,
    /// One line about it.
    pub(crate) line: &'a str,
}

/// The page of a document.
pub(crate) fn page(about: About<'_>, document: &str) -> String {
    let mut page = Page::default();
    let _ = write!(
        page.text,
        ".TH {} {} \"\" \"Sapwood {}\"\n.SH NAME\n{} \\- {}\n.SH DESCRIPTION\n",
        escaped(&about.name.to_uppercase()),
        about.section,
        env!("CARGO_PKG_VERSION"),
        escaped(about.name),
        escaped(about.line)
    );
    Parser::new_ext(document, Options::ENABLE_TABLES).for_each(|event| page.take(event));
    page.text
}

/// Text that stands for itself within a line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga")
}

/// A line that does not begin with a command.
fn guarded(line: &str) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() }
}

/// What is being written.
#[derive(Default)]
struct Page {
    text: String,
    /// The paragraph, cell or heading in progress.
    run: String,
    /// Levels of lists.
    lists: Vec<Option<u64>>,
    /// The cells of a row of a table.
    cells: Vec<String>,
    in_head: bool,
    in_code: bool,
    /// How many fonts are nested, to go back to the one before.
    fonts: Vec<char>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => {
                let lines = text.lines().map(|line| guarded(&escaped(line)) + "\n");
                self.text.extend(lines);
            }
            Event::Text(text) => self.run.push_str(&escaped(&text)),
            Event::Code(text) => {
                self.font('B');
                self.run.push_str(&escaped(&text));
                self.font_ends();
            }
            Event::SoftBreak | Event::HardBreak => self.run.push(' '),
            // Comments for the tests of the guide, and nothing else that a terminal could show.
            _ => {}
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(kind) => {
                self.flush();
                if let CodeBlockKind::Fenced(words) = kind
                    && let Some((_, path)) =
                        words.split_once(' ').filter(|(_, path)| path.contains('/'))
                {
                    let _ = writeln!(self.text, ".PP\n{}:", escaped(path));
                }
                self.text.push_str(".PP\n.RS 4\n.nf\n");
                self.in_code = true;
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(*first);
            }
            Tag::Item => {
                self.flush();
                let label = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "\\(bu".to_owned(),
                };
                let _ = writeln!(self.text, ".IP {label} 4");
            }
            Tag::Paragraph if self.lists.is_empty() => self.text.push_str(".PP\n"),
            Tag::TableHead => self.in_head = true,
            Tag::Strong => self.font('B'),
            Tag::Emphasis => self.font('I'),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            // The first heading is the page's name.
            TagEnd::Heading(HeadingLevel::H1) => self.run.clear(),
            TagEnd::Heading(level) => {
                let heading = std::mem::take(&mut self.run);
                let command = if level == HeadingLevel::H2 { ".SH" } else { ".SS" };
                let _ = writeln!(self.text, "{command} {heading}");
            }
            TagEnd::CodeBlock => {
                self.text.push_str(".fi\n.RE\n");
                self.in_code = false;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.run)),
            TagEnd::TableHead => {
                self.in_head = false;
                self.cells.clear();
            }
            TagEnd::TableRow => self.row(),
            TagEnd::Strong | TagEnd::Emphasis => self.font_ends(),
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            _ => {}
        }
    }

    /// A row of a table: what it is about, and what is said of it.
    fn row(&mut self) {
        let mut cells = self.cells.drain(..);
        let Some(first) = cells.next() else { return };
        let rest: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
        let _ = writeln!(self.text, ".TP\n{}\n{}", guarded(&first), guarded(&rest.join("; ")));
    }

    /// Ends the paragraph in progress.
    fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        if !run.trim().is_empty() {
            let _ = writeln!(self.text, "{}", guarded(run.trim()));
        }
    }

    fn font(&mut self, font: char) {
        self.fonts.push(font);
        let _ = write!(self.run, "\\f{font}");
    }

    fn font_ends(&mut self) {
        self.fonts.pop();
        let _ = write!(self.run, "\\f{}", self.fonts.last().unwrap_or(&'R'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'_> = About { name: "x.toml", section: 5, line: "a file" };

    #[test]
    fn each_part_of_a_document() {
        let document = "# X\n\nText of\ntwo lines, `code -x` and **strong *both***.\n\n## More\n\n\
                        | a | b |\n|---|---|\n| `key` | what |\n\n- one\n- two\n\n1. first\n2. second\n\n\
                        ```toml /etc/x\n.x = 'y'\\z\n```\n\n<!-- not shown -->\n\n[a link](x.md)\n";
        let page = page(ABOUT, document);
        let parts = [
            ".TH X.TOML 5 \"\" \"Sapwood ",
            "\n.SH NAME\nx.toml \\- a file\n.SH DESCRIPTION\n.PP\n",
            "Text of two lines, \\fBcode \\-x\\fR and \\fBstrong \\fIboth\\fB\\fR.\n.SH More\n",
            ".TP\n\\fBkey\\fR\nwhat\n",
            ".IP \\(bu 4\none\n.IP \\(bu 4\ntwo\n.IP 1. 4\nfirst\n.IP 2. 4\nsecond\n",
            ".PP\n/etc/x:\n.PP\n.RS 4\n.nf\n\\&.x = \\(aqy\\(aq\\ez\n.fi\n.RE\n.PP\na link\n",
        ];
        let mut at = 0;
        for part in parts {
            let found = page[at..].find(part);
            at += found.unwrap_or_else(|| panic!("{part}\nis missing in\n{page}")) + part.len();
        }
        assert!(!page.contains("not shown"));
    }

    #[test]
    fn a_line_that_begins_with_a_dot_is_text() {
        let page = page(ABOUT, "`.svn` is a folder\n\n- .x\n\n| a | b |\n|-|-|\n| .y | .z |\n");
        let commands = [".TH", ".SH", ".PP", ".IP", ".TP"];
        for line in page.lines().filter(|line| line.starts_with('.')) {
            assert!(commands.contains(&&line[..3]), "{line}");
        }
    }
}
