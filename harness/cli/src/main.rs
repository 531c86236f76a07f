//! The `boltwright` command.

mod install;

use clap::Parser;
use std::process::ExitCode;

/// A Lightning lab on one machine.
#[derive(Debug, Parser)]
#[command(version)]
enum Boltwright {
    /// Installs a daemon into Boltwright's own folder, without root.
    Install(install::Install),
}

fn main() -> ExitCode {
    let Boltwright::Install(install) = Boltwright::parse();
    match install.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
