//! What to type, now that the lab is running.

use crate::screen::{self, Paint};
use boltwright::lab::Lab;
use boltwright::node::Node;
use std::fmt::Write as _;

/// The commands to talk to everything, and some to paste.
pub(super) fn text(lab: &Lab, nodes: &[Node], head: &str, paint: Paint) -> String {
    let me = screen::me();
    let mut text = format!("\n{}\n", paint.good(head));
    let mut talk = vec![(
        "bitcoind".to_owned(),
        format!("{me} rpc bitcoind getblockchaininfo"),
    )];
    let own = nodes
        .iter()
        .map(|node| (node.name(), format!("{me} rpc {} getinfo", node.name())));
    talk.extend(own);
    let _ = write!(
        text,
        "\n{}\n{}",
        paint.strong("talk to them, from any terminal"),
        screen::listed(&talk)
    );
    let _ = writeln!(
        text,
        "\n  or with bitcoin-cli:\n  {} getblockchaininfo",
        lab.chain().command_line()
    );
    let _ = write!(
        text,
        "\n{}\n{}",
        paint.strong("try"),
        screen::listed(&tries(&me, nodes))
    );
    let _ = writeln!(text, "\n{}", paint.strong("Ctrl-C ends all of it"));
    text
}

fn tries(me: &str, nodes: &[Node]) -> Vec<(String, String)> {
    let mut tries = vec![
        (
            "mine a block".to_owned(),
            format!("{me} rpc bitcoind generatetodescriptor 1 'raw(51)'"),
        ),
        ("all logs".to_owned(), format!("{me} logs --follow")),
    ];
    if let [payer, .., payee] = nodes {
        let (payer, payee) = (payer.name(), payee.name());
        let invoice = format!("{me} rpc {payee} invoice amount_msat=25000000 description=coffee");
        tries.push(("an invoice".to_owned(), invoice.clone()));
        tries.push((
            "pay one".to_owned(),
            format!("{me} rpc {payer} pay invoice=$({invoice} --get invoice)"),
        ));
        tries.push((
            "the channels".to_owned(),
            format!("{me} rpc {payer} listchannels"),
        ));
    }
    if let Some(node) = nodes.first() {
        tries.push((
            "all methods".to_owned(),
            format!("{me} rpc {} help", node.name()),
        ));
    }
    tries
}
