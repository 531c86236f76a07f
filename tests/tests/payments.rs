//! Payments between real nodes: what arrives, what fails and how it is told.

use boltwright::node::{FailureReason, InvoiceRequest, PayLimits, PaymentStatus};
use boltwright::prelude::*;
use std::time::Duration;

const CAPACITY: Amount = Amount::from_sat(1_000_000);

#[boltwright::test]
fn a_payment_crosses_two_hops(lab: &Lab) -> Result {
    let [alice, bob, carol] = lab.line(CAPACITY)?;
    let invoice = carol.invoice(Msat::from_sat(25_000), "coffee")?;
    let payment = alice.pay(&invoice)?;
    assert_eq!(payment.preimage.hash(), invoice.payment_hash());
    assert_eq!(payment.amount, Msat::from_sat(25_000));
    assert!(payment.fee > Msat::ZERO, "bob forwards for nothing");
    let channels = bob.channels()?;
    assert_eq!(channels.len(), 2);
    Ok(())
}

#[boltwright::test]
fn the_payee_and_the_payer_list_the_same_payment(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice(Msat::from_sat(10_000), "tea")?;
    let paid = alice.pay(&invoice)?;
    for (node, outgoing) in [(&alice, true), (&bob, false)] {
        let list = node.payments()?;
        let found: Vec<_> = list.iter().filter(|p| p.hash == paid.hash).collect();
        assert_eq!(found.len(), 1, "{list:?}");
        assert_eq!(found[0].status, PaymentStatus::Succeeded);
        assert_eq!(found[0].outgoing, outgoing);
        assert_eq!(found[0].preimage, Some(paid.preimage));
    }
    Ok(())
}

#[boltwright::test]
fn a_keysend_arrives_without_an_invoice(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let paid = alice.keysend(&bob, Msat::from_sat(7_000))?;
    assert_eq!(paid.amount, Msat::from_sat(7_000));
    assert_eq!(paid.preimage.hash(), paid.hash);
    Ok(())
}

#[boltwright::test]
fn an_invoice_without_an_amount_is_paid_with_the_payers_amount(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice_with(&InvoiceRequest {
        amount: None,
        description: "what you like".to_owned(),
        expiry: Duration::from_secs(600),
    })?;
    assert_eq!(
        bob.decode(&invoice.to_string())?,
        (invoice.payment_hash(), None)
    );
    let limits = PayLimits {
        amount: Some(Msat::from_sat(12_345)),
        max_fee: None,
        timeout: Duration::from_secs(30),
    };
    assert_eq!(
        alice.pay_with(&invoice, &limits)?.amount,
        Msat::from_sat(12_345)
    );
    Ok(())
}

#[boltwright::test]
fn a_payment_above_all_funds_fails_with_no_route(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice(Msat::from_sat(2_000_000), "a car")?;
    let error = alice.pay(&invoice).expect_err("more than there is");
    assert_eq!(
        error.payment_failure(),
        Some(&FailureReason::NoRoute),
        "{error}"
    );
    let words = error.to_string();
    assert!(
        words.contains("alice (ldk)"),
        "does not name the payer: {words}"
    );
    assert!(
        words.contains("/alice/log"),
        "does not name the log: {words}"
    );
    Ok(())
}

#[boltwright::test]
fn an_invoice_is_not_paid_twice(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice(Msat::from_sat(9_000), "once")?;
    alice.pay(&invoice)?;
    let error = alice.pay(&invoice).expect_err("a second payment");
    assert_eq!(
        error.payment_failure(),
        Some(&FailureReason::AlreadyPaid),
        "{error}"
    );
    Ok(())
}

#[boltwright::test]
fn an_expired_invoice_is_refused(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let invoice = bob.invoice_with(&InvoiceRequest {
        expiry: Duration::from_secs(1),
        ..InvoiceRequest::new(Msat::from_sat(9_000), "quick")
    })?;
    boltwright::host::Wait::for_("the invoice to expire").until(|| {
        match invoice.as_bolt11().is_expired() {
            true => boltwright::host::Step::Done(()),
            false => boltwright::host::Step::NotYet("valid".to_owned()),
        }
    })?;
    let error = alice.pay(&invoice).expect_err("too late");
    assert_eq!(
        error.payment_failure(),
        Some(&FailureReason::InvoiceExpired),
        "{error}"
    );
    Ok(())
}

#[boltwright::test]
fn fifty_payments_from_many_threads_all_arrive(lab: &Lab) -> Result {
    let [alice, bob] = lab.topology().capacity(CAPACITY * 4).line()?;
    let paid: Vec<Msat> = std::thread::scope(|scope| {
        let work = || -> boltwright::node::Result<Msat> {
            let mut sum = Msat::ZERO;
            for _ in 0..10 {
                let invoice = bob.invoice(Msat::from_sat(5_000), "one of many")?;
                sum = sum + alice.pay(&invoice)?.amount;
            }
            Ok(sum)
        };
        let threads: Vec<_> = (0..5).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect::<boltwright::node::Result<_>>()
    })?;
    assert_eq!(paid.into_iter().sum::<Msat>(), Msat::from_sat(250_000));
    Ok(())
}

boltwright::main!();
