//! What a node can be asked, once it runs.

use super::{
    Balance, Capabilities, Capability, Channel, Close, Error, GraphChannel, Info, Invoice,
    InvoiceRequest, Node, NodeId, OpenChannel, PayLimits, Payment, PaymentHash, PaymentRecord,
    Peer, Result,
};
use crate::Msat;
use crate::amount::grouped;
use crate::host::{Mark, Process, Step, Wait, settings};
use bitcoin::{Address, OutPoint};
use serde_json::Value;

/// Calls that the running daemon answers.
impl Node {
    /// Who it is and what it sees of the chain.
    pub fn info(&self) -> Result<Info> {
        self.ask(|client| client.info())
    }

    /// What its implementation can do in the version that runs.
    pub fn capabilities(&self) -> Capabilities {
        let program = self.launch().program.clone();
        self.kind().capabilities(&program)
    }

    /// `Ok` if it can do that, else the error that turns a matrix cell into a skip.
    pub fn require(&self, capability: Capability) -> Result<()> {
        if self.capabilities().has(capability) {
            return Ok(());
        }
        Err(Error::Unsupported {
            node: self.title(),
            implementation: self.kind().name(),
            capability,
        })
    }

    /// Connects to another node (BOLT 1, `init` exchanged).
    pub fn connect(&self, peer: &Node) -> Result<()> {
        let address = peer.peer_address();
        self.note(format!("connects to {}", peer.name()));
        self.ask(|client| client.connect(&address))
    }

    /// Ends the connection to another node.
    pub fn disconnect(&self, peer: &Node) -> Result<()> {
        let id = peer.id();
        self.journal().disturb();
        self.note(format!("disconnects from {}", peer.name()));
        self.ask(|client| client.disconnect(&id))
    }

