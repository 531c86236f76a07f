//! Peers: BOLT 8 connections over TCP, in and out, and the peers worth keeping.
//!
//! `watch` hears from LDK who is connected; `dial` makes connections; `book` remembers the
//! addresses of peers that were connected on purpose; `keep` dials them again after a drop
//! or a restart.

mod book;
mod dial;
mod keep;
mod watch;

pub(crate) use book::Book;
pub(crate) use dial::{DialError, accept, dial};
pub(crate) use keep::Keeper;
pub(crate) use watch::PeerWatch;
