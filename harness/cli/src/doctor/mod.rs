//! `boltwright doctor`: what a lab needs, what of it is here, and how to get the rest.

mod environment;
mod labs;
mod machine;
mod programs;
mod skips;

use crate::error::{Error, Result};
use crate::screen::{self, Paint};
use serde_json::{Value, json};
use std::fmt::Write as _;

const EXAMPLES: &str = "\
Examples:
  boltwright doctor                what is found, where and by which rule; what is missing
  boltwright doctor --json         the same for a program
  boltwright doctor --skips        which trials of this crate are ignored here, and why

Exit codes: 0 labs can run here, 1 something that they need is missing, 2 bad usage.";

/// Tells what this machine has for labs and what it lacks, and how to get that.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// Print JSON on standard output: one object, or with --skips one list.
    #[arg(long)]
    json: bool,

    /// Build the tests of the crate in this directory, and list their ignored trials with reasons.
    #[arg(long)]
    skips: bool,
}

/// How good or bad something that was looked at is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// As it should be.
    Good,
    /// Labs run, but a person should know.
    Note,
    /// Labs cannot run.
    Bad,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Note => "note",
            Verdict::Bad => "bad",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    /// What: `bitcoind`, `descriptors`.
    subject: String,
    verdict: Verdict,
    /// What is there, for a person.
    words: String,
    /// What to do about it, if anything.
    cure: Option<String>,
    /// The same for a program: figures with units in their names.
    data: Value,
}

impl Finding {
    fn new(subject: impl Into<String>, verdict: Verdict, words: impl Into<String>) -> Finding {
        Finding {
            subject: subject.into(),
            verdict,
            words: words.into(),
            cure: None,
            data: json!({}),
        }
    }

    fn cure(mut self, cure: impl Into<String>) -> Finding {
        self.cure = Some(cure.into());
        self
    }

    fn data(mut self, data: Value) -> Finding {
        self.data = data;
        self
    }
}

/// What belongs together, under a heading.
struct Section {
    heading: &'static str,
    findings: Vec<Finding>,
}

impl Doctor {
    /// Looks at everything and tells.
    pub fn run(&self) -> Result<()> {
        if self.skips {
            return skips::run(self.json);
        }
        let section = |heading, findings| Section { heading, findings };
        let sections = [
            section("programs", programs::look()),
            section("machine", machine::look()),
            section("labs", labs::look()),
            section("environment", environment::look()),
        ];
        let bad = sections
            .iter()
            .flat_map(|section| &section.findings)
            .filter(|finding| finding.verdict == Verdict::Bad)
            .count();
        if self.json {
            screen::print_json(&in_json(&sections, bad == 0))?;
        } else {
            screen::print(&in_words(&sections, bad, Paint::stdout()))?;
        }
        if bad == 0 { Ok(()) } else { Err(Error::Told) }
    }
}

fn in_words(sections: &[Section], bad: usize, paint: Paint) -> String {
    let mut text = String::new();
    let findings = || sections.iter().flat_map(|section| &section.findings);
    let width = findings()
        .map(|finding| finding.subject.chars().count())
        .max()
        .unwrap_or(0);
    for Section { heading, findings } in sections {
        let _ = writeln!(text, "{}", paint.strong(heading));
        for finding in findings {
            let mark = match finding.verdict {
                Verdict::Good => paint.good("  ok "),
                Verdict::Note => paint.strong("note "),
                Verdict::Bad => paint.bad(" BAD "),
            };
            let indent = format!("\n{:width$}", "", width = width + 8);
            let _ = writeln!(
                text,
                "{mark} {:width$}  {}",
                finding.subject,
                finding.words.replace('\n', &indent)
            );
            if let Some(cure) = &finding.cure {
                let _ = writeln!(
                    text,
                    "      {:width$}  → {}",
                    "",
                    cure.replace('\n', &indent)
                );
            }
        }
        text.push('\n');
    }
    let _ = match bad {
        0 => writeln!(text, "{}", paint.good("labs can run here")),
        1 => writeln!(
            text,
            "{}",
            paint.bad("labs cannot run here: one thing is bad")
        ),
        _ => writeln!(
            text,
            "{}",
            paint.bad(format!("labs cannot run here: {bad} things are bad"))
        ),
    };
    text
}

fn in_json(sections: &[Section], good: bool) -> Value {
    let finding = |finding: &Finding| {
        let mut object = json!({
            "subject": finding.subject,
            "verdict": finding.verdict.name(),
            "words": finding.words,
            "cure": finding.cure,
        });
        if let (Some(object), Value::Object(data)) = (object.as_object_mut(), &finding.data) {
            object.extend(data.clone());
        }
        object
    };
    let mut all = json!({"ok": good});
    for section in sections {
        all[section.heading] = section.findings.iter().map(finding).collect();
    }
    all
}
