//! One test's world: a directory, an address block, a chain, nodes, links and checks.
//!
//! A [`Lab`] starts a real bitcoind and hands out real nodes. It funds and opens channels in as few
//! blocks as possible ([`Topology`]), mines blocks that every node has seen ([`Lab::mine`]), checks
//! at its end what every test wants checked, tells the story if something failed
//! ([`report`]), and leaves nothing behind.
//!
//! `#[boltwright::test]` makes and concludes labs; [`Lab::new`] and [`Lab::finish`] do the same for
//! plain `#[test]`, rstest and async tests.

mod builder;
mod checks;
mod conclude;
mod description;
mod error;
mod follow;
mod mining;
mod names;
mod opening;
pub mod report;
mod seed;
mod timeline;
mod topology;
mod watch;
mod world;

pub use builder::LabBuilder;
pub use conclude::{Failed, Outcome};
pub use description::{Bitcoind, Described, Description, Log};
pub use error::Error;
pub use follow::Follower;
pub use seed::Seed;
pub use timeline::{Timeline, TimelineLine};
pub use topology::{Edge, Topology};
pub use world::Lab;

/// What the lab returns.
pub type Result<T> = std::result::Result<T, Error>;
