//! Debian's package `bitcoin-knots`, unpacked with the libraries that it needs into a prefix of
//! its own, on any Linux machine that has apt; no root, and nothing of the system's is written.
//!
//! Debian carries the package in sid only, built against newer libraries than a stable system
//! has. So apt is run on private lists with a source list of ours ([`apt`]), names the packages
//! and checks their signature; and the programs are pointed at their own loader and libraries
//! ([`relocate`]), which leaves them ordinary programs to perf, valgrind and `/proc/PID/exe`.

mod apt;
mod relocate;
mod run;

use super::{
    Cause, Provider, Ui,
    place::{Place, Receipt},
};
use apt::Apt;
use std::path::{Path, PathBuf};

const PACKAGE: &str = "bitcoin-knots";
const SUITE: &str = "sid";

/// Where the keys of Debian's archive lie; the package `debian-archive-keyring` brings them.
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.pgp",
    "/usr/share/keyrings/debian-archive-keyring.gpg",
];

/// The package, by way of this machine's apt.
#[derive(Debug)]
pub(super) struct Debian {
    /// The files that may hold the archive's keys; the first that exists is used.
    pub keyrings: Vec<PathBuf>,
}

impl Default for Debian {
    fn default() -> Self {
        Self {
            keyrings: KEYRINGS.iter().map(PathBuf::from).collect(),
        }
    }
}

impl Provider for Debian {
    fn name(&self) -> String {
        format!("Debian's package {PACKAGE}")
    }

    fn word(&self) -> &'static str {
        "debian"
    }

    fn build(&self, stage: &Path, place: &Place, ui: &Ui) -> Result<Receipt, Cause> {
        let keyring = self.keyring()?;
        let apt = Apt::in_folder(&stage.join("apt"), keyring)?;
        let mirror = apt.update_from_any(SUITE, &apt::mirrors(), ui)?;

        // The one of this machine will do, if there is one.
        let patchelf = run::is_there("patchelf");
        let mut packages = vec![PACKAGE];
        if !patchelf {
            packages.push("patchelf");
        }
        ui.step(&format!(
            "downloading {} and what they need",
            packages.join(", ")
        ));
        let debs = apt.download(&packages)?;

        ui.step(&format!("unpacking {} packages", debs.len()));
        let root = stage.join("root");
        for deb in &debs {
            run::checked("dpkg-deb", |command| {
                command.arg("-x").arg(&deb.path).arg(&root)
            })?;
        }
        let version = debs
            .iter()
            .find(|deb| deb.name == PACKAGE)
            .map(|deb| deb.version.clone())
            .ok_or_else(|| Cause::Missing {
                what: format!("{PACKAGE} among the packages that apt brought"),
                hint: String::new(),
            })?;
        let home = place.vacant(&version);
        relocate::programs(&root, &stage.join("prefix"), &home)?;
        Ok(Receipt {
            source: self.word().to_owned(),
            from: format!("Debian's {PACKAGE} {version}"),
            url: mirror,
            checked: format!("apt, with the keys in {}", keyring.display()),
            packages: debs.into_iter().map(|deb| deb.file).collect(),
            version,
        })
    }
}

impl Debian {
    fn keyring(&self) -> Result<&Path, Cause> {
        for program in ["apt-get", "dpkg-deb"] {
            if !run::is_there(program) {
                return Err(Cause::Missing {
                    what: format!("{program} (part of apt and dpkg)"),
                    hint: String::new(),
                });
            }
        }
        self.keyrings
            .iter()
            .find(|keyring| keyring.exists())
            .map(PathBuf::as_path)
            .ok_or_else(|| Cause::Missing {
                what: "the keyring of Debian's archive".to_owned(),
                hint: "; `apt-get install debian-archive-keyring` brings it, \
                       on Debian's descendants too"
                    .to_owned(),
            })
    }
}
