//! What is made of results: tables for the terminal and the documentation ([`tables`]), and one page
//! with plots that needs nothing beside it ([`page`]).

pub mod page;
mod plots;
mod style;
pub mod tables;

/// Formats seconds: three significant figures, as far as they mean something.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.3}"),
        v if v < 100.0 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    }
}

/// Formats a ratio.
pub(crate) fn times(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.2}"),
        v if v < 20.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
pub(crate) mod sample {
    //! Results that tests of reports share: two systems, two formats, everything fixed.

    use crate::axes::{Access, Axis as _, Caches, Format, Packing, Request, Rules, State, System};
    use crate::results::{Cell, HeatSample, Results, Sample};

    pub(crate) fn results() -> Results {
        let mut results = Results {
            about: vec![
                ("history".to_owned(), "a sample <of> nothing".to_owned()),
                ("Sapwood".to_owned(), "1.14.5".to_owned()),
                ("reference".to_owned(), "1.14.2".to_owned()),
            ],
            notes: vec!["A note & a half.".to_owned()],
            ..Results::default()
        };
        let mut seed = 0.0;
        for request in [Request::NullLog, Request::NullExport] {
            for access in [Access::Svn, Access::File] {
                for format in [Format::F6, Format::F8] {
                    for packing in Packing::ALL.iter().copied() {
                        for state in State::ALL.iter().copied() {
                            if access == Access::File && state == State::HotServer {
                                continue;
                            }
                            for system in System::ALL.iter().copied() {
                                seed += 0.01;
                                let ours = if system == System::Sapwood { 1.0 } else { 4.0 };
                                for run in 1..=3_u32 {
                                    let wall = ours * (0.1 + seed) + f64::from(run) * 0.001;
                                    let cell = Cell {
                                        request,
                                        access,
                                        rules: Rules::Open,
                                        caches: Caches::Medium,
                                        format,
                                        packing,
                                        state,
                                        system,
                                    };
                                    let served = access == Access::Svn;
                                    results.samples.push(Sample {
                                        cell,
                                        run,
                                        wall,
                                        client_cpu: 0.01,
                                        server_cpu: served.then_some(wall / 2.0),
                                        server_reads: served.then_some(u64::from(run) * 10),
                                        peak_mib: Some(12.5),
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        for system in System::ALL.iter().copied() {
            for (factor, cache_mb) in [(1.0, 40), (1.7, 68)] {
                for run in 1..=15 {
                    results.heatup.push(HeatSample {
                        system,
                        request: Request::NullLog,
                        factor,
                        cache_mb,
                        run,
                        wall: 1.0 / f64::from(run) + factor,
                        server_cpu: 0.5 / f64::from(run),
                        server_reads: Some(u64::from(100 / run)),
                    });
                }
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!((seconds(0.12345), seconds(12.345)), ("0.123".to_owned(), "12.35".to_owned()));
        assert_eq!(seconds(123.45), "123.5");
        assert_eq!(
            (times(0.5), times(3.25), times(33.3)),
            ("0.50".into(), "3.2".into(), "33".into())
        );
    }
}
