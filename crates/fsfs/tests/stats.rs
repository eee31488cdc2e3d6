//! Statistics, printed as the reference's `svnfsfs stats` prints them, are what it prints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test on input of our own"
)]

use std::fmt::Write as _;

use sapwood_core::CancelToken;
use sapwood_fsfs::stats::{Histogram, RepStats, Stats};
use sapwood_fsfs::{Caches, Filesystem, OpenOptions};
use sapwood_testkit::{Programs, Repository, Shape};

/// A number with a comma every three digits.
fn n(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn power(exponent: i32) -> String {
    let number = if exponent >= 0 { 1 << (exponent % 10) } else { 0 };
    match if exponent >= 0 { exponent / 10 } else { 0 } {
        0 => number.to_string(),
        at => format!("{number}{}", b" kMGTPEZY"[at as usize] as char),
    }
}

fn histogram(out: &mut String, title: &str, h: &Histogram) {
    writeln!(out, "\nHistogram of {title}:").unwrap();
    let used: Vec<usize> = (0..64).filter(|at| h.lines[*at].count > 0).collect();
    let Some((first, last)) = used.first().zip(used.last()) else { return };
    for at in (*first..=*last).rev() {
        let line = h.lines[at];
        writeln!(
            out,
            "  {:>4} .. < {:<4} {:>19} ({:2}%) bytes in {:>12} ({:2}%) items",
            power(at as i32 - 1),
            power(at as i32),
            n(line.sum),
            line.sum * 100 / h.total.sum,
            n(line.count),
            line.count * 100 / h.total.count
        )
        .unwrap();
    }
}

fn reps(out: &mut String, title: &str, s: &RepStats) {
    writeln!(out, "\n{title} representation statistics:").unwrap();
    let mut both = |what: &str, bytes: u64, count: u64| {
        writeln!(out, "{:>20} bytes in {:>12} {what}", n(bytes), n(count)).unwrap();
    };
    both("reps", s.total.packed_size, s.total.count);
    both("shared reps", s.shared.packed_size, s.shared.count);
    for (bytes, what) in [
        (s.total.expanded_size, "bytes expanded size"),
        (s.shared.expanded_size, "bytes expanded shared size"),
        (s.expanded_size, "bytes with rep-sharing off"),
        (s.references - s.total.count, "shared references"),
    ] {
        writeln!(out, "{:>20} {what}", n(bytes)).unwrap();
    }
    let average = s.chain_len as f64 / (s.total.count as f64).max(1.0);
    writeln!(out, "{average:20.3} average delta chain length").unwrap();
}

/// All but the lists by extension.
fn print(s: &Stats) -> String {
    let mut out = String::new();
    let all = &s.total_rep_stats;
    let two = |out: &mut String, bytes: u64, count: u64, what: &str| {
        writeln!(out, "{:>20} bytes in {:>12} {what}", n(bytes), n(count)).unwrap();
    };
    out += "Global statistics:\n";
    two(&mut out, s.total_size, s.revision_count, "revisions");
    two(&mut out, s.change_len, s.change_count, "changes");
    two(&mut out, s.total_node_stats.sum, s.total_node_stats.count, "node revision records");
    two(&mut out, all.total.packed_size, all.total.count, "representations");
    writeln!(out, "{:>20} bytes expanded representation size", n(all.total.expanded_size)).unwrap();
    writeln!(out, "{:>20} bytes with rep-sharing off", n(all.expanded_size)).unwrap();
    out += "\nNoderev statistics:\n";
    two(&mut out, s.total_node_stats.sum, s.total_node_stats.count, "nodes total");
    two(&mut out, s.dir_node_stats.sum, s.dir_node_stats.count, "directory noderevs");
    two(&mut out, s.file_node_stats.sum, s.file_node_stats.count, "file noderevs");
    out += "\nRepresentation statistics:\n";
    let added = &s.added_rep_size_histogram.total;
    for (sizes, what) in [
        (&s.total_rep_stats, "representations total"),
        (&s.dir_rep_stats, "directory representations"),
        (&s.file_rep_stats, "file representations"),
        (&s.dir_prop_rep_stats, "directory property representations"),
        (&s.file_prop_rep_stats, "file property representations"),
    ] {
        two(&mut out, sizes.total.packed_size, sizes.total.count, what);
        if what == "file representations" {
            two(&mut out, added.sum, added.count, "representations of added file nodes");
        }
    }
    let average = all.chain_len as f64 / all.total.count as f64;
    writeln!(out, "                         with {average:12.3} average delta chain length")
        .unwrap();
    let overhead = n(all.total.overhead_size);
    writeln!(out, "{overhead:>20} bytes in header & footer overhead").unwrap();
    reps(&mut out, "Directory", &s.dir_rep_stats);
    reps(&mut out, "File", &s.file_rep_stats);
    reps(&mut out, "Directory property", &s.dir_prop_rep_stats);
    reps(&mut out, "File property", &s.file_prop_rep_stats);
    out += "\nLargest representations:\n";
    for rep in &s.largest_changes {
        writeln!(out, "{:>12} r{:<8} {}", n(rep.size), rep.revision.0, rep.path).unwrap();
    }
    out.push('\n');
    for (title, h) in [
        ("expanded node sizes", &s.node_size_histogram),
        ("representation sizes", &s.rep_size_histogram),
        ("file sizes", &s.file_histogram),
        ("file representation sizes", &s.file_rep_histogram),
        ("file property sizes", &s.file_prop_histogram),
        ("file property representation sizes", &s.file_prop_rep_histogram),
        ("directory sizes", &s.dir_histogram),
        ("directory representation sizes", &s.dir_rep_histogram),
        ("directory property sizes", &s.dir_prop_histogram),
        ("directory property representation sizes", &s.dir_prop_rep_histogram),
    ] {
        histogram(&mut out, title, h);
    }
    out
}

/// What the reference prints, without the lists by extension, and its progress. `None` where it
/// fails before it comes so far: 1.14.2 aborts on representations that no node-revision uses (a
/// commit that wrote a text twice leaves one), on what its own packing lost, and later, dividing
/// by zero, on an extension whose files are all empty.
fn reference(repository: &Repository) -> Option<(String, Vec<u64>)> {
    let output = Programs::reference().run("svnfsfs", ["stats", &repository.arg()]);
    let printed = output.stdout_text();
    let (progress, rest) = printed.split_once("\n\nGlobal statistics:")?;
    let progress = progress.strip_prefix("Reading revisions\n").unwrap();
    let progress = progress.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let (first, rest) = rest.split_once("\nExtensions by number")?;
    let (_, rest) = rest.split_once("\nHistogram of expanded")?;
    let (rest, _) = rest.split_once("\nHistogram of '")?;
    Some((format!("Global statistics:{first}\n\nHistogram of expanded{rest}"), progress))
}

/// Compares the figures; whether there was anything to compare with.
fn check(repository: &Repository) -> bool {
    let caches = Caches::new(16 << 20);
    let options = OpenOptions::default();
    let fs = Filesystem::open(&repository.path().join("db"), &caches, &options).unwrap();
    let mut progress = Vec::new();
    let stats = fs.stats(&CancelToken::new(), &mut |r| progress.push(r.0));
    let Some((theirs, their_progress)) = reference(repository) else { return false };
    let stats = stats.unwrap();
    let name = repository.name();
    let ours = print(&stats);
    if ours != theirs {
        let difference =
            sapwood_testkit::compare::first_difference(theirs.as_bytes(), ours.as_bytes());
        panic!("{name}: {}", difference.unwrap());
    }
    assert_eq!(progress, their_progress, "{name}");
    let files: u64 = stats.by_extension.values().map(|e| e.rep_histogram.total.count).sum();
    assert_eq!(files, stats.file_rep_histogram.total.count);
    true
}

#[test]
fn same_figures_in_a_few_shapes() {
    let few = Shape::few();
    let compared = few.iter().filter(|shape| check(&Repository::scripted(shape))).count();
    assert!(compared > few.len() / 3, "{compared} of {}", few.len());
}

#[test]
#[ignore = "long: all shapes"]
fn same_figures_in_all_shapes() {
    let all = Shape::all();
    let compared = all.iter().filter(|shape| check(&Repository::random(shape, 5, 40))).count();
    assert!(compared > all.len() / 2, "{compared} of {}", all.len());
}
