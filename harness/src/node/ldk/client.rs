//! The dozen calls in the words of the embedded node's JSON-RPC (`node-fixtures/ldk/README.md`).

use super::rpc::{Rpc, failure};
use crate::Msat;
use crate::node::{
    Balance, Channel, ChannelState, Client, Close, Failure, FailureReason, GraphChannel, Info,
    Invoice, InvoiceRequest, NodeId, OpenChannel, PayLimits, Payment, PaymentHash, PaymentRecord,
    PaymentStatus, Peer, PeerAddress,
};
use bitcoin::address::{Address, NetworkUnchecked};
use bitcoin::{Amount, BlockHash, Network, OutPoint, Txid};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A connection to one embedded LDK node.
#[derive(Debug)]
pub(super) struct LdkClient {
    rpc: Rpc,
    /// The sequence number of the last event seen.
    seen: AtomicU64,
}

impl LdkClient {
    pub fn connect(socket: &Path) -> Result<LdkClient, Failure> {
        Ok(LdkClient {
            rpc: Rpc::connect(socket)?,
            seen: AtomicU64::new(0),
        })
    }

    /// A call whose answer has this shape.
    fn get<T: for<'a> Deserialize<'a>>(&self, method: &str, params: Value) -> Result<T, Failure> {
        let answer = self.rpc.call(method, params.clone())?;
        read(method, &params, answer)
    }

    fn channel_id(&self, funding: &OutPoint) -> Result<String, Failure> {
        let channels: Channels = self.get("listchannels", json!({}))?;
        channels
            .channels
            .into_iter()
            .find(|channel| channel.funding() == Some(*funding))
            .map(|channel| channel.channel_id)
            .ok_or_else(|| {
                let problem = format!("the node has no channel with funding {funding}");
                failure("listchannels", &json!({}), problem, false)
            })
    }

    fn payment(&self, method: &str, params: Value, longest: Duration) -> Result<Payment, Failure> {
        let answer = self.rpc.call_within(method, params.clone(), longest)?;
        let paid: Paid = read(method, &params, answer)?;
        Ok(Payment {
            hash: parsed(method, &params, &paid.payment_hash)?,
            preimage: parsed(method, &params, &paid.preimage)?,
            amount: Msat::new(paid.amount_msat),
            fee: Msat::new(paid.fee_msat),
        })
    }
}

