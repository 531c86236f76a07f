//! JSON-RPC 2.0 over a Unix socket, one object a line in both directions.
//!
//! `socket` makes and removes the socket file, `server` reads lines and writes answers,
//! `protocol` is what a request and an answer look like, `methods` is what can be asked.

mod methods;
mod protocol;
mod server;
mod socket;

pub(crate) use server::serve;
pub(crate) use socket::{Listener, TEMPORARY_SUFFIX, check_free, listen};
