//! Calendar arithmetic: a date and time of day to and from a count of microseconds.

use super::{BadDate, MICROS_PER_SEC, Timestamp};

/// Short English names, as the reference prints them without a locale; Sunday first.
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/// Short English names of the months, January first.
pub(super) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const SECS_PER_DAY: i64 = 86_400;
/// Days in 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from the first of March of the year 0 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

/// A date and time of day. Units may be out of range when the value comes from a parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    /// 1 to 31.
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
    /// Seconds east of UTC.
    pub(super) offset: i64,
}

/// Days in the months of a year that starts in March, before month `m` (0 is March).
const fn days_before(m: i64) -> i64 {
    // 153 days every five months, rounded as the calendar has it.
    m.wrapping_mul(153).wrapping_add(2) / 5
}

impl Civil {
    /// The point in time. Units that are too large carry over into the next one.
    ///
    /// Refuses months out of range and, as the reference does, local times before 1970.
    pub(super) fn timestamp(&self) -> Result<Timestamp, BadDate> {
        if !(1..=12).contains(&self.month) {
            return Err(BadDate);
        }
        self.micros_since_1970().map(Timestamp).ok_or(BadDate)
    }

    fn micros_since_1970(&self) -> Option<i64> {
        // Counting from March puts the leap day at the end of the year.
        let early = self.month <= 2;
        let year = if early { self.year.checked_sub(1)? } else { self.year };
        let month = if early { self.month.checked_add(9)? } else { self.month.checked_sub(3)? };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let days = era
            .checked_mul(DAYS_PER_ERA)?
            .checked_add(of_era.checked_mul(365)?)?
            .checked_add(of_era.checked_div(4)?)?
            .checked_sub(of_era.checked_div(100)?)?
            .checked_add(days_before(month))?
            .checked_add(self.day)?
            .checked_sub(1)?
            .checked_sub(DAYS_TO_1970)?;
        let seconds = days
            .checked_mul(SECS_PER_DAY)?
            .checked_add(self.hour.checked_mul(3600)?)?
            .checked_add(self.minute.checked_mul(60)?)?
            .checked_add(self.second)?;
        if seconds < 0 {
            return None;
        }
        seconds.checked_sub(self.offset)?.checked_mul(MICROS_PER_SEC)?.checked_add(self.micros)
    }

    /// The calendar's words for a point in time, `offset` seconds east of UTC.
    pub(super) fn of(at: Timestamp, offset: i64) -> Self {
        let seconds = at.0.div_euclid(MICROS_PER_SEC).saturating_add(offset);
        let days = seconds.div_euclid(SECS_PER_DAY).saturating_add(DAYS_TO_1970);
        let of_day = seconds.rem_euclid(SECS_PER_DAY);
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        // The divisors are the days of 4, 100 and 400 years, each less the one day of difference.
        let year_of_era = (day_of_era
            .wrapping_sub(day_of_era / 1_460)
            .wrapping_add(day_of_era / 36_524)
            .wrapping_sub(day_of_era / 146_096))
            / 365;
        let day_of_year = day_of_era.wrapping_sub(
            year_of_era
                .wrapping_mul(365)
                .wrapping_add(year_of_era / 4)
                .wrapping_sub(year_of_era / 100),
        );
        let from_march = day_of_year.wrapping_mul(5).wrapping_add(2) / 153;
        let day = day_of_year.wrapping_sub(days_before(from_march)).wrapping_add(1);
        let early = from_march >= 10;
        let month = if early { from_march.wrapping_sub(9) } else { from_march.wrapping_add(3) };
        let year = era.wrapping_mul(400).wrapping_add(year_of_era).wrapping_add(i64::from(early));
        Self {
            year,
            month,
            day,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            micros: at.0.rem_euclid(MICROS_PER_SEC),
            offset,
        }
    }

    /// The short name of the day of the week.
    pub(super) fn weekday_name(&self) -> &'static str {
        let date = Self { hour: 0, minute: 0, second: 0, micros: 0, offset: 0, ..*self };
        // 1970-01-01 was a Thursday, number 4 of DAYS.
        let day = date
            .micros_since_1970()
            .map_or(0, |t| t.div_euclid(MICROS_PER_SEC).div_euclid(SECS_PER_DAY).wrapping_add(4))
            .rem_euclid(7);
        usize::try_from(day).ok().and_then(|d| DAYS.get(d)).copied().unwrap_or_default()
    }

    /// The short name of the month.
    pub(super) fn month_name(&self) -> &'static str {
        usize::try_from(self.month.wrapping_sub(1))
            .ok()
            .and_then(|m| MONTHS.get(m))
            .copied()
            .unwrap_or_default()
    }

    /// The number of days of the month, 0 when there is no such month.
    pub(super) const fn days_in_month(&self) -> i64 {
        match self.month {
            2 => {
                let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
                if leap { 29 } else { 28 }
            }
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_five_centuries_goes_there_and_back() {
        let mut weekday = 4;
        for day in 0..183_000 {
            let at = Timestamp(day * SECS_PER_DAY * MICROS_PER_SEC + 12_345);
            let civil = Civil::of(at, 0);
            assert_eq!(civil.timestamp(), Ok(at));
            assert!(civil.day >= 1 && civil.day <= civil.days_in_month(), "{civil:?}");
            assert_eq!(civil.weekday_name(), DAYS[weekday]);
            weekday = (weekday + 1) % 7;
        }
    }
}
