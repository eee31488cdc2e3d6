//! Statistics of several runs of the same thing: median, extremes, variation, outliers.
//!
//! Three runs are few. The median is shown, and the marks show the reader where to doubt
//! it; nothing is left out of the extremes.

/// Runs that differ by more than this share of their median are marked.
pub const VARIATION: f64 = 0.2;
/// Differences below this many units are never marked: clocks and schedulers make them.
pub const NOISE: f64 = 0.005;
/// A run further from the median than this many (robust) standard deviations is an outlier.
const OUTLIER: f64 = 3.5;
/// The factor that makes the median absolute deviation comparable with a standard deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// The deviation is taken to be at least this share of the median: three runs may agree by chance.
const LEAST_SIGMA: f64 = 0.03;

/// A summary of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of runs.
    pub count: usize,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The number of outliers.
    pub outliers: usize,
}

impl Summary {
    /// The summary of `values`, `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = median(&sorted)?;
        let mut away: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        away.sort_by(f64::total_cmp);
        let sigma = (self::median(&away)? * MAD_TO_SIGMA).max(median.abs() * LEAST_SIGMA);
        let limit = (sigma * OUTLIER).max(NOISE);
        let outliers = away.iter().filter(|d| **d > limit).count();
        Some(Self { count: sorted.len(), median, min, max, outliers })
    }

    /// Whether the runs differ so much that the median says little.
    #[must_use]
    pub fn varies(&self) -> bool {
        let spread = self.max - self.min;
        spread > NOISE && spread > self.median.abs() * VARIATION
    }

    /// The marks behind a figure: `~` for variation, `!` for each outlier.
    #[must_use]
    pub fn marks(&self) -> String {
        let variation = if self.varies() { "~" } else { "" };
        format!("{variation}{}", "!".repeat(self.outliers))
    }
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len().checked_div(2)?;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, upper))
}

/// The ratio of two figures, `None` when the second is too small to divide by.
#[must_use]
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 1e-6).then(|| a / b)
}

/// The geometric mean of ratios, `None` if there are none.
#[must_use]
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = ratios.iter().filter(|r| **r > 0.0).map(|r| r.ln()).collect();
    let count = f64::from(u32::try_from(logs.len()).ok().filter(|n| *n > 0)?);
    Some((logs.iter().sum::<f64>() / count).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[2.0]).unwrap();
        assert_eq!((one.count, one.median, one.min, one.max, one.outliers), (1, 2.0, 2.0, 2.0, 0));
        let odd = Summary::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        let even = Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(even.median, 2.5);
    }

    #[test]
    fn outliers_and_variation() {
        let quiet = Summary::of(&[1.0, 1.01, 0.99]).unwrap();
        assert_eq!((quiet.outliers, quiet.varies(), quiet.marks().as_str()), (0, false, ""));
        let disturbed = Summary::of(&[1.0, 1.01, 2.0]).unwrap();
        assert_eq!((disturbed.outliers, disturbed.marks().as_str()), (1, "~!"));
        // Spread evenly, all of them doubtful, none of them more than the others.
        let wide = Summary::of(&[1.0, 1.5, 2.0]).unwrap();
        assert_eq!((wide.outliers, wide.marks().as_str()), (0, "~"));
        // Milliseconds are noise, whatever share they are.
        let tiny = Summary::of(&[0.001, 0.001, 0.004]).unwrap();
        assert_eq!(tiny.marks(), "");
        // Equal runs do not make the slightest difference an outlier.
        let equal = Summary::of(&[1.0, 1.0, 1.0, 1.0, 1.05]).unwrap();
        assert_eq!(equal.marks(), "");
    }

    #[test]
    fn ratios() {
        assert_eq!(ratio(4.0, 2.0), Some(2.0));
        assert_eq!(ratio(4.0, 0.0), None);
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-9);
    }
}
