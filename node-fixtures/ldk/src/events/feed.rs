//! The feed: the node's latest events, numbered, in a ring.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::time;

/// Events that are kept for a caller who asks late.
const KEPT: usize = 10_000;

struct Entry {
    sequence: u64,
    value: Value,
}

/// Events after a sequence number.
pub(crate) struct Page {
    pub events: Vec<Value>,
    /// What to ask for next.
    pub last: u64,
    /// Whether events between the asked number and the first one here are lost.
    pub overflowed: bool,
}

pub(crate) struct Feed {
    entries: Mutex<VecDeque<Entry>>,
    last: watch::Sender<u64>,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Feed {
            entries: Mutex::default(),
            last: watch::Sender::new(0),
        }
    }

    /// Adds an event; `details` is an object with what there is to know.
    pub(crate) fn publish(&self, kind: &str, details: Value) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = *self.last.borrow() + 1;
        let mut value = json!({ "sequence": sequence, "time_us": time::now_us(), "type": kind });
        if let (Value::Object(value), Value::Object(details)) = (&mut value, details) {
            value.extend(details);
        }
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(Entry { sequence, value });
        // Under the lock, so that numbers are announced in order.
        self.last.send_replace(sequence);
    }

    /// The events after `after`: at once if there are any, else when the first one comes or
    /// the time is over. A number that is still to come is another run's: that caller has missed
    /// something, and hears of the next event.
    pub(crate) async fn wait(&self, after: u64, timeout: Duration) -> Page {
        let mut news = self.last.subscribe();
        let last = *news.borrow();
        let from = after.min(last);
        let _ = tokio::time::timeout(timeout, news.wait_for(|last| *last > from)).await;
        let mut page = self.page(from);
        page.overflowed |= after > last;
        page
    }

    fn page(&self, after: u64) -> Page {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let events = entries
            .iter()
            .filter(|entry| entry.sequence > after)
            .map(|entry| entry.value.clone())
            .collect();
        let first = entries.front().map_or(1, |entry| entry.sequence);
        Page {
            events,
            last: entries.back().map_or(0, |entry| entry.sequence),
            overflowed: first > after.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiting_caller_hears_of_the_next_event() {
        let feed = Feed::new();
        feed.publish("block", json!({ "height": 1 }));
        let page = feed.wait(0, Duration::ZERO).await;
        assert_eq!(
            (page.events.len(), page.last, page.overflowed),
            (1, 1, false)
        );
        let (page, ()) = tokio::join!(feed.wait(1, Duration::from_secs(10)), async {
            feed.publish("block", json!({ "height": 2 }));
        });
        assert_eq!(page.events[0]["height"], 2);
        assert_eq!(page.events[0]["sequence"], 2);
    }

    #[tokio::test]
    async fn a_caller_who_comes_too_late_is_told_so() {
        let feed = Feed::new();
        for height in 0..=KEPT {
            feed.publish("block", json!({ "height": height }));
        }
        let page = feed.wait(0, Duration::ZERO).await;
        assert_eq!(page.events.len(), KEPT);
        assert!(page.overflowed);
        assert!(!feed.wait(1, Duration::ZERO).await.overflowed);
    }

    #[tokio::test]
    async fn a_number_that_is_still_to_come_has_missed_something() {
        let feed = Feed::new();
        feed.publish("block", json!({ "height": 1 }));
        let page = feed.wait(u64::MAX, Duration::ZERO).await;
        assert_eq!(
            (page.events.len(), page.last, page.overflowed),
            (0, 1, true)
        );
        let (page, ()) = tokio::join!(feed.wait(7, Duration::from_secs(10)), async {
            feed.publish("block", json!({ "height": 2 }));
        });
        assert_eq!(
            (page.events.len(), page.last, page.overflowed),
            (1, 2, true)
        );
    }

    #[tokio::test]
    async fn nothing_new_ends_with_the_timeout() {
        let page = Feed::new().wait(0, Duration::from_millis(5)).await;
        assert_eq!(
            (page.events.len(), page.last, page.overflowed),
            (0, 0, false)
        );
    }
}
