//! Opening channels: all of them funded by one transaction, published together, confirmed in one
//! round.

use super::{Edge, Lab, Result, Topology};
use crate::host::{Process, Step};
use crate::node::{self, Channel, Node, OpenChannel};
use bitcoin::{Amount, OutPoint, Txid};
use std::collections::BTreeSet;

/// What a funder gets beyond a channel's capacity, for the funding transaction's fee and what it
/// must keep for fees later (LDK: 25,000 sat for each anchor channel).
const FOR_FEES: Amount = Amount::from_sat(100_000);

/// Blocks after which a channel is told to the network (BOLT 7).
const ANNOUNCEMENT_DEPTH: u32 = 6;

impl Topology<'_> {
    /// Funds, connects, opens, confirms, and waits until both ends of every channel can use it.
    pub(super) fn open_all(&self, nodes: &[Node], edges: &[Edge]) -> Result<Vec<OutPoint>> {
        if edges.is_empty() {
            return Ok(Vec::new());
        }
        self.fund(nodes, edges)?;
        self.introduce(nodes, edges)?;
        let funding = self.publish(nodes, edges)?;
        let transactions: Vec<Txid> = funding.iter().map(|outpoint| outpoint.txid).collect();
        let blocks = if self.announced {
            ANNOUNCEMENT_DEPTH
        } else {
            1
        };
        self.lab.mine_when(&transactions, blocks)?;
        let mut watched = vec![self.lab.chain().process()];
        for node in nodes {
            watched.push(node.process()?);
        }
        for (edge, outpoint) in edges.iter().zip(&funding) {
            for end in [edge.from, edge.to] {
                usable(&nodes[end], outpoint, &watched)?;
            }
        }
        if self.announced {
            gossip(nodes, &funding, &watched)?;
        }
        Ok(funding)
    }

    /// One coin for each channel, all in one transaction of the lab's wallet and one block.
    fn fund(&self, nodes: &[Node], edges: &[Edge]) -> Result<()> {
        let mut outputs = Vec::with_capacity(edges.len());
        for edge in edges {
            let address = nodes[edge.from].fund_address()?;
            outputs.push((address, self.terms(edge).0 + FOR_FEES));
        }
        let txid = self.lab.chain().fund_many(&outputs)?;
        self.lab.mine_when(&[txid], 1)?;
        for place in edges.iter().map(|edge| edge.from).collect::<BTreeSet<_>>() {
            let own = edges.iter().filter(|edge| edge.from == place);
            let needed: Amount = own.map(|edge| self.terms(edge).0).sum();
            let node = &nodes[place];
            node.wait_until("its funds to be confirmed", |node| {
                let confirmed = node.balance()?.confirmed;
                Ok(if confirmed >= needed {
                    Step::Done(())
                } else {
                    Step::NotYet(format!("{confirmed} of {needed}"))
                })
            })?;
        }
        Ok(())
    }

    /// Connects every two peers once, before any channel: two nodes that dial each other at the same
    /// moment each close the other's connection.
    fn introduce(&self, nodes: &[Node], edges: &[Edge]) -> Result<()> {
        let mut met = BTreeSet::new();
        for edge in edges {
            if met.insert((edge.from.min(edge.to), edge.from.max(edge.to))) {
                nodes[edge.from].connect(&nodes[edge.to])?;
            }
        }
        Ok(())
    }

    /// Opens from every funder at once; one funder's channels one after the other, for some
    /// implementations allow only one pending channel with a peer.
    fn publish(&self, nodes: &[Node], edges: &[Edge]) -> Result<Vec<OutPoint>> {
        let funders: BTreeSet<usize> = edges.iter().map(|edge| edge.from).collect();
        let opened: Vec<Result<Vec<(usize, OutPoint)>>> = std::thread::scope(|scope| {
            let work = |funder: usize| {
                scope.spawn(move || {
                    let own = edges.iter().enumerate();
                    own.filter(|(_, edge)| edge.from == funder)
                        .map(|(index, edge)| {
                            let opened = self.open_one(&nodes[edge.from], &nodes[edge.to], edge)?;
                            Ok((index, opened))
                        })
                        .collect()
                })
            };
            let threads: Vec<_> = funders.into_iter().map(work).collect();
            threads
                .into_iter()
                .map(|thread| match thread.join() {
                    Ok(opened) => opened,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        });
        let mut all = opened.into_iter().collect::<Result<Vec<_>>>()?.concat();
        all.sort_by_key(|(index, _)| *index);
        Ok(all.into_iter().map(|(_, outpoint)| outpoint).collect())
    }

    fn open_one(&self, from: &Node, to: &Node, edge: &Edge) -> Result<OutPoint> {
        let (capacity, push) = self.terms(edge);
        Ok(from.open(&OpenChannel {
            peer: to.id(),
            capacity,
            push,
            announced: self.announced,
        })?)
    }
}

impl Lab {
    /// Opens one channel between nodes that stand, confirms it, and waits until both can use it.
    pub fn open(&self, from: &Node, to: &Node, capacity: Amount) -> Result<OutPoint> {
        let nodes = [from.clone(), to.clone()];
        let shape = self.topology().capacity(capacity);
        Ok(shape.open(&nodes, [Edge::new(0, 1)])?[0])
    }
}

/// Waits until this end can use the channel.
fn usable(node: &Node, funding: &OutPoint, watched: &[Process]) -> node::Result<Channel> {
    node.wait_watching(
        &format!("channel {funding} to be usable"),
        watched,
        |node| {
            Ok(match node.channel(funding)? {
                Some(channel) if channel.is_usable() => Step::Done(channel),
                Some(channel) => Step::NotYet(channel.state.to_string()),
                None => Step::NotYet("it knows no such channel".to_owned()),
            })
        },
    )
}

/// Waits until every node knows every channel with both ends' policies.
fn gossip(nodes: &[Node], funding: &[OutPoint], watched: &[Process]) -> Result<()> {
    let mut wanted = BTreeSet::new();
    for node in nodes {
        let channels = node.channels()?;
        let ours = channels
            .into_iter()
            .filter(|c| funding.contains(&c.funding));
        wanted.extend(ours.filter_map(|channel| channel.scid));
    }
    let label = format!("gossip of {} channels", wanted.len());
    for node in nodes {
        node.wait_watching(&label, watched, |node| {
            let known = node
                .graph()?
                .into_iter()
                .filter(|channel| channel.both_directions);
            let known: BTreeSet<String> = known.map(|channel| channel.scid).collect();
            let missing: Vec<&String> = wanted.difference(&known).collect();
            Ok(match missing.as_slice() {
                [] => Step::Done(()),
                some => Step::NotYet(format!("not both directions of {some:?}")),
            })
        })?;
    }
    Ok(())
}
