//! Ctrl-C and SIGTERM: tell, end, and die.
//!
//! SIGTERM is how nextest ends a test that takes too long: the commonest failure of all, and the
//! one whose report matters most. So the first SIGINT or SIGTERM has a thread of ours run what was
//! registered with [`on_interrupt`] (the lab's report), end all sites, and let the process die by
//! that same signal. A second one while that goes on kills at once, as it does to any program; the
//! keepers clean up all the same.
//!
//! Nothing of this is installed before the first site is opened.
use super::{Error, Result, keeper::link::Link, knobs::settings};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
    low_level,
};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// How long all reports may take; nextest gives a test 10 s from SIGTERM to SIGKILL.
const REPORT_PATIENCE: Duration = Duration::from_secs(6);

type Callback = Box<dyn FnMut(&'static str) + Send>;

struct Registered {
    installed: bool,
    next: u64,
    callbacks: BTreeMap<u64, Callback>,
    sites: Vec<Weak<Link>>,
    /// How many threads are in [`wait`].
    waiting: usize,
    /// How many signals they have taken.
    taken: u64,
    ending: bool,
}

static TAKEN: Condvar = Condvar::new();

static REGISTERED: Mutex<Registered> = Mutex::new(Registered {
    installed: false,
    next: 0,
    callbacks: BTreeMap::new(),
    sites: Vec::new(),
    waiting: 0,
    taken: 0,
    ending: false,
});

/// A registered callback; dropped, it is no longer called.
#[derive(Debug)]
#[must_use = "the callback is registered for as long as this lives"]
pub struct Interrupt {
    number: u64,
}

/// Has `callback` called, with the signal's name, when SIGINT or SIGTERM is about to end this
/// process: on a thread of its own, while all daemons still run, and with a limit on its time.
/// Callbacks are called in the order of their registration.
///
/// # Errors
/// [`Error::Interrupt`] if the signals cannot be listened for.
pub fn on_interrupt(callback: impl FnMut(&'static str) + Send + 'static) -> Result<Interrupt> {
    install()?;
    let mut registered = lock();
    let number = registered.next;
    registered.next += 1;
    registered.callbacks.insert(number, Box::new(callback));
    Ok(Interrupt { number })
}

/// Waits for SIGINT or SIGTERM, as long as it takes, and takes it: the process lives on. This is
/// how a lab is held for a person.
pub fn wait() {
    let mut registered = lock();
    registered.waiting += 1;
    let before = registered.taken;
    while registered.taken == before {
        registered = TAKEN
            .wait(registered)
            .unwrap_or_else(PoisonError::into_inner);
    }
    registered.waiting -= 1;
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        let callback = lock().callbacks.remove(&self.number);
        // What it holds may have a `Drop` that comes back here.
        drop(callback);
    }
}

/// Whether a signal is ending this process: a report is being written, sites are being ended, and
/// whatever fails in the test meanwhile fails because of that.
pub fn is_ending() -> bool {
    lock().ending
}

/// If a signal is ending this process, waits for that end and does not return. To be called where
/// a test's own end would overtake it, and exit with a code that hides the signal.
pub fn step_aside() {
    let mut registered = lock();
    while registered.ending {
        registered = TAKEN
            .wait(registered)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// Has the site at this end of `link` ended by an interrupt.
pub(crate) fn guard(link: &Arc<Link>) {
    let mut registered = lock();
    registered.sites.retain(|site| site.strong_count() > 0);
    registered.sites.push(Arc::downgrade(link));
}

/// Listens for the signals, from the first call on.
pub(crate) fn install() -> Result<()> {
    let mut registered = lock();
    if registered.installed {
        return Ok(());
    }
    let failed = |error: io::Error| Error::Interrupt(error.to_string());
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down and raises it, the second finds it up.
        flag::register_conditional_default(signal, Arc::clone(&interrupted)).map_err(failed)?;
        flag::register(signal, Arc::clone(&interrupted)).map_err(failed)?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    thread::Builder::new()
        .name("boltwright-signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if is_taken() {
                    interrupted.store(false, Ordering::SeqCst);
                } else {
                    die(signal);
                }
            }
        })
        .map_err(failed)?;
    registered.installed = true;
    Ok(())
}

/// Hands the signal to those who wait for one, if there are any.
fn is_taken() -> bool {
    let mut registered = lock();
    if registered.waiting == 0 {
        registered.ending = true;
        return false;
    }
    registered.taken += 1;
    TAKEN.notify_all();
    true
}

fn die(signal: i32) {
    let name = low_level::signal_name(signal).unwrap_or("a signal");
    report(name);
    let sites: Vec<_> = lock().sites.iter().filter_map(Weak::upgrade).collect();
    // All at once, then one after the other.
    for site in &sites {
        site.hang_up();
    }
    for site in &sites {
        if let Err(error) = site.end() {
            eprintln!("boltwright: {error}");
        }
    }
    // By the signal itself, so that whoever waits for us learns the truth.
    let _ = low_level::emulate_default_handler(signal);
}

/// Runs all callbacks, but does not wait for ever.
fn report(signal: &'static str) {
    let callbacks = std::mem::take(&mut lock().callbacks);
    if callbacks.is_empty() {
        return;
    }
    let (done, finished) = mpsc::channel();
    let reporter = thread::Builder::new()
        .name("boltwright-report".to_owned())
        .spawn(move || {
            for (_, mut callback) in callbacks {
                callback(signal);
            }
            let _ = done.send(());
        });
    if reporter.is_ok() {
        let patience = settings().map_or(REPORT_PATIENCE, |s| s.scaled(REPORT_PATIENCE));
        // A callback that panics has dropped its end: no reason to wait.
        let _ = finished.recv_timeout(patience);
    }
}

fn lock() -> MutexGuard<'static, Registered> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}
