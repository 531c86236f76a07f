//! Who looks after a lab while its test is busy: its deadline, and signals.

use super::world::{World, lock};
use super::{Result, checks, report};
use crate::host::interrupt::{self, Interrupt};
use crate::host::settings;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The watch over one lab; ends with it.
pub(super) struct Watch {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    _interrupt: Interrupt,
}

/// How long a test may take to notice that its lab was ended under it.
const GRACE: Duration = Duration::from_secs(5);

impl Watch {
    /// Watches until the lab is concluded or `deadline` has passed since its start.
    pub fn start(world: &Arc<World>, deadline: Duration) -> Result<Watch> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (seen, watched) = (Arc::clone(&over), Arc::downgrade(world));
        let end = world.started + deadline;
        let thread = std::thread::Builder::new()
            .name("bw-deadline".to_owned())
            .spawn(move || {
                if wait_over(&seen, end) {
                    return;
                }
                let Some(world) = watched.upgrade() else {
                    return;
                };
                let problem = format!(
                    "the lab's deadline of {:.0} s has passed (BOLTWRIGHT_DEADLINE)",
                    deadline.as_secs_f64()
                );
                if settings().is_ok_and(|settings| settings.pause) {
                    report::held(&world, &problem);
                    return;
                }
                world.end_early(&problem);
                let name = world.name.clone();
                drop(world);
                if !wait_over(&seen, Instant::now() + GRACE) {
                    report::tell(&format!(
                        "{name}: the test does not end though its lab was ended: the process exits\n"
                    ));
                    std::process::exit(101);
                }
            })
            .map_err(|source| crate::host::Error::Io {
                action: "starting the deadline thread of",
                path: world.site.dir().to_owned(),
                source,
            })?;
        let watched = Arc::downgrade(world);
        let interrupt = interrupt::on_interrupt(move |signal| {
            if let Some(world) = watched.upgrade() {
                world.end_early(&format!("interrupted by {signal}"));
            }
        })?;
        Ok(Watch {
            over,
            thread: Some(thread),
            _interrupt: interrupt,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *lock(&self.over.0) = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // It holds nothing and returns at once; a panic in it was printed.
            let _ = thread.join();
        }
    }
}

/// Waits until it is over, `true`, or the end has come, `false`.
fn wait_over(over: &(Mutex<bool>, Condvar), end: Instant) -> bool {
    let guard = lock(&over.0);
    let left = end.saturating_duration_since(Instant::now());
    let (guard, _) = over
        .1
        .wait_timeout_while(guard, left, |over| !*over)
        .unwrap_or_else(PoisonError::into_inner);
    *guard
}

impl World {
    /// Tells the story now and ends everything, while the test still stands somewhere in the
    /// middle: its next call fails. The verdict is locked until all is told, so that the test's own
    /// end waits for that.
    fn end_early(&self, problem: &str) {
        let mut verdict = lock(&self.state.early);
        if verdict.is_some() || self.is_done() {
            return;
        }
        self.note_own_ends();
        let mut story = problem.to_owned();
        if self.is_ending() {
            story.push_str("\nthe test had ended, and its lab was being ended");
        }
        for wait in crate::host::wait::current(self.site.marker()) {
            story.push('\n');
            story.push_str(&wait);
        }
        *verdict = Some(story.clone());
        self.journal.note(problem);
        let table = report::table(&self.nodes());
        let kept = self.site.keep(&self.name);
        let dir = kept.unwrap_or_else(|_| self.site.dir().to_owned());
        if self.tell_once() {
            let problems = checks::run(self, checks::When::Ended);
            report::tell(&report::text(self, &story, &problems, &table, &dir));
        }
    }
}
