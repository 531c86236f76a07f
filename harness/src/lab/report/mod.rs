//! The failure report: what a person needs to know what happened, without opening a log.
//!
//! The first error; what the end checks found; the timeline's tail; a table of the nodes; the
//! directory, and the commands that show the rest and run it again.

mod names;
mod paint;
mod story;
mod table;

pub use paint::Paint;
pub(super) use story::{held, pause, tell, text};
pub(super) use table::{Row, table};
