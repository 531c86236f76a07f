//! Shapes of networks: nodes, and channels between them, usable when they are handed out.

use super::{Error, Lab, Result};
use crate::Msat;
use crate::node::{Kind, Node, NodeOptions, ldk};
use bitcoin::{Amount, OutPoint};

/// A channel to be opened from one node of a shape to another, by their places in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) capacity: Option<Amount>,
    pub(super) push: Option<Msat>,
}

impl Edge {
    /// From the node at this place, who funds it, to the one at that.
    pub fn new(from: usize, to: usize) -> Edge {
        Edge {
            from,
            to,
            capacity: None,
            push: None,
        }
    }

    /// Of this capacity, instead of the shape's.
    #[must_use]
    pub fn capacity(mut self, capacity: Amount) -> Edge {
        self.capacity = Some(capacity);
        self
    }

    /// With so much of it on the far side from the start, instead of the shape's.
    #[must_use]
    pub fn push(mut self, push: Msat) -> Edge {
        self.push = Some(push);
        self
    }
}

impl From<(usize, usize)> for Edge {
    fn from((from, to): (usize, usize)) -> Edge {
        Edge::new(from, to)
    }
}

/// A network being described: [`Lab::topology`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Topology<'lab> {
    pub(super) lab: &'lab Lab,
    pub(super) capacity: Amount,
    pub(super) push: Msat,
    pub(super) announced: bool,
    kind: Kind,
    kinds: Vec<Kind>,
    common: NodeOptions,
    options: Vec<NodeOptions>,
}

impl<'lab> Topology<'lab> {
    /// The capacity of every channel (default: 1,000,000 sat).
    pub fn capacity(mut self, capacity: Amount) -> Self {
        self.capacity = capacity;
        self
    }

    /// What the funder of every channel gives to its peer from the start (default: nothing).
    pub fn push(mut self, push: Msat) -> Self {
        self.push = push;
        self
    }

    /// Announces the channels, and returns only when every node has heard of every one of them
    /// with both ends' policies: six confirmations and gossip (BOLT 7).
    pub fn announced(mut self) -> Self {
        self.announced = true;
        self
    }

