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
    is_flaky: bool,
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
    let flaky: Vec<&str> = cases.iter().filter(|c| c.is_flaky).map(|c| c.name.as_str()).collect();
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
            is_flaky: children.contains("<flakyFailure") || children.contains("<flakyError"),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a run of nextest 0.9.143.
    const REPORT: &str = r#"<testsuites name="nextest-run" tests="2" time="2.6">
    <testsuite name="sapwood-cli::it" tests="2">
        <testcase name="a::quick" classname="sapwood-cli::it" timestamp="2026-11-26T22:00:00Z" time="0.145"/>
        <testcase name="b::slow" classname="sapwood-cli::it" timestamp="2026-11-26T22:00:00Z" time="2.500">
            <flakyFailure timestamp="2026-11-26T22:00:00Z" time="1.6" type="test failure"></flakyFailure>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn a_second_try_fails_the_run() {
        let case =
            |name: &str, seconds, is_flaky| Case { name: name.to_owned(), seconds, is_flaky };
        let wanted = [
            case("sapwood-cli::it a::quick", 0.145, false),
            case("sapwood-cli::it b::slow", 2.5, true),
        ];
        assert_eq!(cases(REPORT), wanted);
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
