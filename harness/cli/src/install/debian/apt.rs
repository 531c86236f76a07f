//! apt on lists, sources and a status file of our own.
//!
//! The system's configuration is read first, for its proxies and credentials; ours, read after
//! it, moves every place that apt writes to, takes out the hooks that other packages have hung
//! into it, and insists on signatures.

use super::{super::Ui, Cause, run};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Names a Debian archive, for machines whose own sources are not Debian's.
const MIRROR: &str = "BOLTWRIGHT_DEBIAN_MIRROR";

/// What `bitcoin-knots` and its libraries depend on for the sake of their maintainer scripts,
/// none of which is run here. The solver is told that they are there: `(package, provides)`.
const TAKEN_AS_INSTALLED: [(&str, &str); 2] = [
    (
        "systemd",
        "systemd-sysusers, systemd-tmpfiles, default-systemd-sysusers, default-systemd-tmpfiles",
    ),
    ("debconf", "debconf-2.0"),
];

/// Names the hooks and other lists of the system's configuration that must have no effect here.
const CLEARED: [&str; 7] = [
    "APT::Update::Pre-Invoke",
    "APT::Update::Post-Invoke",
    "APT::Update::Post-Invoke-Success",
    "DPkg::Pre-Invoke",
    "DPkg::Post-Invoke",
    "DPkg::Pre-Install-Pkgs",
    "APT::Architectures",
];

/// A private apt.
#[derive(Debug)]
pub(super) struct Apt {
    folder: PathBuf,
    keyring: PathBuf,
    architecture: String,
}

/// A package that was downloaded and whose checksum apt has verified.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Deb {
    /// `libc6`.
    pub name: String,
    /// `2.43-7`, fit for a file name.
    pub version: String,
    /// `libc6_2.43-7_amd64.deb`.
    pub file: String,
    /// Where it lies.
    pub path: PathBuf,
}

impl Apt {
    /// Lays out what apt needs in `folder`.
    pub(super) fn in_folder(folder: &Path, keyring: &Path) -> Result<Self, Cause> {
        let architecture = run::checked("dpkg", |dpkg| dpkg.arg("--print-architecture"))?
            .trim()
            .to_owned();
        for inner in ["lists/partial", "archives/partial", "log", "tmp"] {
            let inner = folder.join(inner);
            fs::create_dir_all(&inner).map_err(Cause::disk("create", &inner))?;
        }
        let apt = Self {
            folder: folder.to_owned(),
            keyring: keyring.to_owned(),
            architecture,
        };
        apt.write("status", &status(&apt.architecture))?;
        apt.write("apt.conf", &apt.configuration())?;
        Ok(apt)
    }

    /// Reads the list of packages of `suite` from the first mirror that serves one with a good
    /// signature; returns which it was.
    pub(super) fn update_from_any(
        &self,
        suite: &str,
        mirrors: &[String],
        ui: &Ui,
    ) -> Result<String, Cause> {
        let mut failures = Vec::new();
        if mirrors.is_empty() {
            let none =
                format!("this machine's apt knows no archive of Debian's; {MIRROR}=URL names one");
            return Err(Cause::Mirrors(none));
        }
        for mirror in mirrors {
            ui.step(&format!("reading the list of packages of {mirror} {suite}"));
            self.write(
                "sources.list",
                &format!(
                    "deb [arch={} signed-by={} target=Packages] {mirror} {suite} main\n",
                    self.architecture,
                    self.keyring.display(),
                ),
            )?;
            match self.get(&["update"]) {
                Ok(_) => return Ok(mirror.clone()),
                Err(Cause::Command { said, .. }) => failures.push(format!("{mirror}: {said}")),
                Err(other) => return Err(other),
            }
        }
        Err(Cause::Mirrors(failures.join("; ")))
    }

    /// Downloads these packages and all that they need on an empty system.
    pub(super) fn download(&self, packages: &[&str]) -> Result<Vec<Deb>, Cause> {
        let mut arguments = vec!["install", "--download-only", "--yes"];
        arguments.extend(packages);
        self.get(&arguments)?;
        let archives = self.folder.join("archives");
        let mut debs: Vec<Deb> = fs::read_dir(&archives)
            .map_err(Cause::disk("read", &archives))?
            .filter_map(|entry| Deb::at(&entry.ok()?.path()))
            .collect();
        debs.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(debs)
    }

    fn get(&self, arguments: &[&str]) -> Result<String, Cause> {
        run::checked("apt-get", |apt| {
            apt.arg("-q")
                .arg("-c")
                .arg(self.folder.join("apt.conf"))
                .args(arguments)
                // Its helpers leave files behind if they are killed; here they are swept.
                .env("TMPDIR", self.folder.join("tmp"))
                .env_remove("APT_CONFIG")
        })
    }

    fn configuration(&self) -> String {
        let folder = self.folder.display();
        let architecture = &self.architecture;
        let cleared: String = CLEARED
            .iter()
            .map(|name| format!("#clear {name};\n"))
            .collect();
        format!(
            r#"{cleared}APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
Dir::State "{folder}";
Dir::State::Lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}";
Dir::Cache::Archives "{folder}/archives";
Dir::Cache::pkgcache "{folder}/pkgcache.bin";
Dir::Cache::srcpkgcache "";
Dir::Log "{folder}/log";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Keep-Downloaded-Packages "true";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
"#
        )
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Cause> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Cause::disk("write", &path))
    }
}

