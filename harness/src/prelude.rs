//! What a test imports: `use boltwright::prelude::*;`.

pub use crate::Msat;
pub use crate::host::Step;
pub use crate::lab::Edge;
pub use crate::lab::Lab;
pub use crate::node::{
    Capability, Close, FailureReason, InvoiceRequest, Kind, LogLevel, Node, NodeOptions,
    OpenChannel, PayLimits,
};
pub use bitcoin::Amount;

/// What a test returns: any error, told as it is.
pub type Result<T = (), E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
