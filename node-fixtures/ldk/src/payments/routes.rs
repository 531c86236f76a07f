//! LDK's router, remembering the routes that it found.
//!
//! A payment's success is known before LDK reports which path it took (that waits for the
//! commitment dance to end), and a failed search is reported as a bare "route not found".
//! Both answers are at hand where routes are found, so this wraps that place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bitcoin::secp256k1::{self, PublicKey, Secp256k1};
use lightning::blinded_path::payment::{BlindedPaymentPath, ReceiveTlvs};
use lightning::ln::channel_state::ChannelDetails;
use lightning::ln::channelmanager::PaymentId;
use lightning::routing::router::{
    DefaultRouter, InFlightHtlcs, Path, Route, RouteParameters, Router,
};
use lightning::routing::scoring::{ProbabilisticScorer, ProbabilisticScoringFeeParameters};
use lightning::sign::KeysManager;
use lightning::types::payment::PaymentHash;
use serde_json::{Value, json};

use crate::channels::scid_text;
use crate::log::Log;
use crate::node::Graph;

/// What is learnt about other nodes' channels from payments.
pub(crate) type Scores = ProbabilisticScorer<Arc<Graph>, Arc<Log>>;

/// The same, shared between the router and the events that teach it.
pub(crate) type Scorer = RwLock<Scores>;

type LdkRouter = DefaultRouter<
    Arc<Graph>,
    Arc<Log>,
    Arc<KeysManager>,
    Arc<Scorer>,
    ProbabilisticScoringFeeParameters,
    Scores,
>;

/// The last search for a payment: its paths, or why there are none.
pub(crate) type Search = Result<Vec<Path>, &'static str>;

pub(crate) struct Routes {
    router: LdkRouter,
    searches: Mutex<HashMap<PaymentId, Search>>,
}

impl Routes {
    pub(crate) fn new(
        graph: Arc<Graph>,
        log: Arc<Log>,
        keys: Arc<KeysManager>,
        scorer: Arc<Scorer>,
    ) -> Self {
        Routes {
            router: DefaultRouter::new(
                graph,
                log,
                keys,
                scorer,
                ProbabilisticScoringFeeParameters::default(),
            ),
            searches: Mutex::default(),
        }
    }

    /// Takes what the last search for a payment gave.
    pub(crate) fn take(&self, payment: &PaymentId) -> Option<Search> {
        self.searches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(payment)
    }

    fn remember(&self, payment: PaymentId, found: &Result<Route, &'static str>) {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        match (searches.get_mut(&payment), found) {
            // A retry sends what has failed so far; paths that are under way stay.
            (Some(Ok(paths)), Ok(route)) => paths.extend(route.paths.iter().cloned()),
            (_, Ok(route)) => {
                searches.insert(payment, Ok(route.paths.clone()));
            }
            (Some(Ok(_)), Err(_)) => {}
            (_, Err(why)) => {
                searches.insert(payment, Err(why));
            }
        }
    }

    /// Forgets a path that failed, so that only those that count are left.
    pub(crate) fn failed(&self, payment: &PaymentId, path: &Path) {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(paths)) = searches.get_mut(payment)
            && let Some(at) = paths.iter().position(|known| known == path)
        {
            paths.remove(at);
        }
    }
}

impl Router for Routes {
    fn find_route(
        &self,
        payer: &PublicKey,
        params: &RouteParameters,
        first_hops: Option<&[&ChannelDetails]>,
        in_flight: InFlightHtlcs,
    ) -> Result<Route, &'static str> {
        self.router.find_route(payer, params, first_hops, in_flight)
    }

    fn find_route_with_id(
        &self,
        payer: &PublicKey,
        params: &RouteParameters,
        first_hops: Option<&[&ChannelDetails]>,
        in_flight: InFlightHtlcs,
        _hash: PaymentHash,
        payment: PaymentId,
    ) -> Result<Route, &'static str> {
        let found = self.router.find_route(payer, params, first_hops, in_flight);
        self.remember(payment, &found);
        found
    }

    fn create_blinded_payment_paths<T: secp256k1::Signing + secp256k1::Verification>(
        &self,
        recipient: PublicKey,
        first_hops: Vec<ChannelDetails>,
        tlvs: ReceiveTlvs,
        amount_msats: Option<u64>,
        secp: &Secp256k1<T>,
    ) -> Result<Vec<BlindedPaymentPath>, ()> {
        self.router
            .create_blinded_payment_paths(recipient, first_hops, tlvs, amount_msats, secp)
    }
}

/// A path as results show it: one entry a hop, from the first peer to the payee.
pub(crate) fn describe(path: &Path) -> Value {
    path.hops
        .iter()
        .map(|hop| {
            json!({
                "id": hop.pubkey.to_string(),
                "scid": scid_text(hop.short_channel_id),
                // For the last hop LDK keeps the amount here.
                "fee_or_final_msat": hop.fee_msat,
                "cltv_expiry_delta": hop.cltv_expiry_delta,
            })
        })
        .collect()
}
