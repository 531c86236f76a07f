//! Colours, on a terminal only.

use crate::host::knobs;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::IsTerminal;

/// Whether and how text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(bool);

/// The colours of those who write in a timeline, in turn.
const SOURCES: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Red,
];

impl Paint {
    /// No colours.
    pub const PLAIN: Paint = Paint(false);

    /// Colours if stderr is a terminal and `NO_COLOR` is not set.
    pub fn stderr() -> Paint {
        Paint(std::io::stderr().is_terminal() && !knobs::no_color())
    }

    /// Colours if stdout is a terminal and `NO_COLOR` is not set.
    pub fn stdout() -> Paint {
        Paint(std::io::stdout().is_terminal() && !knobs::no_color())
    }

    /// What went wrong.
    pub fn bad(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// What went well.
    pub fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default().bold(), text)
    }

    /// A heading.
    pub fn strong(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    /// What can be skipped in reading.
    pub fn faint(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// What belongs to the `source`-th writer of a timeline.
    pub fn source(self, source: usize, text: impl Display) -> String {
        self.with(SOURCES[source % SOURCES.len()].on_default(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.0 {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }
}
