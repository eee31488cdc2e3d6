//! Large files give the same diffs as small ones do, and what is equal costs no comparison.

use super::*;
use crate::unified;
use proptest::prelude::*;

struct Bytes(Vec<u8>);

impl LargeText for Bytes {
    fn len(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap()
    }
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.0.as_slice()))
    }
}

fn same(options: &Options, old: &[u8], new: &[u8]) {
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    let any = unified(options, old, new, &mut wanted);
    let (a, b) = (Bytes(old.to_vec()), Bytes(new.to_vec()));
    let large = LargeDiff::new(*options, &a, &b).unwrap();
    if large.has_changes() {
        large.write(&mut found).unwrap();
    }
    let changes = large.changes().unwrap();
    let whole = compare(options, old, new);
    assert_eq!(changes, whole.changes().copied().collect::<Vec<_>>());
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&wanted));
    assert_eq!(large.has_changes(), any);
    for head in [8, 40] {
        let limits = Limits { head, window: 2000, equal: 3 };
        let diff = LargeDiff::within(*options, &a, &b, 0, &[limits]).unwrap();
        let mut found = Vec::new();
        if diff.has_changes() {
            diff.write(&mut found).unwrap();
        }
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&wanted));
    }
}

#[test]
fn files_that_come_and_go() {
    let plain = Options::default();
    for text in ["a\n", "a", "a\nb", "a\r\nb\r\n", "a\rb\r", "\r\n\r", "\n\n\nx"] {
        same(&plain, b"", text.as_bytes());
        same(&plain, text.as_bytes(), b"");
        let long = text.repeat(50_000);
        same(&plain, b"", long.as_bytes());
        same(&plain, long.as_bytes(), b"");
    }
    same(&plain, b"", b"");
}

/// A text of `len` lines, some of which are like others.
fn text(len: usize, kinds: usize, ending: &str) -> Vec<String> {
    let name = |n: usize| match n % 7 {
        0 => format!("int function{}(void){ending}", n % kinds),
        _ => format!("  line {}{ending}", n % kinds),
    };
    (0..len).map(name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_same_as_in_memory(
        len in 0usize..1200,
        kinds in 1usize..2000,
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        edits in prop::collection::vec((0usize..1200, 0usize..5, 0usize..200), 0..6),
        context in 0usize..5,
        show_c_function: bool,
        cut: bool,
    ) {
        let old = text(len, kinds, ending);
        let mut new = old.clone();
        for (at, what, count) in edits {
            let at = at.min(new.len());
            match what {
                0 => drop(new.drain(at..(at + count).min(new.len()))),
                1 => drop(new.splice(at..at, text(count, kinds, ending))),
                2 => new.insert(at, format!("new {count}\n")),
                3 if at < new.len() => new[at] = format!("other {count}\n"),
                _ => new.extend(text(count, kinds, "\n")),
            }
        }
        let (old, mut new) = (old.concat(), new.concat());
        if cut {
            new.pop();
        }
        let options = Options { context, show_c_function, ..Options::default() };
        same(&options, old.as_bytes(), new.as_bytes());
        same(&options, new.as_bytes(), old.as_bytes());
    }
}

/// A text of which some lines are like others: every seventh is empty, and every hundredth returns.
fn lines_of_code(len: usize) -> Vec<String> {
    let line = |n: usize| match n {
        n if n % 7 == 0 => "\n".to_owned(),
        n if n % 100 == 3 => format!("    case {}:\n", n % 5000 / 100),
        n => format!("    statement {n};\n"),
    };
    (0..len).map(line).collect()
}

#[test]
fn what_is_equal_is_not_compared() {
    let old = lines_of_code(60_000);
    let mut new = old.clone();
    new[100] = "changed\n".to_owned();
    // A line that is elsewhere, far from all changes.
    new[20_000] = old[45_001].clone();
    new.drain(30_000..30_010);
    new.splice(40_000..40_000, lines_of_code(12));
    new[50_000] = "changed\n".to_owned();
    let (old, new) = (Bytes(old.concat().into()), Bytes(new.concat().into()));
    let limits = Limits { head: 4096, window: 1 << 16, equal: 16 };
    let (again_old, again_new) = (|| window(&old, 0, 0), || window(&new, 0, 0));
    let options = Options::default();
    let reduced = reduce(&options, limits, &again_old, &again_new).unwrap().unwrap();
    let (diff, edits) = compare_counted(&options, &reduced.old, &reduced.new);
    assert!(reduced.old.len() * 2 < old.0.len(), "{}", reduced.old.len());
    assert!(reduced.holds(edits), "{edits}");
    let wanted = compare(&options, &old.0, &new.0);
    let found: Vec<_> = diff.changes().map(|change| reduced.whole(change).unwrap()).collect();
    assert_eq!(found, wanted.changes().copied().collect::<Vec<_>>());
}

#[test]
fn an_equal_stretch_that_is_like_itself_does_not_hold() {
    let same = |n: usize| (0..n).map(|_| "same\n").collect::<String>();
    let old = Bytes(format!("a\n{}b\n", same(3000)).into());
    let new = Bytes(format!("x\ny\n{}c\n", same(3000)).into());
    let limits = Limits { head: 1000, window: 1 << 16, equal: 3 };
    let (again_old, again_new) = (|| window(&old, 0, 0), || window(&new, 0, 0));
    let options = Options::default();
    let reduced = reduce(&options, limits, &again_old, &again_new).unwrap().unwrap();
    let (_, edits) = compare_counted(&options, &reduced.old, &reduced.new);
    assert!(!reduced.holds(edits.max(1)));
}