impl Client for LdkClient {
    fn info(&self) -> Result<Info, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            id: NodeId,
            alias: String,
            version: String,
            block_height: u32,
            block_hash: BlockHash,
        }
        let answer: Answer = self.get("getinfo", json!({}))?;
        Ok(Info {
            id: answer.id,
            alias: answer.alias,
            version: answer.version,
            height: answer.block_height,
            tip: Some(answer.block_hash),
        })
    }

    fn connect(&self, peer: &PeerAddress) -> Result<(), Failure> {
        let params = json!({"id": peer.id, "address": peer.address.to_string()});
        self.rpc.call("connect", params).map(drop)
    }

    fn disconnect(&self, peer: &NodeId) -> Result<(), Failure> {
        self.rpc.call("disconnect", json!({"id": peer})).map(drop)
    }

    fn peers(&self) -> Result<Vec<Peer>, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            peers: Vec<Line>,
        }
        #[derive(Deserialize)]
        struct Line {
            id: NodeId,
            address: Option<String>,
        }
        let answer: Answer = self.get("listpeers", json!({}))?;
        let peer = |line: Line| Peer {
            id: line.id,
            address: line.address,
        };
        Ok(answer.peers.into_iter().map(peer).collect())
    }

    fn fund_address(&self) -> Result<Address, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            address: Address<NetworkUnchecked>,
        }
        let answer: Answer = self.get("newaddress", json!({}))?;
        answer
            .address
            .require_network(Network::Regtest)
            .map_err(|error| failure("newaddress", &json!({}), error.to_string(), false))
    }

    fn balance(&self) -> Result<Balance, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            onchain_confirmed_sat: u64,
            onchain_unconfirmed_sat: u64,
            lightning_msat: u64,
            sweeping_sat: u64,
        }
        let answer: Answer = self.get("balance", json!({}))?;
        Ok(Balance {
            confirmed: Amount::from_sat(answer.onchain_confirmed_sat),
            unconfirmed: Amount::from_sat(answer.onchain_unconfirmed_sat),
            channels: Msat::new(answer.lightning_msat),
            sweeping: Amount::from_sat(answer.sweeping_sat),
        })
    }

    fn open(&self, channel: &OpenChannel) -> Result<OutPoint, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            funding_txid: Txid,
            funding_vout: u32,
        }
        let answer: Answer = self.get(
            "openchannel",
            json!({
                "id": channel.peer,
                "capacity_sat": channel.capacity.to_sat(),
                "push_msat": channel.push.to_msat(),
                "announced": channel.announced,
            }),
        )?;
        Ok(OutPoint::new(answer.funding_txid, answer.funding_vout))
    }

    fn channels(&self) -> Result<Vec<Channel>, Failure> {
        let answer: Channels = self.get("listchannels", json!({}))?;
        Ok(answer
            .channels
            .into_iter()
            .filter_map(ChannelLine::into_channel)
            .collect())
    }

    fn close(&self, channel: &OutPoint, how: Close) -> Result<(), Failure> {
        let channel_id = self.channel_id(channel)?;
        let params = json!({"channel_id": channel_id, "force": how == Close::Force});
        self.rpc.call("closechannel", params).map(drop)
    }

    fn invoice(&self, request: &InvoiceRequest) -> Result<Invoice, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            invoice: String,
        }
        let params = json!({
            "amount_msat": request.amount.map(Msat::to_msat),
            "description": request.description,
            "expiry_seconds": request.expiry.as_secs(),
        });
        let answer: Answer = self.get("invoice", params.clone())?;
        parsed("invoice", &params, &answer.invoice)
    }

    fn decode(&self, invoice: &str) -> Result<(PaymentHash, Option<Msat>), Failure> {
        #[derive(Deserialize)]
        struct Answer {
            payment_hash: String,
            amount_msat: Option<u64>,
        }
        let params = json!({"invoice": invoice});
        let answer: Answer = self.get("decodeinvoice", params.clone())?;
        let hash = parsed("decodeinvoice", &params, &answer.payment_hash)?;
        Ok((hash, answer.amount_msat.map(Msat::new)))
    }

    fn pay(&self, invoice: &Invoice, limits: &PayLimits) -> Result<Payment, Failure> {
        let mut params = limits_json(limits);
        params["invoice"] = json!(invoice.to_string());
        if let Some(amount) = limits.amount {
            params["amount_msat"] = json!(amount.to_msat());
        }
        self.payment("pay", params, limits.timeout)
    }

    fn keysend(&self, to: &NodeId, amount: Msat, limits: &PayLimits) -> Result<Payment, Failure> {
        let mut params = limits_json(limits);
        params["id"] = json!(to);
        params["amount_msat"] = json!(amount.to_msat());
        self.payment("keysend", params, limits.timeout)
    }

    fn payments(&self) -> Result<Vec<PaymentRecord>, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            payments: Vec<Line>,
        }
        #[derive(Deserialize)]
        struct Line {
            payment_hash: String,
            direction: String,
            amount_msat: Option<u64>,
            fee_msat: Option<u64>,
            status: String,
            preimage: Option<String>,
        }
        let params = json!({});
        let answer: Answer = self.get("listpayments", params.clone())?;
        let record = |line: Line| {
            Ok(PaymentRecord {
                hash: parsed("listpayments", &params, &line.payment_hash)?,
                outgoing: line.direction == "outgoing",
                amount: line.amount_msat.map(Msat::new),
                fee: line.fee_msat.map(Msat::new),
                status: match line.status.as_str() {
                    "pending" => PaymentStatus::Pending,
                    "succeeded" => PaymentStatus::Succeeded,
                    "failed" => PaymentStatus::Failed,
                    other => {
                        let problem = format!("status {other:?} is none of the three");
                        return Err(failure("listpayments", &params, problem, false));
                    }
                },
                preimage: line
                    .preimage
                    .map(|text| parsed("listpayments", &params, &text))
                    .transpose()?,
            })
        };
        answer.payments.into_iter().map(record).collect()
    }

    fn graph(&self) -> Result<Vec<GraphChannel>, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            channels: Vec<Line>,
        }
        #[derive(Deserialize)]
        struct Line {
            scid: String,
            node_one: NodeId,
            node_two: NodeId,
            both_directions: bool,
        }
        let answer: Answer = self.get("graph", json!({}))?;
        let channel = |line: Line| GraphChannel {
            scid: line.scid,
            ends: [line.node_one, line.node_two],
            both_directions: line.both_directions,
        };
        Ok(answer.channels.into_iter().map(channel).collect())
    }

    fn can_route(&self, to: &NodeId, amount: Msat) -> Result<bool, Failure> {
        let params = json!({"id": to, "amount_msat": amount.to_msat()});
        match self.rpc.call("findroute", params) {
            Ok(_) => Ok(true),
            Err(failure) if failure.payment == Some(FailureReason::NoRoute) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn stop(&self) -> Result<(), Failure> {
        self.rpc.call("stop", json!({})).map(drop)
    }

    fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        // A raw call may be one that waits; the harness's own deadline ends it by killing the node.
        let longest = Duration::from_secs(3600);
        self.rpc.call_within(method, params, longest)
    }

    fn wait_tip(&self, tip: &BlockHash, timeout: Duration) -> Result<bool, Failure> {
        let params = json!({"hash": tip, "timeout_ms": millis(timeout)});
        self.rpc.call_within("waittip", params, timeout)?;
        Ok(true)
    }

    fn wait_activity(&self, timeout: Duration) -> bool {
        #[derive(Deserialize)]
        struct Answer {
            last: u64,
        }
        let params = json!({
            "after": self.seen.load(Ordering::Relaxed),
            "timeout_ms": millis(timeout),
        });
        let answer = self
            .rpc
            .call_within("waitevent", params.clone(), timeout)
            .and_then(|answer| read::<Answer>("waitevent", &params, answer));
        match answer {
            Ok(answer) => {
                self.seen.fetch_max(answer.last, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }
}

#[derive(Deserialize)]
struct Paid {
    payment_hash: String,
    preimage: String,
    amount_msat: u64,
    fee_msat: u64,
}

#[derive(Deserialize)]
struct Channels {
    channels: Vec<ChannelLine>,
}

#[derive(Deserialize)]
struct ChannelLine {
    channel_id: String,
    funding_txid: Option<Txid>,
    funding_vout: Option<u32>,
    scid: Option<String>,
    peer_id: NodeId,
    announced: bool,
    capacity_sat: u64,
    local_msat: u64,
    remote_msat: u64,
    outbound_msat: u64,
    inbound_msat: u64,
    ready: bool,
    usable: bool,
    pending_htlcs: usize,
    closing: bool,
}

impl ChannelLine {
    fn funding(&self) -> Option<OutPoint> {
        Some(OutPoint::new(self.funding_txid?, self.funding_vout?))
    }

    /// `None` while it is still being negotiated and has no funding to be known by.
    fn into_channel(self) -> Option<Channel> {
        let funding = self.funding()?;
        let state = match (self.closing, self.usable, self.ready) {
            (true, _, _) => ChannelState::Closing,
            (_, true, _) => ChannelState::Usable,
            (_, _, true) => ChannelState::Inactive,
            _ => ChannelState::Opening,
        };
        Some(Channel {
            funding,
            scid: self.scid,
            peer: self.peer_id,
            state,
            capacity: Amount::from_sat(self.capacity_sat),
            local: Msat::new(self.local_msat),
            remote: Msat::new(self.remote_msat),
            sendable: Msat::new(self.outbound_msat),
            receivable: Msat::new(self.inbound_msat),
            announced: self.announced,
            pending_htlcs: self.pending_htlcs,
        })
    }
}

/// Why a payment failed, from the error that the daemon sent: `data.reason`.
pub(super) fn payment_failure(error: &Value) -> Option<FailureReason> {
    Some(match error["data"]["reason"].as_str()? {
        "incorrect_or_unknown_payment_details" => FailureReason::UnknownPaymentDetails,
        "no_route" => FailureReason::NoRoute,
        "invoice_expired" => FailureReason::InvoiceExpired,
        "already_paid" | "under_way" => FailureReason::AlreadyPaid,
        "timed_out" => FailureReason::TimedOut,
        other => FailureReason::Other(other.to_owned()),
    })
}

fn limits_json(limits: &PayLimits) -> Value {
    let mut params = json!({"timeout_ms": millis(limits.timeout)});
    if let Some(fee) = limits.max_fee {
        params["max_fee_msat"] = json!(fee.to_msat());
    }
    params
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn read<T: for<'a> Deserialize<'a>>(
    method: &str,
    params: &Value,
    answer: Value,
) -> Result<T, Failure> {
    serde_json::from_value(answer)
        .map_err(|error| failure(method, params, format!("unexpected answer: {error}"), false))
}

fn parsed<T: FromStr<Err = String>>(
    method: &str,
    params: &Value,
    text: &str,
) -> Result<T, Failure> {
    text.parse()
        .map_err(|error: String| failure(method, params, error, false))
}
