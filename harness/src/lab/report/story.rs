//! The report as text.

use super::{Paint, Row, names::Names, table};
use crate::lab::checks::Finding;
use crate::lab::world::World;
use crate::lab::{Timeline, TimelineLine};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::Path;

/// So many lines of the timeline are shown.
const TAIL: usize = 40;

/// What makes a line of bitcoind's news.
const CHAIN_NEWS: &[&str] = &["UpdateTip", "rror", "arning", "InvalidateBlock"];

/// How daemons mark the lines that only their own developers want to see at first.
const DETAIL: &[&str] = &["DEBUG", "TRACE", "GOSSIP", "[DBG]", "[TRC]", "IO"];

/// Of each, so many characters.
const WIDTH: usize = 220;

/// The report of a failed lab.
pub(in crate::lab) fn text(
    world: &World,
    first: &str,
    findings: &[Finding],
    rows: &[Row],
    dir: &Path,
) -> String {
    let paint = Paint::stderr();
    let mut text = String::new();
    let elapsed = world.started.elapsed().as_secs_f64();
    let head = format!("FAILED {} after {elapsed:.2} s", world.name);
    let _ = writeln!(text, "\n{}", paint.bad(&head));
    let _ = writeln!(text, "  {}", indented(first));
    let also: Vec<String> = findings
        .iter()
        .map(Finding::to_string)
        .filter(|finding| finding != first)
        .collect();
    if !also.is_empty() {
        let _ = writeln!(text, "\n{}", paint.strong("the end checks also found"));
        for finding in also {
            let _ = writeln!(text, "  {}", indented(&finding));
        }
    }
    text.push_str(&timeline(dir, &Names::of(world), paint));
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{}", paint.strong("nodes at the end"));
        text.push_str(&table::render(rows, paint));
    }
    let shown = dir.display();
    if dir.exists() {
        let _ = writeln!(text, "\ndirectory  {shown} (kept)");
        let _ = writeln!(text, "all lines  boltwright logs {shown}");
    } else {
        let _ = writeln!(
            text,
            "\ndirectory  {shown} is gone: something has removed it"
        );
    }
    let _ = writeln!(
        text,
        "again      BOLTWRIGHT_SEED={} {}",
        world.seed, world.replay
    );
    text
}

/// Says something from outside the test's own thread. Not by `eprint!`: a thread inherits libtest's
/// capture from the test that started it, and what is captured is lost when the process ends.
pub(in crate::lab) fn tell(text: &str) {
    let mut stderr = std::io::stderr();
    // Where stderr is gone there is nobody to tell.
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// The last lines of everybody, and before them what the harness did.
fn timeline(dir: &Path, names: &Names, paint: Paint) -> String {
    let timeline = match Timeline::read(dir) {
        Ok(timeline) => timeline,
        Err(error) => return format!("\nno timeline: {error}\n"),
    };
    let all = timeline.lines.len();
    let mut tail: Vec<&TimelineLine> = timeline.lines.iter().collect();
    tail.retain(|line| !is_detail(&timeline, line));
    let hidden = all - tail.len();
    tail.drain(..tail.len().saturating_sub(TAIL));
    let mut text = String::new();
    let head = format!("timeline: the last {} lines of {all}", tail.len());
    let note =
        format!("(without {hidden} of detail; UTC; within a millisecond the order is not causal)");
    let _ = writeln!(text, "\n{} {}", paint.strong(head), paint.faint(note));
    for line in tail {
        let mut line = line.clone();
        line.text = names.readable(&line.text);
        let _ = writeln!(text, "{}", timeline.render(&line, paint, Some(WIDTH)));
    }
    text
}

/// Whether a first look can do without a line: what a daemon marks as its developers' own, and
/// what bitcoind, which marks nothing, says of anything but blocks and errors.
fn is_detail(timeline: &Timeline, line: &TimelineLine) -> bool {
    if timeline.sources[line.source] == "bitcoind" {
        return !CHAIN_NEWS.iter().any(|news| line.text.contains(news));
    }
    let level = line.text.split_ascii_whitespace().next();
    level.is_some_and(|level| DETAIL.contains(&level))
}

impl Timeline {
    /// One event as a person reads it: time of day, who, what; cut to `width` if that is given.
    pub fn render(&self, line: &TimelineLine, paint: Paint, width: Option<usize>) -> String {
        let column = self.sources.iter().map(String::len).max().unwrap_or(0);
        let name = &self.sources[line.source];
        let time = line.time.get(11..).unwrap_or("");
        let mut shown = line.text.clone();
        if let Some((cut, _)) = width.and_then(|width| shown.char_indices().nth(width)) {
            shown.truncate(cut);
            shown.push('…');
        }
        let shown = shown.replace('\n', &format!("\n  {:15}  {:column$}  ", "", ""));
        format!(
            "  {}  {}  {shown}",
            paint.faint(format!("{time:15}")),
            paint.source(line.source, format!("{name:column$}"))
        )
    }
}

fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}

/// Holds the lab for a person, and says how to reach everything in it.
pub(in crate::lab) fn pause(world: &World, story: Option<&str>) {
    match story {
        Some(story) => held(world, &format!("it would fail: {}", indented(story))),
        None => held(world, "it would pass"),
    }
    if std::io::stdin().is_terminal() {
        tell("Press Enter to end it.\n");
        let _ = std::io::stdin().read_line(&mut String::new());
    } else {
        let pid = std::process::id();
        tell(&format!(
            "Press Ctrl-C, or send SIGTERM to {pid}, to end it.\n"
        ));
        crate::host::interrupt::wait();
    }
}

/// Says why a lab is held, and how to reach everything in it.
pub(in crate::lab) fn held(world: &World, why: &str) {
    let dir = world.site.dir().display();
    let mut text = format!(
        "\n{}: {why}\nThe lab is kept running in {dir}\n",
        world.name
    );
    let _ = writeln!(text, "  {:10} {}", "bitcoind", world.chain.command_line());
    for node in world.nodes() {
        let _ = writeln!(text, "  {:10} {}", node.name(), node.command_line());
    }
    tell(&text);
}
