//! The command line: `boltwright install bitcoind`.

use super::{Error, Options, Source};

/// Installs a daemon into Boltwright's own folder, without root.
#[derive(Debug, Clone, clap::Args)]
pub struct Install {
    /// What to install.
    program: Program,

    /// Install anew even if a working one is there.
    #[arg(long)]
    force: bool,

    /// Where it may come from.
    #[arg(long, value_enum, default_value_t)]
    source: Source,

    /// Say nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// What can be installed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Program {
    /// The regtest chain of every lab, with its client bitcoin-cli.
    Bitcoind,
}

impl Install {
    /// Installs and tells on standard output what is there now.
    pub fn run(&self) -> Result<(), Error> {
        let Program::Bitcoind = self.program;
        let options = Options {
            force: self.force,
            source: self.source,
            quiet: self.quiet,
            ..Options::new()?
        };
        let installed = super::bitcoind(&options)?;
        if !self.quiet {
            println!(
                "bitcoind {} ({}{}): {}",
                installed.version,
                installed.from,
                if installed.fresh {
                    ""
                } else {
                    "; was there already"
                },
                installed.bitcoind.display()
            );
        }
        Ok(())
    }
}
