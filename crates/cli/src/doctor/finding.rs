//! What was found, and how it is printed.

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// In order.
    #[default]
    Good,
    /// It works, and could be better or end soon.
    Warning,
    /// Something does not work.
    Problem,
}

#[derive(Debug, PartialEq, Eq)]
struct Finding {
    grade: Grade,
    what: String,
    /// What to do; may be empty.
    todo: String,
}

/// What was found of one subject, in the order in which it was looked at.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    /// Notes what is in order.
    pub(super) fn good(&mut self, what: impl Into<String>) {
        self.add(Grade::Good, what.into(), String::new());
    }

    /// Notes what could be better or ends soon.
    pub(super) fn warning(&mut self, what: impl Into<String>, todo: impl Into<String>) {
        self.add(Grade::Warning, what.into(), todo.into());
    }

    /// Notes what does not work.
    pub(super) fn problem(&mut self, what: impl Into<String>, todo: impl Into<String>) {
        self.add(Grade::Problem, what.into(), todo.into());
    }

    fn add(&mut self, grade: Grade, what: String, todo: String) {
        self.all.push(Finding { grade, what, todo });
    }

    /// The worst grade.
    pub(super) fn worst(&self) -> Grade {
        self.all.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Good)
    }

    /// The lines below the name of the subject. `quiet` leaves out what is in order, and a subject that is.
    pub(super) fn text(&self, subject: &str, quiet: bool) -> String {
        let mut text = String::new();
        for finding in self.all.iter().filter(|f| !quiet || f.grade > Grade::Good) {
            let word = match finding.grade {
                Grade::Good => "ok      ",
                Grade::Warning => "warning ",
                Grade::Problem => "problem ",
            };
            text.push_str(&format!("  {word} {}\n", finding.what.replace('\n', " ")));
            if !finding.todo.is_empty() {
                text.push_str(&format!("            {}\n", finding.todo));
            }
        }
        if text.is_empty() { text } else { format!("{subject}\n{text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed() {
        let mut findings = Findings::default();
        findings.good("a");
        assert_eq!((findings.worst(), findings.text("x", true)), (Grade::Good, String::new()));
        findings.problem("b\nc", "do d");
        findings.warning("e", "");
        assert_eq!(findings.worst(), Grade::Problem);
        let text = "x\n  problem  b c\n            do d\n  warning  e\n";
        assert_eq!(findings.text("x", true), text);
        assert_eq!(findings.text("x", false), text.replace("x\n", "x\n  ok       a\n"));
    }
}
