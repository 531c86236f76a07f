//! What happens in the node: LDK's events turned into state, and a feed for callers.
//!
//! `handle` acts on each event of LDK's; `feed` is the numbered list that the RPC
//! `waitevent` reads; `outbox` holds back what must not be told before it is durable.

mod feed;
mod handle;
mod outbox;

pub(crate) use feed::Feed;
pub(crate) use handle::{end_lost_payments, handle};
pub(crate) use outbox::Outbox;
