//! A case: one function under `#[boltwright::test]`, as its expansion registers it.

use crate::{lab::Lab, node::Kind};
use std::{collections::BTreeSet, fmt};

/// One registered function.
#[derive(Debug)]
pub struct Case {
    /// Where it stands: `crate::module::path`.
    pub module: &'static str,
    /// The function's name.
    pub name: &'static str,
    /// `#[ignore]`, with its reason, which may be empty.
    pub ignore: Option<&'static str>,
    /// `#[should_panic]`, with what the message must contain, which may be empty.
    pub should_panic: Option<&'static str>,
    /// Lists its cells: one, or a matrix. Called anew for each listing.
    pub cells: fn() -> Cells,
}

inventory::collect!(Case);

/// What runs one cell: the author's function, its parameters bound, its error told.
pub type Body = Box<dyn FnOnce(&Lab) -> Result<(), String> + Send>;

/// One cell of a case.
pub struct Cell {
    /// Its name below the case's: `ldk_to_cln::sqlite`. Empty if the case has no matrix.
    pub label: String,
    /// The implementations that it needs.
    pub kinds: Vec<Kind>,
    /// What it does.
    pub body: Body,
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("label", &self.label)
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

/// The cells of a case, in order, each under a label of its own.
#[derive(Debug, Default)]
pub struct Cells {
    cells: Vec<Cell>,
    labels: BTreeSet<String>,
}

impl Cells {
    /// Adds the cell of these implementations and the value of this label.
    ///
    /// Values that look the same get numbers: `x`, `x_2`, `x_3`.
    pub fn add<B>(&mut self, kinds: &[Kind], value: Option<String>, body: B)
    where
        B: FnOnce(&Lab) -> Result<(), String> + Send + 'static,
    {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let kinds_label = (!names.is_empty()).then(|| names.join("_to_"));
        let parts: Vec<String> = kinds_label.into_iter().chain(value).collect();
        let label = self.unused(parts.join("::"));
        self.labels.insert(label.clone());
        self.cells.push(Cell {
            label,
            kinds: kinds.to_vec(),
            body: Box::new(body),
        });
    }

    fn unused(&self, label: String) -> String {
        if !self.labels.contains(&label) {
            return label;
        }
        let mut number = 2_usize;
        loop {
            let numbered = format!("{label}_{number}");
            if !self.labels.contains(&numbered) {
                return numbered;
            }
            number += 1;
        }
    }
}

impl IntoIterator for Cells {
    type Item = Cell;
    type IntoIter = std::vec::IntoIter<Cell>;

    fn into_iter(self) -> Self::IntoIter {
        self.cells.into_iter()
    }
}

impl Case {
    /// All cases of this binary, by name. (The linker's order means nothing.)
    pub(crate) fn all() -> Vec<&'static Case> {
        let mut cases: Vec<&Case> = inventory::iter::<Case>.into_iter().collect();
        cases.sort_by_key(|case| case.test_name());
        cases
    }

    /// The one that this function registered.
    pub(crate) fn of(module: &str, name: &str) -> Option<&'static Case> {
        inventory::iter::<Case>
            .into_iter()
            .find(|case| case.module == module && case.name == name)
    }

    /// Its name as libtest gives it: the path of the function without the crate.
    pub(crate) fn test_name(&self) -> String {
        match self.module.split_once("::") {
            Some((_crate, modules)) => format!("{modules}::{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(module: &'static str) -> Case {
        Case {
            module,
            name: "pays",
            ignore: None,
            should_panic: None,
            cells: Cells::default,
        }
    }

    #[test]
    fn a_case_is_named_without_its_crate() {
        assert_eq!(case("interop").test_name(), "pays");
        assert_eq!(case("interop::deep::er").test_name(), "deep::er::pays");
    }

    #[test]
    fn values_that_look_the_same_are_numbered() {
        let mut cells = Cells::default();
        for label in ["a", "a", "a_2", "a"] {
            cells.add(&[], Some(label.to_owned()), |_| Ok(()));
        }
        let labels: Vec<String> = cells.into_iter().map(|cell| cell.label).collect();
        assert_eq!(labels, ["a", "a_2", "a_2_2", "a_3"]);
    }
}
