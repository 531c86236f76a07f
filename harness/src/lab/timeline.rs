//! One timeline of everything that wrote a log in a lab: by time, with continuation lines kept
//! together.
//!
//! Every daemon of the field starts its lines with a UTC time, to the second or finer, and each
//! line is placed by that. What was written in the same millisecond by different processes is in no
//! causal order: their clocks are one, their buffers are not.

use super::{Description, Result};
use crate::host::{LogFile, Mark};
use std::path::Path;

/// The logs of one lab, merged.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What the lab was called.
    pub lab: String,
    /// Who wrote, in the order of the lab: the index in it is a line's `source`.
    pub sources: Vec<String>,
    /// All lines, by time.
    pub lines: Vec<TimelineLine>,
}

/// One event of a timeline: a line with a time, and those after it without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineLine {
    /// UTC, `2026-11-30T19:56:49.123456`; compares as it reads.
    pub time: String,
    /// Who wrote it: an index into [`Timeline::sources`].
    pub source: usize,
    /// Its place in its file.
    pub place: usize,
    /// The text behind the time, with continuation lines.
    pub text: String,
}

impl Timeline {
    /// Reads and merges the logs of the lab in this directory, which may be still running.
    pub fn read(dir: &Path) -> Result<Timeline> {
        let description = Description::read(dir)?;
        let mut lines = Vec::new();
        for (source, log) in description.logs.iter().enumerate() {
            let file = LogFile::new(dir.join(&log.path));
            if file.path().exists() {
                lines.extend(events(source, file.lines_from(Mark::START)?));
            }
        }
        lines.sort();
        Ok(Timeline {
            lab: description.lab,
            sources: description.logs.into_iter().map(|log| log.name).collect(),
            lines,
        })
    }
}

/// The lines of one log as events. Lines before the first one with a time belong to the first
/// moment of all.
pub(super) fn events(source: usize, lines: Vec<String>) -> Vec<TimelineLine> {
    let mut events: Vec<TimelineLine> = Vec::new();
    for (place, line) in lines.into_iter().enumerate() {
        match split_time(&line) {
            Some((time, text)) => {
                // A daemon whose clock steps back keeps its own order.
                let last = events.last().map(|event| event.time.as_str());
                let time = match last {
                    Some(last) if last > time.as_str() => last.to_owned(),
                    _ => time,
                };
                events.push(TimelineLine {
                    time,
                    source,
                    place,
                    text: text.to_owned(),
                });
            }
            None => match events.last_mut() {
                Some(event) => {
                    event.text.push('\n');
                    event.text.push_str(&line);
                }
                None if line.trim().is_empty() => {}
                None => events.push(TimelineLine {
                    time: String::new(),
                    source,
                    place,
                    text: line,
                }),
            },
        }
    }
    events
}

/// Splits `2026-11-30T19:56:49.123456Z text` (or with a space in the middle, fewer digits, no `Z`)
/// into a time that compares as it reads and the text.
fn split_time(line: &str) -> Option<(String, &str)> {
    const SHAPE: &[u8] = b"dddd-dd-dd?dd:dd:dd";
    let bytes = line.as_bytes();
    let fits = |(shape, byte): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        b'?' => matches!(byte, b'T' | b' '),
        other => byte == other,
    };
    if bytes.len() < SHAPE.len() || !SHAPE.iter().zip(bytes).all(fits) {
        return None;
    }
    let mut rest = &line[SHAPE.len()..];
    let mut fraction = String::from("000000");
    if let Some(digits) = rest.strip_prefix('.') {
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        fraction = format!("{:0<6.6}", &digits[..end]);
        rest = &digits[end..];
    }
    let rest = rest.strip_prefix('Z').unwrap_or(rest);
    let time = format!("{}T{}.{fraction}", &line[..10], &line[11..SHAPE.len()]);
    Some((time, rest.strip_prefix(' ').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[&str]) -> Vec<TimelineLine> {
        events(0, lines.iter().map(|line| (*line).to_owned()).collect())
    }

    #[test]
    fn times_of_every_daemon_are_read() {
        for (line, time, text) in [
            (
                "2026-11-30T19:56:49.123456Z UpdateTip",
                "2026-11-30T19:56:49.123456",
                "UpdateTip",
            ),
            (
                "2026-11-30T19:56:49Z old",
                "2026-11-30T19:56:49.000000",
                "old",
            ),
            (
                "2026-11-30 19:56:49.123 [INF] LTND: up",
                "2026-11-30T19:56:49.123000",
                "[INF] LTND: up",
            ),
            (
                "2026-11-30T19:56:49.123Z DEBUG hsmd: x",
                "2026-11-30T19:56:49.123000",
                "DEBUG hsmd: x",
            ),
        ] {
            assert_eq!(split_time(line), Some((time.to_owned(), text)), "{line}");
        }
        for line in [
            "",
            "panicked at",
            "2026-11-30",
            "2026-11-30x19:56:49 no",
            "é026-11-30T19:56:49Z",
        ] {
            assert_eq!(split_time(line), None, "{line}");
        }
    }

    #[test]
    fn continuation_lines_stay_with_their_event() {
        let events = texts(&[
            "2026-11-30T19:56:49Z one",
            "  more",
            "2026-11-30T19:56:50Z two",
        ]);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].text, "one\n  more");
    }

    #[test]
    fn a_clock_that_steps_back_does_not_reorder_its_own_log() {
        let mut events = texts(&["2026-11-30T19:56:50Z one", "2026-11-30T19:56:49Z two"]);
        events.sort();
        assert_eq!(events[0].text, "one");
    }
}
