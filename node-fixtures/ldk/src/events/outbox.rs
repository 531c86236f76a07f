//! What is to be told once it is durable.
//!
//! A caller who hears "paid" may act on it. So while LDK's events are handled, the news
//! gathers here; the background loop commits the state and then lets it out.

use std::sync::{Mutex, PoisonError};

use lightning::ln::channelmanager::PaymentId;
use serde_json::Value;

use crate::node::Node;

enum News {
    Event(&'static str, Value),
    PaymentEnded(PaymentId),
}

#[derive(Default)]
pub(crate) struct Outbox {
    news: Mutex<Vec<News>>,
}

impl Outbox {
    pub(crate) fn event(&self, kind: &'static str, details: Value) {
        self.push(News::Event(kind, details));
    }

    pub(crate) fn payment_ended(&self, payment: PaymentId) {
        self.push(News::PaymentEnded(payment));
    }

    fn push(&self, news: News) {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(news);
    }

    /// Takes the news so far; [`Batch::tell`] lets it out.
    pub(crate) fn take(&self) -> Batch {
        Batch(std::mem::take(
            &mut *self.news.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

/// News whose commit is under way.
pub(crate) struct Batch(Vec<News>);

impl Batch {
    pub(crate) fn tell(self, node: &Node) {
        for news in self.0 {
            match news {
                News::Event(kind, details) => node.feed.publish(kind, details),
                News::PaymentEnded(payment) => node.waiting.ended(&payment),
            }
        }
    }
}
