//! Clocks of every granularity, ahead of the system's and behind it: whatever is changed after a wait has another
//! time than what was recorded before it.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use super::*;

/// A file system whose clock has steps, and in which time goes by only while something waits, or looks.
#[derive(Debug)]
struct Coarse {
    step: i64,
    true_time: AtomicI64,
    looks: AtomicU32,
}

/// A shared one.
#[derive(Clone, Debug)]
struct SharedClock(Arc<Coarse>);

/// 21 September 2020, an odd second and a part of one.
const START: i64 = 1_600_000_001_234_567_891;

impl SharedClock {
    fn new(step: i64, start: i64) -> Self {
        let true_time = AtomicI64::new(start);
        Self(Arc::new(Coarse { step, true_time, looks: AtomicU32::new(0) }))
    }

    /// The time of a file that is written now, in nanoseconds.
    fn stamp(&self) -> i64 {
        let now = self.0.true_time.load(Ordering::Relaxed);
        now - now.rem_euclid(self.0.step)
    }

    fn pass(&self, nanoseconds: i64) {
        self.0.true_time.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn time(&self) -> i64 {
        self.0.true_time.load(Ordering::Relaxed)
    }
}

impl Source for SharedClock {
    fn now(&self) -> Option<i64> {
        self.0.looks.fetch_add(1, Ordering::Relaxed);
        Some(self.stamp())
    }

    fn elapsed(&self) -> i64 {
        self.time()
    }

    fn pause(&self, time: Duration) {
        self.pass(i64::try_from(time.as_nanos()).unwrap());
    }
}

/// The steps of clocks: a kernel's tick, FAT, ext2, exFAT, servers and disks.
const CLOCKS: [i64; 8] =
    [4_000_000, 2 * SECOND, SECOND, 10_000_000, 1_000_000, 1_000, 100, 1_024_000];

fn microseconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1000)
}

/// Moments within two seconds, and at the edges of steps.
fn starts() -> impl Iterator<Item = i64> {
    let even = START - START.rem_euclid(2 * SECOND);
    (0..41).map(move |at| even + at * 50_000_000).chain([
        even + 1,
        even + SECOND - 1,
        even + SECOND,
    ])
}

#[test]
fn after_a_wait_no_recorded_time_is_given_again() {
    for step in CLOCKS {
        for start in starts() {
            let disk = SharedClock::new(step, start);
            let clock = FileClock::of(disk.clone());
            let recorded = microseconds(disk.stamp());
            clock.note(recorded);
            clock.note(recorded - 1_000_000);
            clock.wait();
            assert!(microseconds(disk.stamp()) > recorded, "step {step}, start {start}");
            let waited = disk.time() - start;
            // A whole second may come from a coarse file system by as fine a clock as there is.
            let most = if recorded % 1_000_000 == 0 { 2 * SECOND } else { step };
            assert!(waited <= most + 25_000_000, "step {step}, start {start}: {waited}");
        }
    }
}

#[test]
fn a_second_wait_and_one_for_what_is_long_past_look_no_further() {
    for step in CLOCKS {
        let disk = SharedClock::new(step, START);
        let clock = FileClock::of(disk.clone());
        clock.wait();
        assert_eq!(disk.0.looks.load(Ordering::Relaxed), 0, "nothing was recorded");
        clock.note(microseconds(START - 10 * SECOND));
        clock.wait();
        clock.wait();
        assert_eq!(disk.0.looks.load(Ordering::Relaxed), 2, "one for the note, one for the wait");
        assert_eq!(disk.time(), START, "step {step}");
    }
}

#[test]
fn what_is_read_within_a_tick_is_not_recorded() {
    for step in CLOCKS {
        for start in starts() {
            let disk = SharedClock::new(step, start);
            let clock = FileClock::of(disk.clone());
            let stamp = disk.stamp();
            assert!(!clock.is_past(microseconds(stamp)), "step {step}, start {start}");
            let mut passed = 0;
            while disk.stamp() == stamp {
                assert!(!clock.is_past(microseconds(stamp)), "step {step}, start {start}");
                disk.pass(step / 4 + 1);
                passed += step / 4 + 1;
            }
            disk.pass(2 * SECOND);
            assert!(clock.is_past(microseconds(stamp)), "step {step}, after {passed}");
        }
    }
}

#[test]
fn a_time_of_a_coarser_file_system_below_is_waited_out_too() {
    for coarse in [SECOND, 2 * SECOND] {
        for start in starts() {
            let (fine, below) =
                (SharedClock::new(4_000_003, start), SharedClock::new(coarse, start));
            let clock = FileClock::of(fine.clone());
            let recorded = microseconds(below.stamp());
            clock.note(recorded);
            clock.wait();
            below.pass(fine.time() - start);
            assert!(microseconds(below.stamp()) > recorded, "step {coarse}, start {start}");
        }
    }
}

#[test]
fn a_file_from_the_future_is_not_waited_for_and_does_not_hide_others() {
    let disk = SharedClock::new(SECOND, START);
    let clock = FileClock::of(disk.clone());
    let recorded = microseconds(disk.stamp());
    clock.note(recorded + 3_600_000_000);
    clock.note(recorded);
    assert!(clock.is_past(recorded + 3_600_000_000));
    clock.wait();
    assert!(microseconds(disk.stamp()) > recorded);
}

#[test]
fn a_clock_that_stands_still_is_given_up() {
    let disk = SharedClock::new(100 * SECOND, 100 * SECOND * (START / (100 * SECOND)));
    let clock = FileClock::of(disk.clone());
    clock.note(microseconds(disk.stamp()));
    let before = disk.time();
    clock.wait();
    assert!(disk.time() - before < 4 * SECOND);
}

#[test]
fn a_young_directory_is_not_believed_for_twice_the_granularity() {
    for step in CLOCKS {
        for start in starts() {
            let disk = SharedClock::new(step, start);
            let stamp = disk.stamp();
            while disk.stamp() < stamp + 2 * step {
                assert!(!is_old(stamp, disk.stamp()), "step {step}, start {start}");
                disk.pass(step / 2 + 1);
            }
            disk.pass(4 * SECOND);
            assert!(is_old(stamp, disk.stamp()), "step {step}, start {start}");
        }
    }
    assert!(!is_old(START, START + 15_000_000), "a tick of a kernel");
}

#[test]
fn granularity_is_never_less_than_it_is() {
    for (time, step) in [
        (1_600_000_000 * SECOND, 2 * SECOND),
        (1_600_000_001 * SECOND, SECOND),
        (1_600_000_001 * SECOND + 120_000_000, 10_000_000),
        (START, 1),
    ] {
        assert!(granularity(time) >= step, "{time}");
    }
    assert_eq!(granularity(START), 1);
}

#[test]
fn the_time_of_a_real_file_system_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let times = RecordedTimes::default();
    let clock = times.clock(dir.path());
    let now = clock.now().unwrap();
    clock.note(microseconds(now));
    times.wait();
    assert!(microseconds(clock.now().unwrap()) > microseconds(now));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn where_no_file_can_be_written_the_systems_clock_counts() {
    let times = RecordedTimes::default();
    let clock = times.clock(Path::new("/nowhere"));
    assert_eq!(clock.now(), None);
    let now = microseconds(system_nanoseconds());
    clock.note(now);
    times.wait();
    assert!(microseconds(system_nanoseconds()) > now);
    // A whole second may be a coarse clock's: one or two are waited out.
    assert!(!clock.is_past(now - now.rem_euclid(1_000_000)) || now.rem_euclid(1_000_000) > 990_000);
}
