//! Amounts of the Lightning Network: thousandths of a satoshi.

use bitcoin::Amount;
use std::{fmt, iter::Sum, ops};

/// An amount in millisatoshi, the unit of BOLT 2, 4 and 11.
///
/// ```
/// use boltwright::prelude::*;
///
/// let coffee = Msat::from_sat(25_000);
/// assert_eq!(coffee, Msat::new(25_000_000));
/// assert_eq!(coffee.to_string(), "25,000,000 msat");
/// assert_eq!(coffee.to_amount_floor(), Amount::from_sat(25_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Msat(u64);

impl Msat {
    /// Nothing.
    pub const ZERO: Msat = Msat(0);

    /// So many millisatoshi.
    pub const fn new(msat: u64) -> Msat {
        Msat(msat)
    }

    /// So many satoshi; saturates at the top, far above all bitcoin there can be.
    pub const fn from_sat(sat: u64) -> Msat {
        Msat(sat.saturating_mul(1000))
    }

    /// The bare number of millisatoshi, for a wire format.
    pub const fn to_msat(self) -> u64 {
        self.0
    }

    /// Whole satoshi, rounded down, as what goes on chain is.
    pub const fn to_amount_floor(self) -> Amount {
        Amount::from_sat(self.0 / 1000)
    }

    /// `self - other`, or `None` if that is negative.
    pub const fn checked_sub(self, other: Msat) -> Option<Msat> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Msat(rest)),
            None => None,
        }
    }

    /// `self + other`, or `None` if that does not fit.
    pub const fn checked_add(self, other: Msat) -> Option<Msat> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Msat(sum)),
            None => None,
        }
    }
}

impl From<Amount> for Msat {
    fn from(amount: Amount) -> Msat {
        Msat::from_sat(amount.to_sat())
    }
}

impl ops::Add for Msat {
    type Output = Msat;
    fn add(self, other: Msat) -> Msat {
        Msat(self.0 + other.0)
    }
}

impl ops::Sub for Msat {
    type Output = Msat;
    fn sub(self, other: Msat) -> Msat {
        Msat(self.0 - other.0)
    }
}

impl ops::Mul<u64> for Msat {
    type Output = Msat;
    fn mul(self, times: u64) -> Msat {
        Msat(self.0 * times)
    }
}

impl Sum for Msat {
    fn sum<I: Iterator<Item = Msat>>(amounts: I) -> Msat {
        amounts.fold(Msat::ZERO, |sum, amount| sum + amount)
    }
}

impl fmt::Display for Msat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} msat", grouped(self.0))
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_threes() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
