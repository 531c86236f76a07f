//! What happens in the node: LDK's events turned into state, and a feed for callers.
//!
//! `handle` acts on each event of LDK's, `payment` on those of payments; `feed` is the numbered list that the RPC
//! `waitevent` reads; `outbox` holds back what must not be told before it is durable.

mod feed;
mod handle;
mod outbox;
mod payment;

pub(crate) use feed::Feed;
pub(crate) use handle::handle;
pub(crate) use outbox::Outbox;
pub(crate) use payment::end_lost_payments;