impl Deb {
    /// Reads name and version off the file name that apt gives: `zlib1g_1%3a1.3.2-4_amd64.deb`.
    fn at(path: &Path) -> Option<Self> {
        let file = path.file_name()?.to_str()?;
        let mut parts = file.strip_suffix(".deb")?.split('_');
        let (name, version) = (parts.next()?, parts.next()?);
        Some(Self {
            name: name.to_owned(),
            version: version.replace("%3a", "-"),
            file: file.to_owned(),
            path: path.to_owned(),
        })
    }
}

/// The mirrors to ask: the one that was named, then what this machine's own apt is set up with, if
/// it is Debian's.
pub(super) fn mirrors() -> Vec<String> {
    // apt itself reads both kinds of source lists, and says which archive a list came from if
    // it has fetched one: unfetched lists have no origin, and are tried.
    let format = "$(REPO_URI) $(COMPONENT) $(RELEASE) $(ORIGIN)";
    let said = run::checked("apt-get", |apt| {
        apt.args(["indextargets", "--format", format, "Created-By: Packages"])
    });
    let mut configured = debian_mirrors(said.as_deref().unwrap_or_default());
    if configured.is_empty() {
        // Where no list was ever fetched apt knows no targets, but what it would fetch.
        let said = run::checked("apt-get", |apt| apt.args(["--print-uris", "update"]));
        configured = archives(said.as_deref().unwrap_or_default());
    }
    let named = std::env::var(MIRROR).ok().filter(|url| !url.is_empty());
    let named = named.map(|url| url.trim_end_matches('/').to_owned());
    named.into_iter().chain(configured).collect()
}

/// Out of lines like `'http://host/debian/dists/trixie/InRelease' …`, Debian's archives.
fn archives(uris: &str) -> Vec<String> {
    let mut archives: Vec<String> = Vec::new();
    for line in uris.lines() {
        let uri = line.trim_start_matches('\'');
        let Some((archive, _)) = uri.split_once("/dists/") else {
            continue;
        };
        let of_debian = archive.ends_with("debian") && !archive.starts_with("cdrom:");
        if of_debian && !archives.iter().any(|known| known == archive) {
            archives.push(archive.to_owned());
        }
    }
    archives
}

/// Out of lines of URI, component, suite and origin, the archives that may well carry sid.
fn debian_mirrors(targets: &str) -> Vec<String> {
    let mut mirrors: Vec<String> = Vec::new();
    for line in targets.lines() {
        let mut words = line.split_whitespace();
        let (Some(uri), Some("main"), Some(suite)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let origin = words.next();
        let unknown = |origin: &str| origin.starts_with('$');
        let of_debian = origin.is_none_or(|origin| origin == "Debian" || unknown(origin));
        // Security updates are an archive of their own, and a medium carries one suite only.
        let other = suite.contains("security") || uri.starts_with("cdrom:");
        let uri = uri.trim_end_matches('/');
        if of_debian && !other && !mirrors.iter().any(|known| known == uri) {
            mirrors.push(uri.to_owned());
        }
    }
    mirrors
}

fn status(architecture: &str) -> String {
    TAKEN_AS_INSTALLED
        .iter()
        .map(|(package, provides)| {
            format!(
                "Package: {package}\nStatus: install ok installed\nMaintainer: none\n\
                 Architecture: {architecture}\nVersion: 9999\nProvides: {provides}\n\
                 Description: taken as installed\n\n"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirrors_asked_are_debians_own_archives_each_once() {
        let targets = "\
http://mirror.example/debian/ main bookworm Debian
http://mirror.example/debian/ main bookworm-updates Debian
http://mirror.example/debian/ contrib bookworm Debian
cdrom://debian-12/ main bookworm Debian
http://mirror.example/debian-security/ main bookworm-security Debian
https://packages.example/node main nodistro . nodistro
https://other.example/apt/ main stable Vendor
http://unfetched.example/debian/ main trixie $(ORIGIN)
http://also-unfetched.example/debian/ main trixie
";
        assert_eq!(
            debian_mirrors(targets),
            [
                "http://mirror.example/debian",
                "http://unfetched.example/debian",
                "http://also-unfetched.example/debian",
            ]
        );
    }

    #[test]
    fn where_no_list_was_fetched_the_archives_are_those_that_apt_would_ask() {
        let uris = "\
'http://mirror.example/debian/dists/bookworm/InRelease' mirror.example_debian_InRelease 0
'http://mirror.example/debian/dists/bookworm-updates/InRelease' mirror.example_u_InRelease 0
'http://mirror.example/debian-security/dists/bookworm-security/InRelease' s_InRelease 0
'https://packages.example/node/dists/nodistro/InRelease' node_InRelease 0
";
        assert_eq!(archives(uris), ["http://mirror.example/debian"]);
    }

    #[test]
    fn an_epoch_in_a_file_name_makes_no_colon_in_a_folder_name() {
        let deb = Deb::at(Path::new("/a/zlib1g_1%3a1.3.2-4_amd64.deb")).expect("a package");
        assert_eq!(
            (deb.name.as_str(), deb.version.as_str()),
            ("zlib1g", "1-1.3.2-4")
        );
        assert_eq!(Deb::at(Path::new("/a/lock")), None);
    }
}
