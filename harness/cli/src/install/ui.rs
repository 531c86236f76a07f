//! What a person sees meanwhile: a bar on a terminal, plain lines elsewhere, nothing if quiet.

use indicatif::{ProgressBar, ProgressStyle};
use std::{io::IsTerminal, time::Duration};

/// Tells, on standard error, how far the installation is.
pub(super) enum Ui {
    /// Nothing at all.
    Quiet,
    /// One line for each step: a log file or a CI service.
    Lines,
    /// One moving line.
    Terminal(ProgressBar),
}

impl Ui {
    /// Chooses by what standard error is.
    pub(super) fn new(quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner().with_style(spinner());
            bar.enable_steady_tick(Duration::from_millis(120));
            Self::Terminal(bar)
        } else {
            Self::Lines
        }
    }

    /// A new step begins.
    pub(super) fn step(&self, text: &str) {
        match self {
            Self::Quiet => {}
            Self::Lines => eprintln!("install: {text}"),
            Self::Terminal(bar) => {
                // What a terminal showed of the step before stays in its scrollback.
                if !bar.message().is_empty() {
                    bar.println(format!("install: {}", bar.message()));
                }
                bar.set_style(spinner());
                bar.set_message(text.to_owned());
            }
        }
    }

    /// The present step has moved `done` of `total` bytes.
    pub(super) fn bytes(&self, done: u64, total: Option<u64>) {
        if let (Self::Terminal(bar), Some(total)) = (self, total) {
            if bar.length() != Some(total) {
                bar.set_length(total);
                bar.set_style(transfer());
            }
            bar.set_position(done);
        }
    }

    /// The work is over, well or badly.
    pub(super) fn finish(&self) {
        if let Self::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressStyle {
    style("{spinner} {msg} ({elapsed})")
}

fn transfer() -> ProgressStyle {
    style("{spinner} {msg} [{bar:24}] {bytes}/{total_bytes}, {eta} left")
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse is a slip in this file; a plain bar is then good enough.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
