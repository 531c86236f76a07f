//! A lab that this command looks after by itself: no deadline, and Ctrl-C or SIGTERM ends it in
//! peace, without the report of a failed test.

use crate::error::{Error, Result};
use crate::{install, screen};
use boltwright::chain::SEARCH;
use boltwright::host::{interrupt, knobs};
use boltwright::lab::{Lab, LabBuilder, Outcome};
use std::time::{Duration, Instant};

/// What a signal means to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The way to end it: the exit code is 0.
    Ends,
    /// It cuts short what was not done yet: the process dies by the signal.
    Aborts,
}

/// Makes a lab, works with it, and ends it; tells how long the end took. After an error, the
/// lab's report was printed, and its directory kept.
pub fn run<T>(
    builder: LabBuilder,
    keep: bool,
    signal: Signal,
    work: impl FnOnce(&Lab) -> Result<T>,
) -> Result<(T, Duration)> {
    let lab = builder
        .unwatched()
        .keep(keep)
        .replay(&screen::command())
        .start()
        .inspect_err(|_| interrupt::step_aside())?;
    let site = lab.site().clone();
    let name = lab.name().to_owned();
    let interest = interrupt::on_interrupt(move |by| {
        let processes = screen::counted(site.processes().len(), "process");
        eprintln!("\n{by}: ending {processes}");
        let ended = if keep {
            site.keep(&name)
                .map(|dir| format!("directory kept: {}", dir.display()))
        } else {
            site.remove().map(|()| "directory removed".to_owned())
        };
        match ended {
            Ok(directory) => eprintln!("all ended, nothing is left running; {directory}"),
            Err(error) => eprintln!("error: {error}"),
        }
        if signal == Signal::Ends {
            std::process::exit(0);
        }
    })?;
    let worked = work(&lab);
    // What a signal has broken is no news, and the thread that ends everything has the last word.
    interrupt::step_aside();
    let ending = Instant::now();
    let ended = match worked {
        Ok(done) => lab.finish().map_err(Error::from).map(|()| done),
        Err(error) => {
            // The report tells all of it; its first line is told once more, as the last one.
            let words = error.to_string();
            let _ = lab.conclude(Outcome::Failed(words.clone()));
            Err(Error::Failed(
                words.lines().next().unwrap_or_default().to_owned(),
            ))
        }
    };
    interrupt::step_aside();
    drop(interest);
    Ok((ended?, ending.elapsed()))
}

/// Sees to it that there is a bitcoind: installs one, and says so, if there is none.
pub fn provide_bitcoind() -> Result<()> {
    let Err(missing) = SEARCH.find() else {
        return Ok(());
    };
    if knobs::variable(SEARCH.variable).is_some() {
        // Somebody has named one: another must not take its place.
        return Err(boltwright::host::Error::from(missing).into());
    }
    eprintln!("bitcoind is not on this machine: installing it into Boltwright's own folder");
    let installed = install::bitcoind(&install::Options::new()?)?;
    eprintln!("bitcoind {} ({})", installed.version, installed.from);
    Ok(())
}
