//! Waits: labelled, bounded, and never deaf to the death of what they wait for.
//!
//! A wait looks, again and again, until what it waits for is there, will never come, or the time is
//! over. The pauses between looks are short and grow; the end of a process that is watched, or an
//! event source of the caller's ([`Wait::until_pulsed`]), cuts them short. After a death and after
//! the deadline there is one more look: what was written while dying counts.
//!
//! This is the only place in Boltwright that sleeps.
use super::{Process, knobs::settings, process::Death};
use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The first pause between two looks; each is half as long again as the one before.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest one.
const LONGEST: Duration = Duration::from_millis(25);
/// How many lines of each watched process's log a failure shows.
const TAIL: usize = 8;

/// What one look at the awaited thing found.
#[derive(Debug)]
pub enum Step<T> {
    /// There it is.
    Done(T),
    /// Not yet; this is what is there.
    NotYet(String),
    /// It will never come, and why.
    Never(String),
}

/// The last lines of a watched process's log.
#[derive(Debug, Clone)]
pub struct Tail {
    /// The process's name in the lab.
    pub name: String,
    /// Its log file.
    pub path: PathBuf,
    /// The lines.
    pub lines: Vec<String>,
}

/// Why a wait failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Out of time.
    #[error("waited {elapsed:.1?} for {label}; last seen: {last}{}", Tails(tails))]
    TimedOut {
        /// What was awaited.
        label: String,
        /// How long.
        elapsed: Duration,
        /// The last value seen.
        last: String,
        /// The last lines of the logs of those watched.
        tails: Vec<Tail>,
    },
    /// It will never come.
    #[error("waiting for {label}: {reason}{}", Tails(tails))]
    Never {
        /// What was awaited.
        label: String,
        /// Why it will never come.
        reason: String,
        /// The last lines of the logs of those watched.
        tails: Vec<Tail>,
    },
    /// A process that it depends on ended.
    #[error("waiting for {label} ended after {elapsed:.1?}: {death}")]
    Died {
        /// What was awaited.
        label: String,
        /// How long it had been.
        elapsed: Duration,
        /// The last value seen.
        last: String,
        /// Who ended and how.
        death: Box<Death>,
    },
}

struct Tails<'a>(&'a [Tail]);

