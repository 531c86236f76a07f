//! The wall clock, as the log and the stored payments write it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since the Unix epoch; zero for a clock that stands before it.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// The time since the Unix epoch in microseconds, the form that results carry.
pub(crate) fn now_us() -> u64 {
    u64::try_from(since_epoch().as_micros()).unwrap_or(u64::MAX)
}

/// Formats a time since the epoch as `2026-11-30T19:56:49.123456Z`.
pub(crate) fn utc(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let of_day = seconds % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
        since_epoch.subsec_micros()
    )
}

/// The proleptic Gregorian date of a day counted from 1970-01-01.
///
/// Counting years from March puts the leap day last, so that the length of the months
/// before any one of them follows a line.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_writes_known_instants() {
        assert_eq!(utc(Duration::ZERO), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            utc(Duration::from_micros(951_782_400_000_001)),
            "2000-02-29T00:00:00.000001Z"
        );
        assert_eq!(
            utc(Duration::from_micros(1_796_068_609_123_456)),
            "2026-11-30T19:56:49.123456Z"
        );
        assert_eq!(
            utc(Duration::from_secs(4_107_542_399)),
            "2100-02-28T23:59:59.000000Z"
        );
        assert_eq!(
            utc(Duration::from_secs(4_107_542_400)),
            "2100-03-01T00:00:00.000000Z"
        );
    }
}
