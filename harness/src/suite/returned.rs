//! What a test may return, and how its error is told.
//!
//! A test returns `()` or any `Result<(), E>`. Its error is told as well as its type allows: with
//! its causes if it is an error, by `{:#}` if it can be displayed (which makes `anyhow` and `eyre`
//! tell their causes), else by `{:?}`. No trait bound can say "the first of these that holds"; the
//! compiler's search for a method can: it looks at `&&&&Told` first, and takes one reference away
//! at a time.

use std::{
    error::Error,
    fmt::{Debug, Display},
};

/// What a test may return.
#[diagnostic::on_unimplemented(
    message = "a test returns nothing or a `Result<(), E>`, not `{Self}`",
    label = "a test cannot return this",
    note = "`boltwright::prelude::Result` is a `Result<(), Box<dyn Error + Send + Sync>>`"
)]
pub trait Returned {}

impl Returned for () {}
impl<E> Returned for Result<(), E> {}

/// Lets through what a test may return; the compiler refuses the rest.
pub fn returned<T: Returned>(value: T) -> T {
    value
}

/// What a test returned, about to be told.
#[derive(Debug)]
pub struct Told<T>(pub T);

/// First choice: nothing to tell, or a boxed error with its causes.
pub trait ByChain {
    /// The error in words.
    fn told(&self) -> Result<(), String>;
}

impl ByChain for &&&Told<()> {
    fn told(&self) -> Result<(), String> {
        Ok(())
    }
}

impl ByChain for &&&Told<Result<(), Box<dyn Error>>> {
    fn told(&self) -> Result<(), String> {
        self.0.as_ref().copied().map_err(|error| chain(&**error))
    }
}

impl ByChain for &&&Told<Result<(), Box<dyn Error + Send>>> {
    fn told(&self) -> Result<(), String> {
        self.0.as_ref().copied().map_err(|error| chain(&**error))
    }
}

impl ByChain for &&&Told<Result<(), Box<dyn Error + Send + Sync>>> {
    fn told(&self) -> Result<(), String> {
        self.0.as_ref().copied().map_err(|error| chain(&**error))
    }
}

/// Second choice: an error with its causes.
pub trait ByError {
    /// The error in words.
    fn told(&self) -> Result<(), String>;
}

impl<E: Error + 'static> ByError for &&Told<Result<(), E>> {
    fn told(&self) -> Result<(), String> {
        self.0.as_ref().copied().map_err(|error| chain(error))
    }
}

/// Third choice: what can be displayed.
pub trait ByDisplay {
    /// The error in words.
    fn told(&self) -> Result<(), String>;
}

impl<E: Display> ByDisplay for &Told<Result<(), E>> {
    fn told(&self) -> Result<(), String> {
        self.0
            .as_ref()
            .copied()
            .map_err(|error| format!("{error:#}"))
    }
}

/// Last choice: what can be debug-printed.
pub trait ByDebug {
    /// The error in words.
    fn told(&self) -> Result<(), String>;
}

impl<E: Debug> ByDebug for Told<Result<(), E>> {
    fn told(&self) -> Result<(), String> {
        self.0
            .as_ref()
            .copied()
            .map_err(|error| format!("{error:?}"))
    }
}

/// An error and its causes in one line; a cause that the words before it already tell is left out.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !told.contains(&words) {
            told = format!("{told}: {words}");
        }
        cause = error.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no route to carol")]
    struct NoRoute(#[source] Cause);

    #[derive(Debug, thiserror::Error)]
    #[error("channel 103x1x0 is disabled")]
    struct Cause;

    #[derive(Debug)]
    struct OnlyDebug;

    struct OnlyDisplay;

    impl Display for OnlyDisplay {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(if f.alternate() { "all of it" } else { "a part" })
        }
    }

    macro_rules! told {
        ($returned:expr) => {
            (&&&&Told(returned($returned))).told()
        };
    }

    #[test]
    fn an_error_is_told_as_well_as_its_type_allows() {
        const WHOLE: &str = "no route to carol: channel 103x1x0 is disabled";
        let boxed: Result<(), Box<dyn Error>> = Err(NoRoute(Cause).into());
        assert_eq!(told!(boxed), Err(WHOLE.to_owned()));
        let shared: Result<(), Box<dyn Error + Send + Sync>> = Err(NoRoute(Cause).into());
        assert_eq!(told!(shared), Err(WHOLE.to_owned()));
        assert_eq!(told!(Err::<(), _>(NoRoute(Cause))), Err(WHOLE.to_owned()));
        assert_eq!(told!(Err::<(), _>("words")), Err("words".to_owned()));
        assert_eq!(
            told!(Err::<(), _>(OnlyDisplay)),
            Err("all of it".to_owned())
        );
        assert_eq!(told!(Err::<(), _>(OnlyDebug)), Err("OnlyDebug".to_owned()));
    }

    #[test]
    fn nothing_and_ok_are_both_a_pass() {
        assert_eq!(told!(()), Ok(()));
        assert_eq!(told!(Ok::<(), OnlyDebug>(())), Ok(()));
        assert_eq!(told!(Ok::<(), Box<dyn Error>>(())), Ok(()));
    }

    #[test]
    fn a_cause_that_is_already_told_is_not_repeated() {
        #[derive(Debug, thiserror::Error)]
        #[error("opening a channel: {0}")]
        struct Outer(#[source] Cause);
        assert_eq!(
            chain(&Outer(Cause)),
            "opening a channel: channel 103x1x0 is disabled"
        );
    }
}
