//! What nodes are called when a test does not say.

/// The first names; then `node27` and so on.
const NAMES: &[&str] = &[
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "kim",
    "laura", "mallory", "niaj", "olivia", "peggy", "quentin", "rupert", "sybil", "trent", "ursula",
    "victor", "walter", "xena", "yves", "zoe",
];

/// The name of the `index`-th node, from 0.
pub(super) fn name(index: usize) -> String {
    match NAMES.get(index) {
        Some(name) => (*name).to_owned(),
        None => format!("node{}", index + 1),
    }
}

/// What is wrong with a name that a test chose, if anything: it becomes a directory, a wallet and
/// part of a socket's path.
pub(super) fn problem(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > 20 {
        return Some("a node's name has 1 to 20 characters");
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.chars().all(fits) {
        return Some("a node's name is of a-z, 0-9, - and _");
    }
    if ["bitcoind", "harness", "lab"].contains(&name) {
        return Some("that name is the harness's own");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_name_is_a_good_one_and_unique() {
        let names: Vec<String> = (0..254).map(name).collect();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(problem(name), None, "{name}");
            assert!(!names[..index].contains(name), "{name} twice");
        }
    }

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        for name in [
            "",
            "..",
            "a/b",
            "Alice",
            "bitcoind",
            "a-name-that-is-far-too-long",
        ] {
            assert!(problem(name).is_some(), "{name:?}");
        }
    }
}
