//! Programs out of an unpacked root, made to run from a prefix with a loader and libraries of
//! their own.
//!
//! The loader is named by absolute path in each program, the libraries by `DT_RPATH` relative to
//! it. Not `DT_RUNPATH`, which does not reach the libraries' own libraries and which
//! `LD_LIBRARY_PATH` overrides.

use super::{Cause, run};
use std::{
    fs,
    path::{Path, PathBuf},
};

const PROGRAMS: [&str; 2] = ["bitcoind", "bitcoin-cli"];

/// Copies the programs of `root` and all that they load into `prefix`, for a life in `home`.
pub(super) fn programs(root: &Path, prefix: &Path, home: &Path) -> Result<(), Cause> {
    let origin = Origin::of(root)?;
    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    for folder in [&bin, &lib] {
        fs::create_dir_all(folder).map_err(Cause::disk("create", folder))?;
    }
    let loader = file_name(&origin.loader);
    copy(&origin.loader, &lib.join(&loader))?;
    for program in PROGRAMS {
        let from = root.join("usr/bin").join(program);
        for library in origin.libraries_of(&from)? {
            copy(&library, &lib.join(file_name(&library)))?;
        }
        let to = bin.join(program);
        copy(&from, &to)?;
        origin.patchelf(&to, &home.join("lib").join(&loader))?;
    }
    Ok(())
}

/// Where an unpacked root has its loader and libraries.
struct Origin {
    root: PathBuf,
    libraries: PathBuf,
    loader: PathBuf,
}

impl Origin {
    fn of(root: &Path) -> Result<Self, Cause> {
        // The folder is named after the machine: usr/lib/x86_64-linux-gnu.
        let libraries = entries(&root.join("usr/lib"))?
            .into_iter()
            .find(|folder| folder.join("libc.so.6").exists())
            .ok_or_else(|| missing("libc.so.6"))?;
        let loader = entries(&libraries)?
            .into_iter()
            .find(|file| file_name(file).starts_with("ld-linux"))
            .ok_or_else(|| missing("the loader ld-linux"))?;
        Ok(Self {
            root: root.to_owned(),
            libraries,
            loader,
        })
    }

    /// All that the loader maps for this program, by the loader's own account.
    fn libraries_of(&self, program: &Path) -> Result<Vec<PathBuf>, Cause> {
        let list = run::checked(&self.loader.to_string_lossy(), |loader| {
            loader
                .arg("--library-path")
                .arg(&self.libraries)
                .arg("--list")
                .arg(program)
        })?;
        // "	libzmq.so.5 => /…/libzmq.so.5 (0x00007f42e11d4000)"
        Ok(list
            .lines()
            .filter_map(|line| line.split_once("=> ")?.1.rsplit_once(" (0x"))
            .map(|(path, _)| PathBuf::from(path))
            .filter(|path| *path != self.loader)
            .collect())
    }

    fn patchelf(&self, program: &Path, interpreter: &Path) -> Result<(), Cause> {
        let own = self.root.join("usr/bin/patchelf");
        let runs_on = if own.exists() {
            self.loader.to_string_lossy().into_owned()
        } else {
            "patchelf".to_owned()
        };
        run::checked(&runs_on, |patchelf| {
            if own.exists() {
                patchelf
                    .arg("--library-path")
                    .arg(&self.libraries)
                    .arg(&own);
            }
            patchelf
                .arg("--set-interpreter")
                .arg(interpreter)
                .args(["--force-rpath", "--set-rpath", "$ORIGIN/../lib"])
                .arg(program)
        })?;
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Cause> {
    Ok(fs::read_dir(folder)
        .map_err(Cause::disk("read", folder))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

/// Follows links, so that each library lies there once, under the name that is asked for.
fn copy(from: &Path, to: &Path) -> Result<(), Cause> {
    fs::copy(from, to)
        .map(|_| ())
        .map_err(Cause::disk("copy", to))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn missing(what: &str) -> Cause {
    Cause::Missing {
        what: format!("{what} in the unpacked packages"),
        hint: String::new(),
    }
}
