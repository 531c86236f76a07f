//! One clock: UTC, microseconds.
use std::time::SystemTime;

/// The moment now, as every log line of the harness carries it: `2026-11-30T19:56:49.123456Z`.
pub fn stamp() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}