    /// The implementation of all nodes (default: the embedded LDK node).
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The implementations of the first nodes, in order.
    pub fn kinds(mut self, kinds: &[Kind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    /// The options of all nodes.
    pub fn common_options(mut self, options: NodeOptions) -> Self {
        self.common = options;
        self
    }

    /// The options of the first nodes, in order, instead of the common ones.
    pub fn options(mut self, options: &[NodeOptions]) -> Self {
        self.options = options.to_vec();
        self
    }

    /// `N` nodes in a row, a channel from each to the next.
    pub fn line<const N: usize>(&self) -> Result<[Node; N]> {
        array(self.line_of(N)?)
    }

    /// A hub and `N - 1` spokes, a channel from the hub to each spoke; the hub comes first.
    pub fn star<const N: usize>(&self) -> Result<[Node; N]> {
        array(self.star_of(N)?)
    }

    /// `N` nodes in a row, and a channel from the last to the first.
    pub fn ring<const N: usize>(&self) -> Result<[Node; N]> {
        array(self.ring_of(N)?)
    }

    /// `N` nodes with a channel between every two, from the earlier to the later.
    pub fn mesh<const N: usize>(&self) -> Result<[Node; N]> {
        array(self.mesh_of(N)?)
    }

    /// `N` nodes with these channels.
    pub fn graph<const N: usize, E>(&self, edges: impl IntoIterator<Item = E>) -> Result<[Node; N]>
    where
        E: Into<Edge>,
    {
        array(self.graph_of(N, edges)?)
    }

    /// [`line`](Topology::line) of a number known at run time.
    pub fn line_of(&self, nodes: usize) -> Result<Vec<Node>> {
        self.graph_of(nodes, (1..nodes).map(|to| (to - 1, to)))
    }

    /// [`star`](Topology::star) of a number known at run time.
    pub fn star_of(&self, nodes: usize) -> Result<Vec<Node>> {
        self.graph_of(nodes, (1..nodes).map(|to| (0, to)))
    }

    /// [`ring`](Topology::ring) of a number known at run time.
    pub fn ring_of(&self, nodes: usize) -> Result<Vec<Node>> {
        if nodes < 3 {
            return Err(Error::Invalid(format!(
                "a ring has at least 3 nodes, not {nodes}"
            )));
        }
        self.graph_of(nodes, (0..nodes).map(|from| (from, (from + 1) % nodes)))
    }

    /// [`mesh`](Topology::mesh) of a number known at run time.
    pub fn mesh_of(&self, nodes: usize) -> Result<Vec<Node>> {
        let edges = (0..nodes).flat_map(|from| (from + 1..nodes).map(move |to| (from, to)));
        self.graph_of(nodes, edges)
    }

    /// [`graph`](Topology::graph) of a number known at run time.
    pub fn graph_of<E: Into<Edge>>(
        &self,
        nodes: usize,
        edges: impl IntoIterator<Item = E>,
    ) -> Result<Vec<Node>> {
        let edges: Vec<Edge> = edges.into_iter().map(Into::into).collect();
        for edge in &edges {
            self.check(edge, nodes)?;
        }
        let wanted: Vec<(Kind, NodeOptions)> = (0..nodes)
            .map(|place| {
                let kind = self.kinds.get(place).copied().unwrap_or(self.kind);
                let options = self.options.get(place).unwrap_or(&self.common);
                (kind, options.clone())
            })
            .collect();
        let nodes = self.lab.start_list(&wanted)?;
        self.open_all(&nodes, &edges)?;
        Ok(nodes)
    }

    /// Opens such channels between nodes that stand already, by their places in `nodes`; their
    /// funding outputs, in the order of the edges.
    pub fn open<E: Into<Edge>>(
        &self,
        nodes: &[Node],
        edges: impl IntoIterator<Item = E>,
    ) -> Result<Vec<OutPoint>> {
        let edges: Vec<Edge> = edges.into_iter().map(Into::into).collect();
        for edge in &edges {
            self.check(edge, nodes.len())?;
        }
        let own = self.lab.all_nodes();
        if let Some(stranger) = nodes.iter().find(|node| !own.contains(node)) {
            let name = stranger.title();
            return Err(Error::Invalid(format!(
                "{name} is a node of another lab, on another chain: no channel can reach it"
            )));
        }
        self.open_all(nodes, &edges)
    }

    /// What would make a daemon refuse later and less clearly.
    fn check(&self, edge: &Edge, nodes: usize) -> Result<()> {
        let (capacity, push) = self.terms(edge);
        let problem = if edge.from >= nodes || edge.to >= nodes {
            format!("there are {nodes} nodes, counted from 0")
        } else if edge.from == edge.to {
            "a channel needs two nodes".to_owned()
        } else if capacity == Amount::ZERO {
            "a channel needs a capacity".to_owned()
        } else if capacity > Amount::MAX_MONEY {
            format!("there are never as many bitcoins as {capacity}")
        } else if push > Msat::from(capacity) {
            format!("cannot push {push} of {capacity}")
        } else {
            return Ok(());
        };
        let (from, to) = (edge.from, edge.to);
        Err(Error::Invalid(format!("channel {from} → {to}: {problem}")))
    }

    /// Capacity and push of one channel.
    pub(super) fn terms(&self, edge: &Edge) -> (Amount, Msat) {
        (
            edge.capacity.unwrap_or(self.capacity),
            edge.push.unwrap_or(self.push),
        )
    }
}

impl Lab {
    /// A network with options; see the shapes there.
    pub fn topology(&self) -> Topology<'_> {
        Topology {
            lab: self,
            capacity: Amount::from_sat(1_000_000),
            push: Msat::ZERO,
            announced: false,
            kind: &ldk::Ldk,
            kinds: Vec::new(),
            common: NodeOptions::default(),
            options: Vec::new(),
        }
    }

    /// `N` nodes in a row with channels of this capacity, usable: what most tests need.
    pub fn line<const N: usize>(&self, capacity: Amount) -> Result<[Node; N]> {
        self.topology().capacity(capacity).line()
    }

    /// A hub and `N - 1` spokes with channels of this capacity; the hub comes first.
    pub fn star<const N: usize>(&self, capacity: Amount) -> Result<[Node; N]> {
        self.topology().capacity(capacity).star()
    }

    /// `N` nodes in a ring with channels of this capacity.
    pub fn ring<const N: usize>(&self, capacity: Amount) -> Result<[Node; N]> {
        self.topology().capacity(capacity).ring()
    }

    /// `N` nodes, each with a channel of this capacity to every other.
    pub fn mesh<const N: usize>(&self, capacity: Amount) -> Result<[Node; N]> {
        self.topology().capacity(capacity).mesh()
    }
}

fn array<const N: usize>(nodes: Vec<Node>) -> Result<[Node; N]> {
    <[Node; N]>::try_from(nodes)
        .map_err(|nodes| Error::Invalid(format!("{} nodes for {N} names", nodes.len())))
}
