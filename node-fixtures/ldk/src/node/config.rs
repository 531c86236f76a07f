//! How the node behaves towards its peers.
//!
//! Where this differs from LDK's defaults, a test lab is the reason: the whole capacity may
//! be in flight, private channels forward, channels may be of any size.

use lightning::util::config::{MaxDustHTLCExposure, UserConfig};

use crate::options::Options;

/// The most there can be, and so no limit on a channel's size.
const ALL_BITCOIN_SAT: u64 = 21_000_000 * 100_000_000;
/// BOLT 2's limit. A slot is free only when the HTLC is gone from both commitments, later
/// than its payment has succeeded, so a loop of 30 payments at once needs more than 30.
const MOST_HTLCS: u16 = 483;
/// Room for every HTLC slot of a channel to hold a payment that is dust.
const DUST_LIMIT_MSAT: u64 = 1_000_000_000;

/// The configuration of a node, and of the channels that its peers open.
pub(crate) fn node(options: &Options) -> UserConfig {
    let mut config = UserConfig::default();

    let handshake = &mut config.channel_handshake_config;
    handshake.minimum_depth = options.min_depth;
    handshake.our_to_self_delay = options.to_self_delay;
    handshake.our_htlc_minimum_msat = 1;
    handshake.max_inbound_htlc_value_in_flight_percent_of_channel = 100;
    handshake.our_max_accepted_htlcs = MOST_HTLCS;
    handshake.negotiate_anchors_zero_fee_htlc_tx = options.anchors;
    handshake.announce_for_forwarding = false;

    let limits = &mut config.channel_handshake_limits;
    limits.max_funding_satoshis = ALL_BITCOIN_SAT;
    // Both public and private channels are welcome.
    limits.force_announced_channel_preference = false;

    let channel = &mut config.channel_config;
    channel.forwarding_fee_base_msat = options.fee_base_msat;
    channel.forwarding_fee_proportional_millionths = options.fee_proportional_millionths;
    channel.cltv_expiry_delta = options.cltv_delta;
    channel.max_dust_htlc_exposure = MaxDustHTLCExposure::FixedLimitMsat(DUST_LIMIT_MSAT);

    config.accept_forwards_to_priv_channels = true;
    // LDK takes anchor channels only from a node that accepts each by hand, since they need
    // a reserve of coins to bump with.
    config.manually_accept_inbound_channels = options.anchors;
    config
}

/// The configuration of a channel that this node opens.
pub(crate) fn channel(options: &Options, announced: bool) -> UserConfig {
    let mut config = node(options);
    config.channel_handshake_config.announce_for_forwarding = announced;
    config
}
