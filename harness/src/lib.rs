//! Integration tests for Lightning nodes, on real daemons.
#![warn(missing_docs)]

mod amount;
pub mod chain;
pub mod host;
pub mod lab;
pub mod node;
pub mod prelude;
mod roles;
pub mod suite;

pub use amount::Msat;
pub use boltwright_macros::test;
