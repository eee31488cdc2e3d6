//! `svnfsfs stats`.

use sapwood_core::SvnResult;
use sapwood_core::exact::Exact;
use sapwood_fs::fsfs::stats::{CountAndSum, ExtensionStats, Histogram, RepStats, Stats};

use crate::command::{Invocation, Runner, Subcommand, name};

/// The most extensions that are listed.
const LISTED: usize = 16;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "stats",
    aliases: &[],
    help: "usage: svnfsfs stats REPOS_PATH\n\n\
         Print how many items of each kind there are, and how large they are.\n",
    options: &[name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.out.text("Reading revisions\n")?;
    let fs = super::open(invocation)?;
    let out = &mut invocation.out;
    let mut failed = None;
    let stats = fs.stats(&crate::signals::cancel_token(), &mut |revision| {
        let written = out.text(&format!("{:>8}", revision.0)).and_then(|()| out.flush());
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    out.text(&report(&stats))
}

/// A number with commas between groups of three digits.
fn commas(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().minus(at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `2^power` with a letter for the thousands; 0 for the power below 0.
fn two_power(power: Option<usize>) -> String {
    let Some(power) = power else { return "0".to_owned() };
    let number = 1_u32.checked_shl(u32::try_from(power % 10).unwrap_or(0)).unwrap_or(0);
    let letter = b" kMGTPEZY".get(power.checked_div(10).unwrap_or(0)).copied().unwrap_or(b'?');
    if letter == b' ' { number.to_string() } else { format!("{number}{}", char::from(letter)) }
}

/// Whole percents; all, when there is nothing to have a part of.
fn percent(part: u64, total: u64) -> u64 {
    // Sizes as they stand in a repository.
    part.saturating_mul(100).checked_div(total).unwrap_or(100).min(100)
}

/// The quotient of two numbers with three digits behind the point, rounded as C prints it.
fn average(sum: u64, count: u64) -> String {
    if count == 0 {
        return "-nan".to_owned();
    }
    format!("{:.3}", to_float(sum) / to_float(count))
}

#[allow(clippy::as_conversions, reason = "there is no other way to a float; precision is moot")]
const fn to_float(n: u64) -> f64 {
    n as f64
}

/// `N bytes in M things`.
fn bytes_in(sum: u64, count: u64, what: &str) -> String {
    format!("{:>20} bytes in {:>12} {what}\n", commas(sum), commas(count))
}

fn rep_stats(stats: &RepStats) -> String {
    let line = |n: u64, what: &str| format!("{:>20} {what}\n", commas(n));
    let mut out = bytes_in(stats.total.packed_size, stats.total.count, "reps");
    out.push_str(&bytes_in(stats.shared.packed_size, stats.shared.count, "shared reps"));
    out.push_str(&line(stats.total.expanded_size, "bytes expanded size"));
    out.push_str(&line(stats.shared.expanded_size, "bytes expanded shared size"));
    out.push_str(&line(stats.expanded_size, "bytes with rep-sharing off"));
    let shared = stats.references.saturating_sub(stats.total.count);
    out.push_str(&line(shared, "shared references"));
    let chain = average(stats.chain_len, stats.total.count.max(1));
    out.push_str(&format!("{chain:>20} average delta chain length\n"));
    out
}

fn histogram(histogram: &Histogram) -> String {
    let used = |line: &CountAndSum| line.count > 0;
    let Some(first) = histogram.lines.iter().position(used) else { return String::new() };
    let last = histogram.lines.iter().rposition(used).unwrap_or(first);
    let mut out = String::new();
    for (power, line) in histogram.lines.iter().enumerate().take(last.plus(1)).rev() {
        if power < first {
            break;
        }
        out.push_str(&format!(
            "  {:>4} .. < {:<4} {:>19} ({:>2}%) bytes in {:>12} ({:>2}%) items\n",
            two_power(power.checked_sub(1)),
            two_power(Some(power)),
            commas(line.sum),
            percent(line.sum, histogram.total.sum),
            commas(line.count),
            percent(line.count, histogram.total.count),
        ));
    }
    out
}

type Extension<'a> = (&'a str, &'a ExtensionStats);

/// The most prominent extensions by a figure.
fn top<'a>(stats: &'a Stats, figure: impl Fn(&ExtensionStats) -> u64) -> Vec<Extension<'a>> {
    let mut all: Vec<Extension<'a>> =
        stats.by_extension.iter().map(|(name, of)| (name.as_str(), of)).collect();
    all.sort_by_key(|(_, of)| std::cmp::Reverse(figure(of)));
    all.truncate(LISTED);
    all
}

/// One line an extension, and one for the rest.
fn extensions(
    stats: &Stats,
    figure: impl Fn(&ExtensionStats) -> u64,
    total: u64,
    always_rest: bool,
    what: &str,
) -> String {
    let line = |name: &str, n: u64| {
        format!("{name:>11} {:>20} ({:>2}%) {what}\n", commas(n), percent(n, total))
    };
    let mut out = String::new();
    let mut sum = 0_u64;
    for (name, of) in top(stats, &figure) {
        sum.tally(figure(of));
        out.push_str(&line(name, figure(of)));
    }
    let rest = total.saturating_sub(sum);
    if (always_rest && total > 0) || rest > 0 {
        out.push_str(&line("(others)", rest));
    }
    out
}

fn by_count(of: &ExtensionStats) -> u64 {
    of.node_histogram.total.count
}

fn by_node_size(of: &ExtensionStats) -> u64 {
    of.node_histogram.total.sum
}

fn by_rep_size(of: &ExtensionStats) -> u64 {
    of.rep_histogram.total.sum
}

fn report(s: &Stats) -> String {
    let mut out = totals(s);
    for (title, of) in [
        ("Directory representation", &s.dir_rep_stats),
        ("File representation", &s.file_rep_stats),
        ("Directory property representation", &s.dir_prop_rep_stats),
        ("File property representation", &s.file_prop_rep_stats),
    ] {
        out.push_str(&format!("\n{title} statistics:\n{}", rep_stats(of)));
    }
    out.push_str("\nLargest representations:\n");
    for rep in s.largest_changes.iter().take_while(|rep| rep.size > 0) {
        out.push_str(&format!("{:>12} r{:<8} {}\n", commas(rep.size), rep.revision.0, rep.path));
    }
    out.push_str(&all_extensions(s));
    out.push_str(&histograms(s));
    out
}

fn totals(s: &Stats) -> String {
    let reps = &s.total_rep_stats;
    let nodes = |of: CountAndSum, what: &str| bytes_in(of.sum, of.count, what);
    let packed = |of: &RepStats, what: &str| bytes_in(of.total.packed_size, of.total.count, what);
    let mut out = String::from("\n\nGlobal statistics:\n");
    out.push_str(&bytes_in(s.total_size, s.revision_count, "revisions"));
    out.push_str(&bytes_in(s.change_len, s.change_count, "changes"));
    out.push_str(&nodes(s.total_node_stats, "node revision records"));
    out.push_str(&packed(reps, "representations"));
    out.push_str(&format!(
        "{:>20} bytes expanded representation size\n{:>20} bytes with rep-sharing off\n",
        commas(reps.total.expanded_size),
        commas(reps.expanded_size)
    ));
    out.push_str("\nNoderev statistics:\n");
    out.push_str(&nodes(s.total_node_stats, "nodes total"));
    out.push_str(&nodes(s.dir_node_stats, "directory noderevs"));
    out.push_str(&nodes(s.file_node_stats, "file noderevs"));
    out.push_str("\nRepresentation statistics:\n");
    out.push_str(&packed(reps, "representations total"));
    out.push_str(&packed(&s.dir_rep_stats, "directory representations"));
    out.push_str(&packed(&s.file_rep_stats, "file representations"));
    out.push_str(&nodes(s.added_rep_size_histogram.total, "representations of added file nodes"));
    out.push_str(&packed(&s.dir_prop_rep_stats, "directory property representations"));
    out.push_str(&packed(&s.file_prop_rep_stats, "file property representations"));
    out.push_str(&format!(
        "                         with {:>12} average delta chain length\n\
         {:>20} bytes in header & footer overhead\n",
        average(reps.chain_len, reps.total.count),
        commas(reps.total.overhead_size)
    ));
    out
}

fn all_extensions(s: &Stats) -> String {
    let mut out = String::new();
    out.push_str("\nExtensions by number of representations:\n");
    let files = s.file_histogram.total;
    out.push_str(&extensions(s, by_count, files.count, true, "representations"));
    out.push_str("\nExtensions by size of changed files:\n");
    out.push_str(&extensions(s, by_node_size, files.sum, false, "bytes"));
    out.push_str("\nExtensions by size of representations:\n");
    let rep_total = s.rep_size_histogram.total.sum;
    out.push_str(&extensions(s, by_rep_size, rep_total, false, "bytes"));
    out
}

fn histograms(s: &Stats) -> String {
    let mut out = String::new();
    for (title, of) in [
        ("expanded node", &s.node_size_histogram),
        ("representation", &s.rep_size_histogram),
        ("file", &s.file_histogram),
        ("file representation", &s.file_rep_histogram),
        ("file property", &s.file_prop_histogram),
        ("file property representation", &s.file_prop_rep_histogram),
        ("directory", &s.dir_histogram),
        ("directory representation", &s.dir_rep_histogram),
        ("directory property", &s.dir_prop_histogram),
        ("directory property representation", &s.dir_prop_rep_histogram),
    ] {
        out.push_str(&format!("\nHistogram of {title} sizes:\n{}", histogram(of)));
    }
    let mut shown: Vec<&str> = Vec::new();
    for (name, of) in
        [top(s, by_count), top(s, by_node_size), top(s, by_rep_size)].into_iter().flatten()
    {
        if shown.contains(&name) {
            continue;
        }
        shown.push(name);
        out.push_str(&format!(
            "\nHistogram of '{name}' file sizes:\n{}\nHistogram of '{name}' file representation \
             sizes:\n{}",
            histogram(&of.node_histogram),
            histogram(&of.rep_histogram)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(commas(0), "0");
        assert_eq!(commas(1_234_567), "1,234,567");
        assert_eq!(commas(123_456), "123,456");
        assert_eq!(two_power(None), "0");
        assert_eq!(two_power(Some(3)), "8");
        assert_eq!(two_power(Some(21)), "2M");
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(0, 0), 100);
        assert_eq!(average(7, 2), "3.500");
    }
}
