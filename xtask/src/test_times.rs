//! What nextest's JUnit report says of a run: the slowest tests, and those that needed a second try.
//!
//! Invariant: a test that passes in its second try only makes the run fail, and is named.

use std::fs;
use std::path::Path;

/// How many of the slowest tests are printed.
const SLOWEST: usize = 10;

/// A test that ran.
#[derive(Debug, PartialEq)]
struct Case {
    /// The test program, and the test's name in it.
    name: String,
    seconds: f64,
    /// What the first try of a test printed that passed in its second.
    first_failure: Option<String>,
}

/// Prints the slowest tests of a report, and fails where some needed a second try.
pub(crate) fn print(report: &Path) -> Result<(), String> {
    let text = fs::read_to_string(report).map_err(|e| format!("{}: {e}", report.display()))?;
    let mut cases = cases(&text);
    cases.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    eprintln!("xtask: the slowest tests, in seconds:");
    for case in cases.iter().take(SLOWEST) {
        eprintln!("{:>8.1}  {}", case.seconds, case.name);
    }
    let mut flaky = Vec::new();
    for case in &cases {
        if let Some(failure) = &case.first_failure {
            eprintln!("xtask: {} failed once:\n{failure}", case.name);
            flaky.push(case.name.as_str());
        }
    }
    if flaky.is_empty() {
        return Ok(());
    }
    Err(format!("these tests failed once and passed when tried again: {}", flaky.join(", ")))
}

/// The tests of a report.
fn cases(text: &str) -> Vec<Case> {
    let mut found = Vec::new();
    for part in text.split("<testcase ").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap_or((part, ""));
        // A tag that closes itself has no children; what follows belongs to the next suite.
        let children = if tag.ends_with('/') { "" } else { rest };
        let children = children.split("</testcase>").next().unwrap_or_default();
        let attribute = |name: &str| {
            let after = tag.split_once(&format!("{name}=\""))?.1;
            after.split('"').next()
        };
        // `classname` ends with `name="`, too: the test's own name is what the tag begins with.
        let name = tag.strip_prefix("name=\"").and_then(|rest| rest.split('"').next());
        let (Some(name), Some(program)) = (name, attribute("classname")) else { continue };
        found.push(Case {
            name: format!("{program} {name}"),
            seconds: attribute(" time").and_then(|time| time.parse().ok()).unwrap_or(0.0),
            first_failure: first_failure(children),
        });
    }
    found
}

/// What stands in the first failure of a test that passed later: what it printed, as the report has it.
fn first_failure(children: &str) -> Option<String> {
    let (_, failure) =
        children.split_once("<flakyFailure").or_else(|| children.split_once("<flakyError"))?;
    let end = failure.find("</flaky").unwrap_or(failure.len());
    Some(failure.get(..end).unwrap_or(failure).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a run of nextest 0.9.143.
    const REPORT: &str = r#"<testsuites name="nextest-run" tests="2" time="2.6">
    <testsuite name="sapwood-cli::it" tests="2">
        <testcase name="a::quick" classname="sapwood-cli::it" timestamp="2026-11-26T22:00:00Z" time="0.145"/>
        <testcase name="b::slow" classname="sapwood-cli::it" timestamp="2026-11-26T22:00:00Z" time="2.500">
            <flakyFailure timestamp="2026-11-26T22:00:00Z" time="1.6" type="test failure">took 38 MiB</flakyFailure>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn a_second_try_fails_the_run() {
        let found = cases(REPORT);
        let [quick, slow] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((quick.name.as_str(), quick.seconds), ("sapwood-cli::it a::quick", 0.145));
        assert_eq!(quick.first_failure, None);
        assert_eq!((slow.name.as_str(), slow.seconds), ("sapwood-cli::it b::slow", 2.5));
        assert!(slow.first_failure.as_ref().unwrap().ends_with("took 38 MiB"));
        let folder = std::env::temp_dir().join(format!("sapwood-junit-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("junit.xml");
        fs::write(&file, REPORT).unwrap();
        assert!(print(&file).unwrap_err().contains("b::slow"));
        fs::write(&file, REPORT.replace("flakyFailure", "system-out")).unwrap();
        assert_eq!(print(&file), Ok(()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
