//! The environment: knobs that are set, set wrongly, or set under a name that nobody reads.

use super::{Finding, Verdict};
use boltwright::host::knobs::{self, KNOBS};
use boltwright::host::settings;
use serde_json::json;

/// Looks at all of it.
pub(super) fn look() -> Vec<Finding> {
    let mut findings: Vec<Finding> = KNOBS
        .iter()
        .filter_map(|knob| Some((knob, knobs::variable(knob.name)?)))
        .map(|(knob, value)| {
            let value = value.to_string_lossy();
            Finding::new(
                knob.name,
                Verdict::Good,
                format!("{value} ({})", knob.meaning),
            )
            .data(json!({"value": value}))
        })
        .collect();
    if let Err(error) = settings() {
        findings.push(Finding::new("settings", Verdict::Bad, error.to_string()));
    }
    findings.extend(unknown());
    if findings.is_empty() {
        findings.push(Finding::new(
            "variables",
            Verdict::Good,
            "none of Boltwright's is set",
        ));
    }
    findings
}

/// Variables that look like ours and are none: a slip of the finger would go unnoticed.
fn unknown() -> Vec<Finding> {
    let known: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
    let mut names: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("BOLTWRIGHT_") && !known.contains(&name.as_str()))
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let finding = Finding::new(&name, Verdict::Note, "nobody reads this variable");
            match nearest(&name, &known) {
                Some(meant) => finding.cure(format!("did you mean {meant}?")),
                None => finding,
            }
        })
        .collect()
}

/// The known name that a slip or two away from it.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|&candidate| (distance(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 3)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, taken out or changed to get from one to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_told_what_was_meant() {
        let known = ["BOLTWRIGHT_KEEP", "BOLTWRIGHT_SEED"];
        assert_eq!(nearest("BOLTWRIGHT_KEPE", &known), Some("BOLTWRIGHT_KEEP"));
        assert_eq!(nearest("BOLTWRIGHT_SEEDS", &known), Some("BOLTWRIGHT_SEED"));
        assert_eq!(nearest("BOLTWRIGHT_ELSEWHERE", &known), None);
    }
}
