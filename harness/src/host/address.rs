//! The block of loopback addresses that a lab leases, and the ports that daemons listen on in it.
//!
//! On Linux all of 127.0.0.0/8 is loopback. Each lab leases a block `127.L.L.0/24`, and each of its
//! daemons gets an address of its own there, always at the same ports: nothing is allocated,
//! nothing collides, and a log that names an address names a daemon. The lease is a UDP socket
//! bound to the block's first address, held by the lab's keeper until all of the lab is gone: the
//! kernel frees it, whatever happens, and it holds for all users of one network namespace.
//!
//! The ports are ours alone and lie below the ephemeral range. The daemons' usual ones (9735,
//! 10009, 18443, 18444) would be taken by any wildcard listener that a user has running.
use std::{fmt, net::Ipv4Addr};

/// The UDP port on a block's first address whose socket is the lease.
pub const LEASE_PORT: u16 = 23_700;
/// Where a daemon listens for its peers (BOLT 8, or bitcoind's P2P).
pub const PEER_PORT: u16 = 23_701;
/// Where a daemon listens for RPC calls.
pub const RPC_PORT: u16 = 23_702;
/// Where a daemon serves REST.
pub const REST_PORT: u16 = 23_703;
/// Where bitcoind publishes blocks over ZMQ.
pub const ZMQ_BLOCK_PORT: u16 = 23_704;
/// Where bitcoind publishes transactions over ZMQ.
pub const ZMQ_TX_PORT: u16 = 23_705;

/// `127.L.L.0/24`, leased for one lab: every daemon gets an address of its own in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    pub(crate) high: u8,
    pub(crate) low: u8,
}

impl Block {
    /// How many blocks there are: 127.1.0.0/24 to 127.254.255.0/24. 127.0.0.0/24 is everybody's.
    pub(crate) const COUNT: u32 = 254 * 256;

    /// The block with this number, counted round and round.
    pub(crate) fn nth(index: u32) -> Block {
        let [_, _, high, low] = (index % Block::COUNT).to_be_bytes();
        Block {
            high: high + 1,
            low,
        }
    }

    /// The block's `host`-th address, `1..=254`; the first one holds the lease itself.
    pub fn address(self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.high, self.low, host)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "127.{}.{}.0/24", self.high, self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_run_from_127_1_0_to_127_254_255_and_never_touch_127_0() {
        assert_eq!(Block::nth(0).to_string(), "127.1.0.0/24");
        assert_eq!(Block::nth(255).to_string(), "127.1.255.0/24");
        assert_eq!(Block::nth(256).to_string(), "127.2.0.0/24");
        assert_eq!(Block::nth(Block::COUNT - 1).to_string(), "127.254.255.0/24");
        assert_eq!(Block::nth(Block::COUNT).to_string(), "127.1.0.0/24");
    }

    #[test]
    fn ports_lie_below_the_ephemeral_range() {
        for port in [
            LEASE_PORT,
            PEER_PORT,
            RPC_PORT,
            REST_PORT,
            ZMQ_BLOCK_PORT,
            ZMQ_TX_PORT,
        ] {
            assert!((1024..32768).contains(&port));
        }
    }
}
