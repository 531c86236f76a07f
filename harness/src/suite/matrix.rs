//! How implementations are arranged into cells.

use crate::node::Kind;

/// One at a time.
pub fn every(kinds: &[Kind]) -> Vec<[Kind; 1]> {
    kinds.iter().map(|&kind| [kind]).collect()
}

/// Every ordered pair, each one with itself included: payer and payee are not the same role.
pub fn every_pair(kinds: &[Kind]) -> Vec<[Kind; 2]> {
    let with = |&payer: &Kind| kinds.iter().map(move |&payee| [payer, payee]);
    kinds.iter().flat_map(with).collect()
}

/// Every ordered triple: payer, hop, payee.
pub fn every_triple(kinds: &[Kind]) -> Vec<[Kind; 3]> {
    let pairs = every_pair(kinds);
    let with = |&payer: &Kind| pairs.iter().map(move |&[hop, payee]| [payer, hop, payee]);
    kinds.iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::stub;

    fn names<const N: usize>(cells: Vec<[Kind; N]>) -> Vec<String> {
        cells
            .into_iter()
            .map(|kinds| kinds.map(|kind| kind.name()).join("-"))
            .collect()
    }

    #[test]
    fn every_arrangement_is_complete_and_ordered() {
        let kinds: [Kind; 2] = [&stub::Here, &stub::Absent];
        assert_eq!(names(every(&kinds)), ["here", "absent"]);
        assert_eq!(
            names(every_pair(&kinds)),
            ["here-here", "here-absent", "absent-here", "absent-absent"]
        );
        let triples = names(every_triple(&kinds));
        assert_eq!(triples.len(), 8);
        assert_eq!(triples[1], "here-here-absent");
        assert_eq!(triples[4], "absent-here-here");
    }
}