impl fmt::Display for Tails<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Tail { name, path, lines } in self.0 {
            write!(f, "\n  last lines of {name}'s log, {}:", path.display())?;
            if lines.is_empty() {
                f.write_str(" none")?;
            }
            for line in lines {
                write!(f, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

/// A wait being described.
///
/// ```
/// use boltwright::host::wait::{Step, Wait};
/// let mut height = 100;
/// let seen = Wait::for_("block 103").until(|| {
///     height += 1;
///     match height {
///         103.. => Step::Done(height),
///         _ => Step::NotYet(format!("height {height}")),
///     }
/// });
/// assert_eq!(seen.unwrap(), 103);
/// ```
#[derive(Debug)]
pub struct Wait {
    label: String,
    timeout: Option<Duration>,
    watched: Vec<Process>,
}

impl Wait {
    /// A wait for what `label` names ("alice to see block 103").
    pub fn for_(label: impl Into<String>) -> Wait {
        Wait {
            label: label.into(),
            timeout: None,
            watched: Vec::new(),
        }
    }

    /// Another deadline than `TIMEOUT`, taken as it is: `settings()?.scaled(…)` makes it follow
    /// `SLOW_MACHINE`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Wait {
        self.timeout = Some(timeout);
        self
    }

    /// Fails at once if `process` ends.
    #[must_use]
    pub fn watching(mut self, process: &Process) -> Wait {
        self.watched.push(process.clone());
        self
    }

    /// Looks again and again, with short growing pauses (1 ms to 25 ms).
    ///
    /// # Errors
    /// [`Failure`]: out of time, told that it will never come, or a watched process ended.
    pub fn until<T>(self, look: impl FnMut() -> Step<T>) -> Result<T, Failure> {
        let bell = self.watched.first().cloned();
        let mut pause = SHORTEST;
        self.run(look, |longest| {
            let nap = pause.min(longest);
            match &bell {
                Some(process) => process.pause(nap),
                None => thread::sleep(nap),
            }
            pause = (pause * 3 / 2).min(LONGEST);
        })
    }

    /// Like [`until`](Wait::until), but between looks blocks in `pulse` (an event source), given the longest time it
    /// may take; it returns `true` as soon as something may have changed, or `false` at once if there is no
    /// event source after all, and then the wait pauses as [`until`](Wait::until) does.
    ///
    /// # Errors
    /// As for [`until`](Wait::until).
    pub fn until_pulsed<T>(
        self,
        look: impl FnMut() -> Step<T>,
        mut pulse: impl FnMut(Duration) -> bool,
    ) -> Result<T, Failure> {
        let mut pause = SHORTEST;
        self.run(look, |longest| {
            let began = Instant::now();
            // Short enough that a death is soon noticed, which the source knows nothing of.
            let heard = pulse(longest.min(LONGEST * 2));
            // A source that is broken or busy returns at once, for ever: do not spin with it.
            if !heard || began.elapsed() < SHORTEST / 10 {
                thread::sleep(pause.min(longest));
                pause = (pause * 3 / 2).min(LONGEST);
            } else {
                pause = SHORTEST;
            }
        })
    }

    fn run<T>(
        self,
        mut look: impl FnMut() -> Step<T>,
        mut pause: impl FnMut(Duration),
    ) -> Result<T, Failure> {
        let began = Instant::now();
        let timeout = match self.timeout {
            Some(timeout) => timeout,
            None => match settings() {
                Ok(settings) => settings.timeout,
                Err(error) => return Err(self.never(error.to_string())),
            },
        };
        let site = self
            .watched
            .first()
            .map(|process| process.marker().to_owned());
        let mut entry = Entry::new(&self.label, site);
        loop {
            // Both are asked before the look, so that the look after them is the last one.
            let elapsed = began.elapsed();
            let death = self
                .watched
                .iter()
                .find_map(|process| process.alive().err());
            let last = match look() {
                Step::Done(found) => return Ok(found),
                Step::Never(reason) => return Err(self.never(reason)),
                Step::NotYet(last) => last,
            };
            entry.saw(&last);
            if let Some(death) = death {
                return Err(Failure::Died {
                    label: self.label,
                    elapsed,
                    last,
                    death: Box::new(death),
                });
            }
            if elapsed >= timeout {
                return Err(Failure::TimedOut {
                    tails: self.tails(),
                    label: self.label,
                    elapsed,
                    last,
                });
            }
            pause(timeout.saturating_sub(began.elapsed()));
        }
    }

    fn never(self, reason: String) -> Failure {
        Failure::Never {
            tails: self.tails(),
            label: self.label,
            reason,
        }
    }

    fn tails(&self) -> Vec<Tail> {
        self.watched
            .iter()
            .map(|process| {
                let log = process.log();
                Tail {
                    name: process.name().to_owned(),
                    lines: log.tail(TAIL),
                    path: log.path().to_owned(),
                }
            })
            .collect()
    }
}

/// The waits that are going on for the site of this marker, oldest first, and those that watch no
/// process and may be anybody's: what a report that comes in the middle of a test has to tell.
pub fn current(marker: &str) -> Vec<String> {
    going_on()
        .values()
        .filter(|going| going.site.as_deref().is_none_or(|site| site == marker))
        .map(|going| {
            let (label, last, elapsed) = (&going.label, &going.last, going.since.elapsed());
            format!("waiting for {label}, for {elapsed:.1?} now; last seen: {last}")
        })
        .collect()
}

struct Going {
    label: String,
    /// The marker of the site whose processes it watches.
    site: Option<String>,
    since: Instant,
    last: String,
}

static GOING_ON: Mutex<BTreeMap<u64, Going>> = Mutex::new(BTreeMap::new());

fn going_on() -> MutexGuard<'static, BTreeMap<u64, Going>> {
    GOING_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A wait's entry among those going on.
struct Entry(u64);

impl Entry {
    fn new(label: &str, site: Option<String>) -> Entry {
        let mut going_on = going_on();
        let number = going_on.last_key_value().map_or(0, |(&last, _)| last + 1);
        let going = Going {
            label: label.to_owned(),
            site,
            since: Instant::now(),
            last: "nothing yet".to_owned(),
        };
        going_on.insert(number, going);
        Entry(number)
    }

    fn saw(&mut self, last: &str) {
        if let Some(going) = going_on().get_mut(&self.0)
            && going.last != last
        {
            last.clone_into(&mut going.last);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        going_on().remove(&self.0);
    }
}

/// Just lets time pass, where nothing can tell of news.
pub(crate) fn nap(time: Duration) {
    thread::sleep(time);
}

/// Waits for a bell of our own, for at most so long; whoever holds it looks again.
pub(crate) fn for_bell<'a, T>(
    bell: &Condvar,
    guard: MutexGuard<'a, T>,
    longest: Duration,
) -> MutexGuard<'a, T> {
    bell.wait_timeout(guard, longest)
        .unwrap_or_else(PoisonError::into_inner)
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_tells_the_label_and_the_last_value_seen() {
        let failure = Wait::for_("alice to see block 103")
            .timeout(Duration::from_millis(30))
            .until(|| Step::<()>::NotYet("height 102".to_owned()))
            .unwrap_err()
            .to_string();
        assert!(failure.contains("for alice to see block 103"), "{failure}");
        assert!(failure.contains("last seen: height 102"), "{failure}");
    }

    #[test]
    fn what_will_never_come_ends_the_wait_at_once() {
        let began = Instant::now();
        let failure = Wait::for_("a channel")
            .until(|| Step::<()>::Never("the peer refused it".to_owned()))
            .unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(1));
        assert_eq!(
            failure.to_string(),
            "waiting for a channel: the peer refused it"
        );
    }

    #[test]
    fn a_look_follows_the_deadline() {
        let began = Instant::now();
        let deadline = Duration::from_millis(50);
        let found = Wait::for_("the last moment").timeout(deadline).until(|| {
            match began.elapsed() >= deadline {
                true => Step::Done(()),
                false => Step::NotYet(String::new()),
            }
        });
        assert!(found.is_ok());
    }

    #[test]
    fn a_pulse_is_given_no_more_time_than_is_left_and_cannot_make_it_spin() {
        let mut looks = 0;
        let failure = Wait::for_("nothing")
            .timeout(Duration::from_millis(40))
            .until_pulsed(
                || {
                    looks += 1;
                    Step::<()>::NotYet(String::new())
                },
                |longest| {
                    assert!(longest <= Duration::from_millis(40));
                    true
                },
            );
        assert!(failure.is_err());
        assert!(looks < 60, "{looks} looks in 40 ms");
    }
}
