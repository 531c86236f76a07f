//! A trial: one cell of a case, named and judged by the gate.

use super::{
    case::{Body, Case, Cell},
    gate::{Gate, Verdict},
};

/// One runnable case, as runners see it.
pub(crate) struct Trial {
    /// Its name: `interop::pays::cln_to_ldk`.
    pub(crate) name: String,
    /// The name of its function, which is what libtest knows: `interop::pays`.
    pub(crate) test: String,
    /// Whether it is listed as ignored, and why.
    pub(crate) ignored: Option<Ignored>,
    /// What becomes of it if it is run.
    pub(crate) work: Work,
}

/// Why a trial is listed as ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// Its author wrote `#[ignore]`.
    ByAuthor(String),
    /// This machine lacks what it needs.
    Missing(String),
}

/// What becomes of a trial if it is run.
pub(crate) enum Work {
    /// The function runs in a lab.
    Run {
        /// The function.
        body: Body,
        /// What its panic's message must contain, if it should panic.
        should_panic: Option<&'static str>,
    },
    /// It cannot run, and fails with these words. Nothing is started.
    Fail(String),
}

impl Trial {
    /// The trials of these cases, in order.
    pub(crate) fn all(cases: &[&Case], gate: &Gate) -> Vec<Trial> {
        cases
            .iter()
            .flat_map(|case| Trial::of(case, gate))
            .collect()
    }

    /// The trials of one case, in the order of its matrix.
    pub(crate) fn of(case: &Case, gate: &Gate) -> Vec<Trial> {
        let trials: Vec<Trial> = (case.cells)()
            .into_iter()
            .map(|cell| Trial::new(case, cell, gate))
            .collect();
        if trials.is_empty() {
            return vec![Trial::without_cells(case)];
        }
        trials
    }

    fn new(case: &Case, cell: Cell, gate: &Gate) -> Trial {
        let Cell { label, kinds, body } = cell;
        let test = case.test_name();
        let name = if label.is_empty() {
            test.clone()
        } else {
            format!("{test}::{label}")
        };
        let (ignored, work) = match gate.verdict(&kinds) {
            Verdict::Open => {
                let should_panic = case.should_panic;
                (by_author(case), Work::Run { body, should_panic })
            }
            Verdict::Missing(words) => (Some(Ignored::Missing(words.clone())), Work::Fail(words)),
            Verdict::Required(words) => (by_author(case), Work::Fail(words)),
        };
        Trial {
            name,
            test,
            ignored,
            work,
        }
    }

    /// A matrix without cells would be a test that silently tests nothing: it fails instead.
    fn without_cells(case: &Case) -> Trial {
        Trial {
            name: case.test_name(),
            test: case.test_name(),
            ignored: by_author(case),
            work: Work::Fail("its matrix is empty: `each` or `among` gave nothing".to_owned()),
        }
    }
}

impl Ignored {
    /// The reason, in words.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Ignored::ByAuthor(reason) | Ignored::Missing(reason) => reason,
        }
    }
}

fn by_author(case: &Case) -> Option<Ignored> {
    case.ignore.map(|reason| {
        Ignored::ByAuthor(if reason.is_empty() {
            "#[ignore]".to_owned()
        } else {
            reason.to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{case::Cells, matrix, stub};

    fn pairs() -> Cells {
        let mut cells = Cells::default();
        for nodes in matrix::every_pair(&[&stub::Here, &stub::Absent]) {
            cells.add(&nodes, Some("sqlite".to_owned()), |_| Ok(()));
        }
        cells
    }

    fn case(ignore: Option<&'static str>, cells: fn() -> Cells) -> Case {
        Case {
            module: "interop::deep",
            name: "pays",
            ignore,
            should_panic: None,
            cells,
        }
    }

    fn trials(case: &Case, require: &[&str]) -> Vec<(String, Option<Ignored>, Option<String>)> {
        let require: Vec<String> = require.iter().map(|&name| name.to_owned()).collect();
        Trial::of(case, &Gate::new(&require))
            .into_iter()
            .map(|trial| {
                let fails = match trial.work {
                    Work::Fail(words) => Some(words),
                    Work::Run { .. } => None,
                };
                (trial.name, trial.ignored, fails)
            })
            .collect()
    }

    #[test]
    fn names_are_the_same_whatever_is_installed() {
        for require in [&[][..], &["absent"]] {
            let trials = trials(&case(None, pairs), require);
            let names: Vec<&str> = trials.iter().map(|(name, ..)| name.as_str()).collect();
            assert_eq!(
                names,
                [
                    "deep::pays::here_to_here::sqlite",
                    "deep::pays::here_to_absent::sqlite",
                    "deep::pays::absent_to_here::sqlite",
                    "deep::pays::absent_to_absent::sqlite",
                ]
            );
        }
    }

    #[test]
    fn a_cell_that_cannot_run_is_ignored_and_fails_with_the_same_words_if_run() {
        let trials = trials(&case(None, pairs), &[]);
        assert_eq!(trials[0].1, None);
        assert_eq!(trials[0].2, None);
        for (name, ignored, fails) in &trials[1..] {
            let fails = fails.as_ref().expect("it cannot run");
            assert!(fails.contains("absent not found"), "{name}: {fails}");
            assert_eq!(ignored, &Some(Ignored::Missing(fails.clone())));
        }
    }

    #[test]
    fn a_required_cell_that_cannot_run_is_not_ignored() {
        let trials = trials(&case(None, pairs), &["absent"]);
        let (_, ignored, fails) = &trials[1];
        assert_eq!(ignored, &None);
        assert!(
            fails
                .as_ref()
                .is_some_and(|words| words.contains("BOLTWRIGHT_REQUIRE=absent"))
        );
    }

    #[test]
    fn what_its_author_ignores_is_ignored_in_every_cell_and_runs_if_run() {
        let trials = trials(&case(Some("slow"), pairs), &["absent"]);
        for (_, ignored, _) in &trials {
            assert_eq!(ignored, &Some(Ignored::ByAuthor("slow".to_owned())));
        }
        assert_eq!(trials[0].2, None);
    }

    #[test]
    fn a_matrix_without_cells_is_one_failing_trial() {
        let trials = trials(&case(None, Cells::default), &[]);
        assert_eq!(trials.len(), 1);
        assert_eq!(trials[0].0, "deep::pays");
        assert!(
            trials[0]
                .2
                .as_ref()
                .is_some_and(|words| words.contains("empty"))
        );
    }
}
