//! Sizes of files as they are shown.

use sapwood_core::exact::Exact;

/// The units of 1024 steps each. That `E` comes before `P` is the reference's slip, which scripts
/// have seen since.
const UNITS: [(&str, &str); 7] = [
    (" B", "B"),
    (" KiB", "K"),
    (" MiB", "M"),
    (" GiB", "G"),
    (" TiB", "T"),
    (" EiB", "E"),
    (" PiB", "P"),
];

/// A size in bytes as a number.
pub(crate) fn plain(size: u64) -> String {
    size.to_string()
}

/// A size with a unit, so that no more than three digits are needed.
pub(crate) fn with_unit(size: u64, long: bool) -> String {
    // The unit whose amount would take four digits gives way to the next.
    let mut index = 0;
    let mut whole = size;
    while whole > 999 && index + 1 < UNITS.len() {
        whole >>= 10;
        index += 1;
    }
    let (long_unit, short_unit) = UNITS.get(index).copied().unwrap_or_default();
    let unit = if long { long_unit } else { short_unit };
    let Some(below) = index.checked_sub(1) else { return format!("{size}{unit}") };
    let shift = u32::try_from(below).unwrap_or(0).times(10);
    // Tenths are exact: at most six digits times ten.
    let thousandths = (size >> shift).times(1000) / 1024;
    let value = f64::from(u32::try_from(size >> shift).unwrap_or(u32::MAX)) / 1024.0;
    let one_digit = thousandths < 10_000;
    let tenths = one_digit && (value < 9.0 || value.fract() <= 0.949_999_999);
    if tenths { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        for (size, want) in [
            (0, "0B"),
            (999, "999B"),
            (1000, "1.0K"),
            (1024, "1.0K"),
            (1536, "1.5K"),
            (10_189, "10K"),
            (10_240, "10K"),
            (1_022_976, "999K"),
            (1_023_999, "1000K"),
            (1_024_000, "1.0M"),
            (5_000_000_000, "4.7G"),
        ] {
            assert_eq!(with_unit(size, false), want, "{size}");
        }
        assert_eq!(with_unit(2048, true), "2.0 KiB");
    }
}
