//! The feerate: one number, from the command line.
//!
//! On regtest there is no fee market to estimate, and a test wants the same transactions
//! every time. Bounds stay wide, so that a peer of another implementation, which may not
//! have an estimate either, is never refused for its feerate.

use lightning::chain::chaininterface::{
    ConfirmationTarget, FEERATE_FLOOR_SATS_PER_KW, FeeEstimator,
};

pub(crate) struct FixedFees {
    sat_per_kw: u32,
}

impl FixedFees {
    pub(crate) fn new(sat_per_kw: u32) -> Self {
        FixedFees { sat_per_kw }
    }

    /// The feerate in the unit of bitcoind's wallet, rounded up.
    pub(crate) fn sat_per_vb(&self) -> f64 {
        f64::from(self.sat_per_kw.saturating_mul(4)) / 1000.0
    }
}

impl FeeEstimator for FixedFees {
    fn get_est_sat_per_1000_weight(&self, target: ConfirmationTarget) -> u32 {
        match target {
            ConfirmationTarget::MinAllowedAnchorChannelRemoteFee
            | ConfirmationTarget::MinAllowedNonAnchorChannelRemoteFee => FEERATE_FLOOR_SATS_PER_KW,
            // Only bounds what a peer may ask for and how dust is counted.
            ConfirmationTarget::MaximumFeeEstimate => self.sat_per_kw.saturating_mul(50),
            _ => self.sat_per_kw,
        }
    }
}
