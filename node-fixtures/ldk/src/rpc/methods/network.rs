//! The network: the graph, and routes through it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::protocol::{Failure, code};
use super::{Answer, Nothing, node_id};
use crate::gossip;
use crate::node::Node;
use crate::payments;

pub(super) fn graph(node: &Node, _: Nothing) -> Answer {
    Ok(gossip::describe(node))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindRoute {
    id: String,
    amount_msat: u64,
}

pub(super) fn findroute(node: &Node, params: &FindRoute) -> Answer {
    let route =
        payments::find_route(node, node_id(&params.id)?, params.amount_msat).map_err(|why| {
            Failure::new(code::PAYMENT, format!("no route: {why}"))
                .with(json!({ "reason": "no_route" }))
        })?;
    let paths: Vec<Value> = route.paths.iter().map(payments::describe_route).collect();
    Ok(json!({
        "amount_msat": route.get_total_amount(),
        "fee_msat": route.get_total_fees(),
        "paths": paths,
    }))
}
