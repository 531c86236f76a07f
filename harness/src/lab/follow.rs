//! A timeline that grows: what the logs of a running lab have got since the last look.

use super::timeline::events;
use super::{Description, Result, Timeline, TimelineLine};
use crate::host::{LogFile, Mark};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// So young an event is held back, since an earlier one may still be on its way into another log.
const SETTLED: Duration = Duration::from_millis(100);

/// Reads a lab's logs on and on.
#[derive(Debug)]
pub struct Follower {
    dir: PathBuf,
    timeline: Timeline,
    logs: Vec<Reading>,
    held: Vec<TimelineLine>,
}

/// How far one log was read.
#[derive(Debug)]
struct Reading {
    file: LogFile,
    at: Mark,
    lines: usize,
    /// The time of its last event.
    time: String,
}

impl Follower {
    /// Starts at the beginning of all logs of the lab in this directory.
    pub fn new(dir: &Path) -> Result<Follower> {
        let description = Description::read(dir)?;
        Ok(Follower {
            dir: dir.to_owned(),
            timeline: Timeline {
                lab: description.lab,
                sources: Vec::new(),
                lines: Vec::new(),
            },
            logs: Vec::new(),
            held: Vec::new(),
        })
    }

    /// The lab and those who write, as far as they are known; without lines.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What is new since the last look, by time.
    ///
    /// # Errors
    /// When the lab's directory is gone.
    pub fn look(&mut self) -> Result<Vec<TimelineLine>> {
        self.meet_new_nodes()?;
        let now = SystemTime::now();
        for source in 0..self.logs.len() {
            self.read(source)?;
        }
        self.held.sort();
        let border = humantime::format_rfc3339_micros(now - SETTLED).to_string();
        let settled = self
            .held
            .partition_point(|event| event.time.as_str() < border.trim_end_matches('Z'));
        let rest = self.held.split_off(settled);
        Ok(std::mem::replace(&mut self.held, rest))
    }

    /// Nodes that were made since the last look have logs of their own, after the others.
    fn meet_new_nodes(&mut self) -> Result<()> {
        let description = Description::read(&self.dir)?;
        for log in description.logs.into_iter().skip(self.logs.len()) {
            self.timeline.sources.push(log.name);
            self.logs.push(Reading {
                file: LogFile::new(self.dir.join(log.path)),
                at: Mark::START,
                lines: 0,
                time: String::new(),
            });
        }
        Ok(())
    }

    fn read(&mut self, source: usize) -> Result<()> {
        let log = &mut self.logs[source];
        let (lines, at) = log.file.read_on(log.at)?;
        log.at = at;
        let count = lines.len();
        for mut event in events(source, lines) {
            event.place += log.lines;
            if event.time < log.time {
                // The rest of an event whose first line was read before; or a clock that was set.
                event.time.clone_from(&log.time);
            }
            log.time.clone_from(&event.time);
            self.held.push(event);
        }
        log.lines += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn what_is_appended_is_read_once_and_in_order_of_time() {
        let dir = tempfile::tempdir().unwrap();
        let json = r#"{"lab": "x", "seed": "0x1", "bitcoind": null, "nodes": [], "logs": [
            {"name": "one", "path": "one"}, {"name": "two", "path": "two"}]}"#;
        fs::write(dir.path().join("lab.json"), json).unwrap();
        fs::write(dir.path().join("one"), "2026-11-30T19:56:49Z b\n").unwrap();
        fs::write(dir.path().join("two"), "2026-11-30T19:56:48Z a\n").unwrap();
        let mut follower = Follower::new(dir.path()).unwrap();
        let texts = |follower: &mut Follower| -> Vec<String> {
            let lines = follower.look().unwrap();
            lines.into_iter().map(|line| line.text).collect()
        };
        assert_eq!(texts(&mut follower), ["a", "b"]);
        let mut two = fs::File::options()
            .append(true)
            .open(dir.path().join("two"))
            .unwrap();
        two.write_all(b"  more of a\n2026-11-30T19:56:50Z c\nhalf a li")
            .unwrap();
        assert_eq!(texts(&mut follower), ["  more of a", "c"]);
        assert!(texts(&mut follower).is_empty());
    }

    #[test]
    fn the_young_are_held_back_until_they_have_settled() {
        let dir = tempfile::tempdir().unwrap();
        let json = r#"{"lab": "x", "seed": "0x1", "bitcoind": null, "nodes": [], "logs": [
            {"name": "one", "path": "one"}]}"#;
        fs::write(dir.path().join("lab.json"), json).unwrap();
        let line = format!("{} now\n", crate::host::clock::stamp());
        fs::write(dir.path().join("one"), line).unwrap();
        let mut follower = Follower::new(dir.path()).unwrap();
        assert!(follower.look().unwrap().is_empty());
        let seen = crate::host::Wait::for_("the line to settle").until(|| {
            match follower.look().unwrap().pop() {
                Some(line) => crate::host::Step::Done(line.text),
                None => crate::host::Step::NotYet("held back".to_owned()),
            }
        });
        assert_eq!(seen.unwrap(), "now");
    }
}
