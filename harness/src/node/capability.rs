//! What an implementation may be able to do beyond the dozen calls that all have.

use std::fmt;

/// Something that an implementation may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Capability {
    /// Spontaneous payments (bLIP 3).
    Keysend,
    /// Invoices that are held until settled or cancelled by hand.
    HoldInvoice,
    /// Offers (BOLT 12).
    Offers,
    /// Payments in several parts (BOLT 4, `basic_mpp`).
    MultiPart,
    /// Anchor outputs on channels (BOLT 3, `option_anchors`).
    Anchors,
    /// Channels that are usable before their funding is confirmed, with trusted peers.
    ZeroConf,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Keysend => "keysend",
            Capability::HoldInvoice => "hold invoices",
            Capability::Offers => "BOLT 12 offers",
            Capability::MultiPart => "multi-part payments",
            Capability::Anchors => "anchor outputs",
            Capability::ZeroConf => "zero-conf channels",
        })
    }
}

/// The capabilities of an implementation in the version that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities(Vec<Capability>);

impl Capabilities {
    /// These and no others.
    pub fn of(capabilities: &[Capability]) -> Capabilities {
        Capabilities(capabilities.to_vec())
    }

    /// Whether this one is among them.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Capability> + '_ {
        self.0.iter().copied()
    }
}
