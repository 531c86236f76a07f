//! Long identifiers as a person reads them: a node's id is its name, any other hash its beginning.

use crate::lab::world::World;
use std::collections::BTreeMap;

/// What the nodes of a lab are called.
pub(super) struct Names(BTreeMap<String, String>);

/// Hexadecimal text of this length or more is an identifier: a transaction's, a block's, a
/// channel's, a payment's (64), or a node's (66).
const IDENTIFIER: usize = 40;

/// So much of it is enough to tell one from another.
const SHOWN: usize = 8;

impl Names {
    pub fn of(world: &World) -> Names {
        let nodes = world.nodes();
        let named = nodes
            .iter()
            .filter_map(|node| Some((node.known_id()?.to_string(), node.name())));
        Names(named.collect())
    }

    /// The text with its identifiers replaced or cut.
    pub fn readable(&self, text: &str) -> String {
        let mut readable = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
            let (before, found) = rest.split_at(start);
            let length = found
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(found.len());
            let (word, after) = found.split_at(length);
            readable.push_str(before);
            match self.0.get(word) {
                Some(name) => readable.push_str(name),
                None if length >= IDENTIFIER => {
                    readable.push_str(&word[..SHOWN]);
                    readable.push('…');
                }
                None => readable.push_str(word),
            }
            rest = after;
        }
        readable.push_str(rest);
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_names_and_hashes_short() {
        let id = "02".repeat(33);
        let names = Names([(id.clone(), "bob".to_owned())].into());
        let hash = "ab".repeat(32);
        assert_eq!(
            names.readable(&format!("peer {id} fails {hash}:0 with 0x400f, é")),
            "peer bob fails abababab…:0 with 0x400f, é"
        );
        assert_eq!(names.readable(""), "");
    }
}
