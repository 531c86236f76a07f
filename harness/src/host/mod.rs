//! The ground floor: everything that has to do with this machine and nothing with Lightning.
//!
//! Processes and their supervision, directories, address leases, programs, log files, waits and
//! the knobs read from the environment. The floors above call it; it calls nobody.

pub mod address;
pub mod census;
pub mod clock;
mod death;
pub mod directory;
pub mod disk;
mod error;
pub mod interrupt;
pub mod journal;
pub mod keeper;
pub mod knobs;
pub mod limits;
pub mod log;
mod ports;
mod proc;
pub mod process;
pub mod program;
pub mod role;
pub mod site;
mod spawn_error;
pub mod wait;

pub use address::Block;
pub use directory::Directory;
pub use error::Error;
pub use journal::Journal;
pub use knobs::{Settings, settings};
pub use log::{LogFile, Mark};
pub use process::{Command, Death, Exit, Process, State, StoppedBy};
pub use program::{Origin, Program, Search};
pub use site::Site;
pub use wait::{Step, Wait};

/// What the host floor returns.
pub type Result<T> = std::result::Result<T, Error>;
