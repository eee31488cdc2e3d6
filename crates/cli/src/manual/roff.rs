//! A manual page in the language of man(7).

use super::{Manual, OptionText};

/// Text that stands for itself, whatever it begins with.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if line.starts_with(['.', '\'']) {
            out.push_str("\\&");
        }
        for c in line.chars() {
            match c {
                '\\' => out.push_str("\\e"),
                '-' => out.push_str("\\-"),
                '\'' => out.push_str("\\(aq"),
                '`' => out.push_str("\\(ga"),
                '^' => out.push_str("\\(ha"),
                '~' => out.push_str("\\(ti"),
                c => out.push(c),
            }
        }
    }
    out
}

/// An explanation that was broken into lines for a help text, as one paragraph.
fn flowing(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn options(out: &mut String, options: &[OptionText]) {
    for option in options {
        out.push_str(".TP\n");
        out.push_str(&format!("\\fB{}\\fR\n{}\n", plain(&option.shown), flowing(&option.about)));
    }
}

/// The page of the program `name`, which is `about`; `others` are pages to see too.
pub(crate) fn page(name: &str, about: &str, manual: &Manual, others: &[String]) -> String {
    let section = manual.section.max(1);
    let mut out = format!(
        ".TH \"{}\" {section} \"\" \"Sapwood {}\" \"Sapwood\"\n.SH NAME\n{} \\- {}\n",
        plain(&name.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        plain(name),
        plain(about),
    );
    if !manual.synopsis.is_empty() {
        out.push_str(".SH SYNOPSIS\n.nf\n");
        for line in &manual.synopsis {
            out.push_str(&format!("\\fB{}\\fR\n", plain(line)));
        }
        out.push_str(".fi\n");
    }
    out.push_str(".SH DESCRIPTION\n");
    if manual.text.is_empty() && manual.laid_out.is_empty() {
        out.push_str(&format!("To {}. Each subcommand has options of its own.\n", flowing(about)));
    }
    for (number, paragraph) in manual.text.split("\n\n").filter(|p| !p.is_empty()).enumerate() {
        if number > 0 {
            out.push_str(".PP\n");
        }
        out.push_str(&flowing(paragraph));
        out.push('\n');
    }
    laid_out(&mut out, &manual.laid_out);
    if !manual.options.is_empty() {
        let all = manual.parts.is_empty();
        out.push_str(if all { ".SH OPTIONS\n" } else { ".SH OPTIONS OF ALL SUBCOMMANDS\n" });
        options(&mut out, &manual.options);
    }
    if !manual.parts.is_empty() {
        out.push_str(".SH SUBCOMMANDS\n");
    }
    for part in &manual.parts {
        out.push_str(&format!(".SS {}\n", plain(&part.title)));
        laid_out(&mut out, &part.text);
        options(&mut out, &part.options);
    }
    if !manual.files.is_empty() {
        out.push_str(".SH FILES\n");
    }
    for (file, about) in &manual.files {
        out.push_str(&format!(".TP\n.I {}\n{}\n", plain(file), flowing(about)));
    }
    if !others.is_empty() {
        out.push_str(".SH SEE ALSO\n");
        out.push_str(&plain(&others.join(", ")));
        out.push('\n');
    }
    out
}

fn laid_out(out: &mut String, text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        out.push_str(&format!(".PP\n.nf\n{}\n.fi\n", plain(text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_a_command() {
        assert_eq!(plain(".x\n'y\\n --z"), "\\&.x\n\\&\\(aqy\\en \\-\\-z");
        assert_eq!(flowing("a\n     b"), "a b");
    }
}