    /// The peers connected now.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        self.ask(|client| client.peers())
    }

    /// A new address of its on-chain wallet.
    pub fn fund_address(&self) -> Result<Address> {
        self.ask(|client| client.fund_address())
    }

    /// What it owns, on chain and in channels.
    pub fn balance(&self) -> Result<Balance> {
        self.ask(|client| client.balance())
    }

    /// Opens a channel and returns once its funding transaction was published: the channel is
    /// usable after confirmations. [`Lab::open`](crate::lab::Lab::open) does all of it.
    pub fn open(&self, channel: &OpenChannel) -> Result<OutPoint> {
        if channel.peer == self.id() {
            return Err(self.invalid("a channel needs two nodes, and the peer is the node itself"));
        }
        if Msat::from(channel.capacity) < channel.push {
            let problem = format!(
                "cannot push {} in a channel of {}",
                channel.push, channel.capacity
            );
            return Err(self.invalid(&problem));
        }
        let funding = self.ask(|client| client.open(channel))?;
        self.note(format!(
            "opens a channel of {} sat to {}: {funding}",
            grouped(channel.capacity.to_sat()),
            channel.peer
        ));
        Ok(funding)
    }

    /// Its channels.
    pub fn channels(&self) -> Result<Vec<Channel>> {
        self.ask(|client| client.channels())
    }

    /// Its channel with this funding output, while it has one.
    pub fn channel(&self, funding: &OutPoint) -> Result<Option<Channel>> {
        let channels = self.channels()?;
        Ok(channels
            .into_iter()
            .find(|channel| channel.funding == *funding))
    }

    /// Its one channel with this peer; with none, or several, an error that says so.
    pub fn channel_with(&self, peer: &Node) -> Result<Channel> {
        let id = peer.id();
        let mut channels = self.channels()?;
        channels.retain(|channel| channel.peer == id);
        match channels.len() {
            1 => Ok(channels.remove(0)),
            count => {
                let problem = format!("it has {count} channels with {} and not one", peer.name());
                Err(self.invalid(&problem))
            }
        }
    }

    /// Waits until all its channels are usable, as after a restart of either side.
    pub fn wait_usable(&self) -> Result<()> {
        self.wait_until("all its channels to be usable", |node| {
            let channels = node.channels()?;
            let waiting = channels.iter().find(|channel| !channel.is_usable());
            Ok(match waiting {
                None => Step::Done(()),
                Some(channel) => Step::NotYet(format!("{} is {}", channel.funding, channel.state)),
            })
        })
    }

    /// Waits until none of its channels has an HTLC pending.
    pub fn settle(&self) -> Result<()> {
        self.wait_until("its HTLCs to be settled", |node| {
            let pending: usize = node.channels()?.iter().map(|c| c.pending_htlcs).sum();
            Ok(match pending {
                0 => Step::Done(()),
                some => Step::NotYet(format!("{some} HTLCs pending")),
            })
        })
    }

    /// Waits for a line of its log that matches this regular expression, from `mark` on: take
    /// `node.log().mark()?` before what will write the line.
    pub fn wait_for_log(&self, mark: Mark, pattern: &str) -> Result<String> {
        let timeout = settings()?.timeout;
        Ok(self
            .log()
            .wait_for(mark, pattern, timeout, &self.process()?)?)
    }

    /// Starts to close a channel; blocks confirm it.
    pub fn close(&self, funding: &OutPoint, how: Close) -> Result<()> {
        self.note(format!("closes {funding}: {how:?}"));
        self.ask(|client| client.close(funding, how))
    }

    /// Makes an invoice (BOLT 11) for this amount, good for an hour.
    pub fn invoice(&self, amount: Msat, description: &str) -> Result<Invoice> {
        self.invoice_with(&InvoiceRequest::new(amount, description))
    }

    /// Makes any invoice.
    pub fn invoice_with(&self, request: &InvoiceRequest) -> Result<Invoice> {
        self.ask(|client| client.invoice(request))
    }

    /// The payment hash and the amount of an invoice, as the daemon reads it.
    pub fn decode(&self, invoice: &str) -> Result<(PaymentHash, Option<Msat>)> {
        self.ask(|client| client.decode(invoice))
    }

    /// Pays an invoice and returns once it is settled; a payment that fails is
    /// [`Error::PaymentFailed`].
    pub fn pay(&self, invoice: &Invoice) -> Result<Payment> {
        self.pay_with(invoice, &self.limits()?)
    }

    /// Pays an invoice within these limits.
    pub fn pay_with(&self, invoice: &Invoice, limits: &PayLimits) -> Result<Payment> {
        let hash = invoice.payment_hash();
        self.note(format!(
            "pays {} to {}",
            amount_words(invoice.amount().or(limits.amount)),
            hash
        ));
        let paid = self.ask(|client| client.pay(invoice, limits));
        self.note(paid_words(&paid));
        paid.map_err(|error| with_hash(error, hash))
    }

    /// Pays a node that asked for nothing (bLIP 3).
    pub fn keysend(&self, to: &Node, amount: Msat) -> Result<Payment> {
        self.require(Capability::Keysend)?;
        self.note(format!("sends {amount} to {} by keysend", to.name()));
        let (to, limits) = (to.id(), self.limits()?);
        let paid = self.ask(|client| client.keysend(&to, amount, &limits));
        self.note(paid_words(&paid));
        paid
    }

    /// Its payments, both ways, oldest first.
    pub fn payments(&self) -> Result<Vec<PaymentRecord>> {
        self.ask(|client| client.payments())
    }

    /// The channels that it knows from gossip.
    pub fn graph(&self) -> Result<Vec<GraphChannel>> {
        self.ask(|client| client.graph())
    }

    /// Whether it finds a route now.
    pub fn can_route(&self, to: &NodeId, amount: Msat) -> Result<bool> {
        self.ask(|client| client.can_route(to, amount))
    }

    /// Any method of the daemon's own RPC.
    pub fn rpc(&self, method: &str, params: Value) -> Result<Value> {
        self.ask(|client| client.call(method, params))
    }

    /// Looks at the node again after everything that happens in it, until `look` is satisfied.
    /// The label completes "waited for …".
    pub fn wait_until<T>(
        &self,
        label: &str,
        look: impl FnMut(&Node) -> Result<Step<T>>,
    ) -> Result<T> {
        self.wait_watching(label, &[], look)
    }

    /// [`wait_until`](Node::wait_until), ended also by the death of these processes.
    pub(crate) fn wait_watching<T>(
        &self,
        label: &str,
        others: &[Process],
        mut look: impl FnMut(&Node) -> Result<Step<T>>,
    ) -> Result<T> {
        let client = self.client()?;
        let mut failed = None;
        let wait = Wait::for_(format!("{}: {label}", self.title())).watching(&self.process()?);
        let found = others.iter().fold(wait, Wait::watching).until_pulsed(
            || match look(self) {
                Ok(step) => step,
                Err(error) => Step::Never(failed.insert(error).to_string()),
            },
            |longest| client.wait_activity(longest),
        );
        match failed {
            Some(error) => Err(error),
            None => Ok(found?),
        }
    }

    fn limits(&self) -> Result<PayLimits> {
        Ok(PayLimits {
            amount: None,
            max_fee: None,
            timeout: settings()?.timeout,
        })
    }
}

fn amount_words(amount: Option<Msat>) -> String {
    amount.map_or_else(|| "no amount".to_owned(), |amount| amount.to_string())
}

fn paid_words(paid: &Result<Payment>) -> String {
    match paid {
        Ok(payment) => format!("has paid {} with a fee of {}", payment.amount, payment.fee),
        Err(Error::PaymentFailed { reason, .. }) => format!("has not paid: {reason}"),
        Err(_) => "has not paid".to_owned(),
    }
}

fn with_hash(error: Error, payment: PaymentHash) -> Error {
    match error {
        Error::PaymentFailed {
            node,
            hash: None,
            reason,
            detail,
            log,
        } => Error::PaymentFailed {
            node,
            hash: Some(payment),
            reason,
            detail,
            log,
        },
        other => other,
    }
}
