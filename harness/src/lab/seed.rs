//! The one seed of a trial, from which keys, names and choices come.

use bitcoin::hashes::{Hash, HashEngine, sha256};
use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// A trial's random seed: the same seed gives the same keys and choices again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// This seed.
    pub fn new(seed: u64) -> Seed {
        Seed(seed)
    }

    /// A seed that nobody has chosen.
    pub fn random() -> Seed {
        // The standard library's hasher keys are random for every process, and its counter makes
        // them differ from one call to the next.
        Seed(RandomState::new().hash_one(std::process::id()))
    }

    /// 32 bytes for the thing of this name.
    pub fn bytes(self, label: &str) -> [u8; 32] {
        let mut engine = sha256::Hash::engine();
        engine.input(b"boltwright/");
        engine.input(&self.0.to_be_bytes());
        engine.input(label.as_bytes());
        sha256::Hash::from_engine(engine).to_byte_array()
    }

    /// A number below `bound` for the choice of this name.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn choice(self, label: &str, bound: u64) -> u64 {
        let bytes = self.bytes(label);
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[..8]);
        u64::from_be_bytes(word) % bound
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_label_others() {
        assert_eq!(Seed::new(7).bytes("alice"), Seed::new(7).bytes("alice"));
        assert_ne!(Seed::new(7).bytes("alice"), Seed::new(7).bytes("bob"));
        assert_ne!(Seed::new(7).bytes("alice"), Seed::new(8).bytes("alice"));
    }

    #[test]
    fn random_seeds_differ() {
        assert_ne!(Seed::random(), Seed::random());
    }
}
