//! Panics of a test, caught with their message and place.
//!
//! The payload that `catch_unwind` hands out does not say where the panic was; only the panic hook
//! is told. So a hook notes it, per thread, and then calls the one that was there before: what
//! people are used to see on stderr stays.

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Once,
};

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panicked {
    /// Its message.
    pub(crate) message: String,
    /// Where it was, `tests/pay.rs:12:5`, if the hook saw it.
    pub(crate) place: Option<String>,
}

thread_local! {
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// Runs `body` and catches its panic.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            note(info);
            before(info);
        }));
    });
    LAST.with_borrow_mut(|last| *last = None);
    panic::catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let message = message_of(&*payload);
        // A panic that was thrown on (from a joined thread, say) passes no hook, and what the
        // hook noted last may be one that the test itself caught.
        match LAST.with_borrow_mut(Option::take) {
            Some(noted) if noted.message == message => noted,
            _ => Panicked {
                message,
                place: None,
            },
        }
    })
}

fn note(info: &PanicHookInfo<'_>) {
    let panicked = Panicked {
        message: message_of(info.payload()),
        place: info.location().map(ToString::to_string),
    };
    // At the thread's very end there is nothing to note it in, and nobody who asks.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(panicked));
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "a panic whose payload is not text".to_owned())
}

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_message_and_place() {
        let line = line!() + 1;
        let panicked = catch(|| panic!("{} sat are missing", 3)).expect_err("it panics");
        assert_eq!(panicked.message, "3 sat are missing");
        let place = panicked.place.expect("the hook saw it");
        assert!(place.contains(&format!("panics.rs:{line}:")), "{place}");
    }

    #[test]
    fn an_earlier_panic_that_was_caught_lends_no_place() {
        let panicked = catch(|| {
            let _ = panic::catch_unwind(|| panic!("an earlier one"));
            panic::resume_unwind(Box::new("thrown on"));
        });
        assert_eq!(
            panicked.map_err(|panicked| panicked.to_string()),
            Err("thrown on".to_owned())
        );
    }

    #[test]
    fn what_does_not_panic_is_handed_out() {
        assert_eq!(catch(|| 7), Ok(7));
    }
}
