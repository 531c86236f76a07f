//! `boltwright logs`: everything that wrote a log in a lab, in one timeline.

use crate::error::{Error, Result};
use crate::labs;
use crate::screen::{self, Paint};
use boltwright::host::census;
use boltwright::host::{Step, Wait};
use boltwright::lab::{Follower, Timeline, TimelineLine};
use regex_lite::Regex;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  boltwright logs /tmp/bw-1a2b3c                   of a lab that was kept after a failure
  boltwright logs /tmp/bw-1a2b3c | less -R
  boltwright logs --follow                         of the newest running lab, as it goes on
  boltwright logs DIR --node alice --node bob      only these two
  boltwright logs DIR --grep 'HTLC|fulfill'        only events that match
  boltwright logs DIR --tail 50                    only the last 50
  boltwright logs DIR --json                       one JSON object a line, for a program

DIR is the directory of a lab: running, kept, moved elsewhere, or collected by
BOLTWRIGHT_ARTIFACTS. Times are UTC; within a millisecond the order is not causal.

Exit codes: 0 shown (also if nothing matches), 1 failed, 2 bad usage.";

/// Shows the merged timeline of a lab: the harness, bitcoind and every node.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Logs {
    /// The lab's directory; that of the newest running lab of yours if not given.
    dir: Option<PathBuf>,

    /// Go on showing what is written, until the lab's directory is removed or Ctrl-C.
    #[arg(long, short)]
    follow: bool,

    /// Only what this one wrote: a node's name, `bitcoind` or `harness`; may be given again.
    #[arg(long, value_name = "NAME")]
    node: Vec<String>,

    /// Only events that match this regular expression.
    #[arg(long, value_name = "RE", value_parser = Regex::new)]
    grep: Option<Regex>,

    /// Only the last N of them.
    #[arg(long, value_name = "N")]
    tail: Option<usize>,

    /// Print one JSON object a line: time, source, text.
    #[arg(long)]
    json: bool,
}

impl Logs {
    /// Reads, merges and shows.
    pub fn run(&self) -> Result<()> {
        let dir = labs::dir_or_newest(self.dir.as_ref())?;
        if !dir.join("lab.json").is_file() {
            return Err(not_a_lab(&dir));
        }
        if self.follow {
            return self.follow(&dir);
        }
        let timeline = Timeline::read(&dir)?;
        self.check_names(&timeline)?;
        self.show(&timeline, &timeline.lines, self.tail)
    }

    fn follow(&self, dir: &Path) -> Result<()> {
        let mut follower = Follower::new(dir)?;
        let mut tail = self.tail;
        let first = follower.look()?;
        self.check_names(follower.timeline())?;
        self.show(follower.timeline(), &first, tail.take())?;
        let mut failed = None;
        // A year is for ever; what ends it is the directory's end, or a signal.
        let end = Wait::for_("the end of the lab")
            .timeout(Duration::from_secs(31_536_000))
            .until(|| match follower.look() {
                Err(_) if !dir.join("lab.json").exists() => Step::Done(()),
                Err(error) => Step::Never(failed.insert(Error::from(error)).to_string()),
                Ok(lines) => match self.show(follower.timeline(), &lines, None) {
                    Ok(()) => Step::NotYet("it goes on".to_owned()),
                    Err(error) => Step::Never(failed.insert(error).to_string()),
                },
            });
        if let Some(error) = failed {
            return Err(error);
        }
        end.map_err(boltwright::host::Error::from)?;
        eprintln!("the lab has ended, and its directory was removed");
        Ok(())
    }

    fn check_names(&self, timeline: &Timeline) -> Result<()> {
        let unknown = self
            .node
            .iter()
            .find(|name| !timeline.sources.contains(name));
        match unknown {
            None => Ok(()),
            Some(name) => Err(Error::Usage(format!(
                "nobody called {name:?} writes in this lab; there are: {}",
                timeline.sources.join(", ")
            ))),
        }
    }

    fn show(&self, timeline: &Timeline, lines: &[TimelineLine], tail: Option<usize>) -> Result<()> {
        let wanted: Vec<&TimelineLine> = lines
            .iter()
            .filter(|line| {
                self.node.is_empty() || self.node.contains(&timeline.sources[line.source])
            })
            .filter(|line| self.grep.as_ref().is_none_or(|re| re.is_match(&line.text)))
            .collect();
        let skipped = tail.map_or(0, |tail| wanted.len().saturating_sub(tail));
        let paint = Paint::stdout();
        let mut text = String::new();
        for line in &wanted[skipped..] {
            if self.json {
                let object = json!({
                    "time": utc(&line.time),
                    "source": timeline.sources[line.source],
                    "text": line.text,
                });
                text.push_str(&object.to_string());
            } else {
                text.push_str(&timeline.render(line, paint, None));
            }
            text.push('\n');
        }
        screen::print(&text)
    }
}

/// The time with its zone; `null` for lines before the first one with a time.
fn utc(time: &str) -> Option<String> {
    (!time.is_empty()).then(|| format!("{time}Z"))
}

/// Why this directory cannot be shown, and which one may be meant.
fn not_a_lab(dir: &Path) -> Error {
    if !dir.exists() {
        return Error::Failed(format!(
            "{} is not there: the directory of a lab that has passed is removed \
             (BOLTWRIGHT_KEEP=1 keeps it)",
            dir.display()
        ));
    }
    let mut labs = census::directories(dir);
    if let Ok(entries) = std::fs::read_dir(dir) {
        labs.extend(entries.flatten().map(|entry| entry.path()));
    }
    labs.retain(|lab| lab.join("lab.json").is_file());
    labs.sort();
    labs.dedup();
    let meant = match labs.as_slice() {
        [] => "name the directory that a failure report ends with".to_owned(),
        some => {
            let some: Vec<String> = some.iter().map(|lab| screen::quoted(lab)).collect();
            format!("there are labs in it:\n  {}", some.join("\n  "))
        }
    };
    Error::Failed(format!(
        "{} is not the directory of a lab (it has no lab.json); {meant}",
        dir.display()
    ))
}
