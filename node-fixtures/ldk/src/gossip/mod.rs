//! What the node tells the network about itself, and what it knows of the network.
//!
//! `announce` tells the network of this node, `early` keeps gossip that comes before the
//! channel it is about, `view` shows the graph.

mod announce;
mod early;
mod view;

pub(crate) use announce::announce_node;
pub(crate) use early::Gossip;
pub(crate) use view::describe;
