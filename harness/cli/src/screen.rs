//! What a person sees: tables, lists, progress, and how to call this command.
//!
//! Results go to standard output, which carries nothing else (JSON only, with `--json`); what
//! happens meanwhile goes to standard error. Colours and moving bars are for terminals.

use crate::error::{Error, Result};
use boltwright::host::knobs;
pub use boltwright::lab::report::Paint;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::{Display, Write};
use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::time::Duration;

/// Writes to standard output. A reader that has gone away is an error, and no panic.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::Output)
}

/// Writes one JSON value: indented for a person, on one line for a program.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = if std::io::stdout().is_terminal() {
        format!("{value:#}\n")
    } else {
        format!("{value}\n")
    };
    print(&text)
}

/// Commands, each with what it does, in two columns.
pub fn listed(commands: &[(String, impl Display)]) -> String {
    let width = commands
        .iter()
        .map(|(command, _)| command.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (command, meaning) in commands {
        let _ = writeln!(text, "  {command:width$}   {meaning}");
    }
    text
}

/// Rows under headings, in columns as wide as they need to be.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// A table with these headings; those that start with `>` stand above numbers, which are
    /// aligned to the right.
    pub fn new(headings: &[&str]) -> Table {
        Table {
            right: headings.iter().map(|name| name.starts_with('>')).collect(),
            rows: vec![
                headings
                    .iter()
                    .map(|name| name.trim_start_matches('>').to_owned())
                    .collect(),
            ],
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// As text, indented by two.
    pub fn render(&self, paint: Paint) -> String {
        let widths: Vec<usize> = (0..self.right.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = widths.get(column).copied().unwrap_or(0);
                if self.right.get(column) == Some(&true) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:width$}")
                }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            let line = line.trim_end();
            let line = if index == 0 {
                paint.faint(line)
            } else {
                line.to_owned()
            };
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

/// How far something is, on standard error: a bar on a terminal, a few plain lines elsewhere.
pub struct Progress {
    what: &'static str,
    total: u64,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For `total` things of the kind that `what` names.
    pub fn new(what: &'static str, total: u64) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = "{msg:9} [{bar:32}] {pos}/{len}, {rate}, {eta} left";
            let style = ProgressStyle::with_template(style)
                // A template that does not parse is a slip in this file; a plain bar is good enough.
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .with_key("rate", |state: &ProgressState, to: &mut dyn Write| {
                    let _ = write!(to, "{:.1}/s", state.per_sec());
                })
                .progress_chars("=> ");
            ProgressBar::new(total).with_style(style).with_message(what)
        });
        Progress {
            what,
            total,
            done: 0,
            bar,
        }
    }

    /// One more.
    pub fn step(&mut self) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            // Four lines are enough for a log.
            None if self.done.is_multiple_of((self.total / 4).max(1)) && self.done < self.total => {
                eprintln!("{:9} {}/{}", self.what, self.done, self.total);
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `1.23 s`, or `45.6 ms` below a second.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{seconds:.2} s")
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 node`, `3 nodes`, `2 processes`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ if what.ends_with('s') => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}

/// `4.2 GiB`.
pub fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{size:.1} {unit}")
            };
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

/// What a person types to call this command again, so that what we print can be pasted.
pub fn me() -> String {
    let Ok(program) = std::env::current_exe() else {
        return "boltwright".to_owned();
    };
    let same = |found: std::path::PathBuf| found.canonicalize().is_ok_and(|found| found == program);
    let path = knobs::variable("PATH").unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).map(|dir| dir.join("boltwright"));
    if on_path.find(|file| file.is_file()).is_some_and(same) {
        "boltwright".to_owned()
    } else if knobs::variable("CARGO_PKG_NAME").is_some_and(|name| name == env!("CARGO_PKG_NAME")) {
        // `cargo run`, by the alias of a checkout.
        "cargo boltwright".to_owned()
    } else {
        quoted(&program)
    }
}

/// The whole command line that this process was started with, to be pasted.
pub fn command() -> String {
    let words = std::env::args().skip(1);
    let words = words.map(|word| quoted(Path::new(&word)));
    [me()]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A path, or any word, as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if text.chars().all(plain) && !text.is_empty() {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_names_to_the_left() {
        let mut table = Table::new(&["node", ">sat"]);
        table.row(["alice".into(), "5".into()]);
        table.row(["bob".into(), "1,000".into()]);
        assert_eq!(
            table.render(Paint::PLAIN),
            "  node     sat\n  alice      5\n  bob    1,000\n"
        );
    }

    #[test]
    fn a_path_with_a_blank_is_quoted_and_a_plain_one_is_not() {
        assert_eq!(quoted(Path::new("/tmp/bw-1")), "/tmp/bw-1");
        assert_eq!(quoted(Path::new("/tmp/it's here")), r"'/tmp/it'\''s here'");
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(duration(Duration::from_millis(1234)), "1.23 s");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
