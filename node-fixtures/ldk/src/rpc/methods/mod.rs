//! What can be asked: one table of methods, one file for each kind.

mod chain;
mod channels;
mod network;
mod payments;
mod peers;
mod process;

use std::str::FromStr as _;
use std::sync::Arc;

use bitcoin::secp256k1::PublicKey;
use serde::Deserialize;
use serde_json::{Value, json};

use super::protocol::{Failure, Request, code};
use crate::node::Node;

type Answer = Result<Value, Failure>;

/// How long `waittip` and `waitevent` wait unless they are told.
const DEFAULT_WAIT_MS: u64 = 30_000;

struct Method {
    name: &'static str,
    params: &'static str,
    about: &'static str,
}

const fn method(name: &'static str, params: &'static str, about: &'static str) -> Method {
    Method {
        name,
        params,
        about,
    }
}

/// Every method, as `help` lists it; a question mark marks a parameter that may be left out.
const METHODS: &[Method] = &[
    method("getinfo", "", "who and where this node is"),
    method(
        "newaddress",
        "",
        "a new address of the node's on-chain wallet",
    ),
    method(
        "balance",
        "",
        "what the node owns on chain, in channels and on its way between them",
    ),
    method(
        "connect",
        "id, address",
        "connects to a peer and keeps the connection",
    ),
    method(
        "disconnect",
        "id",
        "disconnects a peer and does not dial it again until connect",
    ),
    method("listpeers", "", "the connected peers"),
    method(
        "openchannel",
        "id, capacity_sat, push_msat?, announced?",
        "opens a channel; answers when the funding transaction is broadcast",
    ),
    method("listchannels", "", "the open channels"),
    method(
        "closechannel",
        "channel_id, force?",
        "starts to close a channel",
    ),
    method(
        "invoice",
        "amount_msat?, description?, expiry_seconds?",
        "makes a BOLT 11 invoice",
    ),
    method(
        "decodeinvoice",
        "invoice",
        "what stands in a BOLT 11 invoice",
    ),
    method(
        "pay",
        "invoice, amount_msat?, timeout_ms?, max_fee_msat?",
        "pays an invoice; answers at the end",
    ),
    method(
        "keysend",
        "id, amount_msat, timeout_ms?, max_fee_msat?",
        "sends without an invoice; answers at the end",
    ),
    method(
        "listpayments",
        "payment_hash?, latest?",
        "payments sent and received, oldest first",
    ),
    method("graph", "", "the public network as this node knows it"),
    method(
        "findroute",
        "id, amount_msat",
        "the route that a payment sent now would take",
    ),
    method(
        "waittip",
        "hash, timeout_ms?",
        "answers when the node has processed this block as its tip",
    ),
    method(
        "waitevent",
        "after?, timeout_ms?",
        "the events after a sequence number, or the next one",
    ),
    method("help", "", "this list"),
    method("stop", "", "saves everything and ends the process"),
];

/// Carries out a request. Once the node stops, what still waits is told so.
pub(super) async fn call(node: &Arc<Node>, request: Request) -> Answer {
    let mut stop = node.stop.subscribe();
    tokio::select! {
        biased;
        _ = stop.wait_for(Option::is_some) => {
            Err(Failure::new(code::STOPPING, "the node is stopping"))
        }
        answer = dispatch(node, request) => answer,
    }
}

async fn dispatch(node: &Arc<Node>, request: Request) -> Answer {
    match request.method.as_str() {
        "getinfo" => process::getinfo(node, request.params()?),
        "help" => process::help(request.params()?),
        "stop" => process::stop(request.params()?),
        "waitevent" => process::waitevent(node, request.params()?).await,
        "newaddress" => chain::newaddress(node, request.params()?).await,
        "balance" => chain::balance(node, request.params()?).await,
        "waittip" => chain::waittip(node, request.params()?).await,
        "connect" => peers::connect(node, request.params()?).await,
        "disconnect" => peers::disconnect(node, &request.params()?),
        "listpeers" => peers::listpeers(node, request.params()?),
        "openchannel" => channels::openchannel(node, request.params()?).await,
        "listchannels" => channels::listchannels(node, request.params()?),
        "closechannel" => channels::closechannel(node, &request.params()?),
        "invoice" => payments::invoice(node, &request.params()?),
        "decodeinvoice" => payments::decodeinvoice(&request.params()?),
        "pay" => payments::pay(node, request.params()?).await,
        "keysend" => payments::keysend(node, request.params()?).await,
        "listpayments" => payments::listpayments(node, &request.params()?),
        "graph" => network::graph(node, request.params()?),
        "findroute" => network::findroute(node, &request.params()?),
        unknown => Err(Failure::new(
            code::UNKNOWN_METHOD,
            format!("no method {unknown:?}: see help"),
        )),
    }
}

fn list() -> Value {
    METHODS
        .iter()
        .map(|method| {
            json!({
                "method": method.name,
                "params": method.params,
                "about": method.about,
            })
        })
        .collect()
}

/// The parameters of a method that takes none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn node_id(text: &str) -> Result<PublicKey, Failure> {
    PublicKey::from_str(text).map_err(|_| {
        let why = format!("id {text:?} is not a node id: 66 hexadecimal digits of a public key");
        Failure::new(code::INVALID_PARAMS, why)
    })
}

/// Runs something that waits for bitcoind where waiting is allowed.
async fn blocking<T: Send + 'static>(
    node: &Arc<Node>,
    act: impl FnOnce(&Arc<Node>) -> T + Send + 'static,
) -> Result<T, Failure> {
    let node = Arc::clone(node);
    tokio::task::spawn_blocking(move || act(&node))
        .await
        .map_err(|error| Failure::new(code::INTERNAL, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_readme_list_each_method_that_is_served() {
        let mut names: Vec<_> = METHODS.iter().map(|method| method.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);

        // What is dispatched cannot be asked for without a node, so it is read.
        let (_, dispatch) = include_str!("mod.rs")
            .split_once("async fn dispatch(")
            .expect("is here");
        let (arms, _) = dispatch.split_once("unknown => ").expect("has a last arm");
        let mut dispatched: Vec<&str> = arms
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" => "))
            .map(|(name, _)| name)
            .collect();
        dispatched.sort_unstable();
        assert_eq!(dispatched, names);

        let readme = include_str!("../../../README.md");
        for name in names {
            assert!(readme.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
