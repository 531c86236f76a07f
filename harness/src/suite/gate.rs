//! Whether a trial can run on this machine, and if not, why.

use super::case::Case;
use crate::node::{KINDS, Kind};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// What is installed here and what must be; each implementation is looked for once.
#[derive(Debug)]
pub(crate) struct Gate {
    require: Vec<String>,
    /// By name: why it is missing, or `None` if it is there.
    looked: RefCell<BTreeMap<&'static str, Option<String>>>,
}

/// What the gate says about a trial.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All that it needs is here.
    Open,
    /// Something is missing: it is listed as ignored, and fails with these words if it is run.
    Missing(String),
    /// Something is missing that `BOLTWRIGHT_REQUIRE` names: it fails with these words.
    Required(String),
}

/// `BOLTWRIGHT_REQUIRE` names something that nobody knows.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("BOLTWRIGHT_REQUIRE={name}: no implementation is called that; known are {}", known.join(", "))]
pub(crate) struct Unknown {
    /// The name.
    name: String,
    /// All names that are known to this binary.
    known: Vec<&'static str>,
}

impl Gate {
    /// A gate that requires these implementations, by name.
    pub(crate) fn new(require: &[String]) -> Gate {
        Gate {
            require: require.to_vec(),
            looked: RefCell::default(),
        }
    }

    /// Checks that all required names are ones that Boltwright or one of these cases knows: a
    /// misspelt one would require nothing.
    pub(crate) fn check(&self, cases: &[&Case]) -> Result<(), Unknown> {
        if self.require.is_empty() {
            return Ok(());
        }
        let cells = cases.iter().flat_map(|case| (case.cells)());
        let used = cells.flat_map(|cell| cell.kinds);
        let known: BTreeSet<&'static str> = KINDS
            .iter()
            .copied()
            .chain(used)
            .map(|kind| kind.name())
            .collect();
        match self
            .require
            .iter()
            .find(|name| !known.contains(name.as_str()))
        {
            None => Ok(()),
            Some(name) => Err(Unknown {
                name: name.clone(),
                known: known.into_iter().collect(),
            }),
        }
    }

    /// Says whether a trial that needs these implementations can run.
    pub(crate) fn verdict(&self, kinds: &[Kind]) -> Verdict {
        let mut words: Vec<String> = Vec::new();
        let mut required: Vec<&str> = Vec::new();
        for kind in kinds {
            let Some(missing) = self.missing(*kind) else {
                continue;
            };
            if !words.contains(&missing) {
                words.push(missing);
            }
            if self.require.iter().any(|name| name == kind.name())
                && !required.contains(&kind.name())
            {
                required.push(kind.name());
            }
        }
        let words = words.join("; ");
        match (words.is_empty(), required.is_empty()) {
            (true, _) => Verdict::Open,
            (false, true) => Verdict::Missing(words),
            (false, false) => Verdict::Required(format!(
                "required by BOLTWRIGHT_REQUIRE={}: {words}",
                required.join(",")
            )),
        }
    }

    fn missing(&self, kind: Kind) -> Option<String> {
        self.looked
            .borrow_mut()
            .entry(kind.name())
            .or_insert_with(|| kind.find().err().map(|missing| missing.to_string()))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{case::Cells, stub};

    fn require(names: &[&str]) -> Gate {
        Gate::new(
            &names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn what_is_installed_can_run() {
        let gate = require(&["here"]);
        assert_eq!(gate.verdict(&[]), Verdict::Open);
        assert_eq!(gate.verdict(&[&stub::Here, &stub::Here]), Verdict::Open);
    }

    #[test]
    fn what_is_missing_is_told_once_with_how_to_get_it() {
        let Verdict::Missing(words) = require(&[]).verdict(&[&stub::Absent, &stub::Absent]) else {
            panic!("an absent implementation is missing");
        };
        assert_eq!(words.matches("absent not found").count(), 1, "{words}");
        assert!(words.contains("install it by hand"), "{words}");
    }

    #[test]
    fn what_is_missing_and_required_fails() {
        let Verdict::Required(words) = require(&["absent"]).verdict(&[&stub::Here, &stub::Absent])
        else {
            panic!("a required implementation is missing");
        };
        assert!(words.starts_with("required by BOLTWRIGHT_REQUIRE=absent: absent not found"));
    }

    #[test]
    fn a_misspelt_requirement_is_an_error() {
        let matrix = Case {
            module: "crate",
            name: "pays",
            ignore: None,
            should_panic: None,
            cells: || {
                let mut cells = Cells::default();
                cells.add(&[&stub::Absent], None, |_| Ok(()));
                cells
            },
        };
        assert_eq!(require(&["absent", "ldk"]).check(&[&matrix]), Ok(()));
        let words = require(&["absent", "ldq"]).check(&[&matrix]);
        let words = words.expect_err("nobody is called ldq").to_string();
        assert!(
            words.starts_with("BOLTWRIGHT_REQUIRE=ldq: no implementation"),
            "{words}"
        );
        assert!(words.contains("absent") && words.contains("ldk"), "{words}");
    }
}
