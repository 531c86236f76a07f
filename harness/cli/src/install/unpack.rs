//! The two programs out of an official archive, and nothing else.

use super::Cause;
use flate2::read::GzDecoder;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Component, Path},
};

const PROGRAMS: [&str; 2] = ["bitcoind", "bitcoin-cli"];

/// Writes `bin/bitcoind` and `bin/bitcoin-cli` of a `bitcoin-<version>-<platform>.tar.gz` to
/// `prefix/bin`.
///
/// Names in the archive choose what is taken, never where it is written; an archive that holds a
/// name leading out of it, or a link in place of a program, is refused as a whole.
pub(super) fn programs(archive: &Path, prefix: &Path) -> Result<(), Cause> {
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin).map_err(Cause::disk("create", &bin))?;
    let file = File::open(archive).map_err(Cause::disk("open", archive))?;
    let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
    for entry in archive.entries().map_err(refused)? {
        let mut entry = entry.map_err(refused)?;
        let name = entry.path().map_err(refused)?.into_owned();
        if !stays_inside(&name) {
            return Err(Cause::Archive {
                reason: format!("the name {} leads out of it", name.display()),
            });
        }
        let Some(program) = PROGRAMS.into_iter().find(|program| {
            name.file_name().is_some_and(|file| file == *program)
                && name.parent().is_some_and(|folder| folder.ends_with("bin"))
        }) else {
            continue;
        };
        if !entry.header().entry_type().is_file() {
            return Err(Cause::Archive {
                reason: format!("{} is not a plain file", name.display()),
            });
        }
        let path = bin.join(program);
        let mut to = File::options()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&path)
            .map_err(Cause::disk("create", &path))?;
        copy(&mut entry, &mut to, &path)?;
    }
    for program in PROGRAMS {
        if !bin.join(program).exists() {
            return Err(Cause::Archive {
                reason: format!("it holds no bin/{program}"),
            });
        }
    }
    Ok(())
}

/// Like [`io::copy`], but tells a broken archive from a full disk.
fn copy(from: &mut impl io::Read, to: &mut File, path: &Path) -> Result<(), Cause> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        let length = from.read(&mut buffer).map_err(refused)?;
        if length == 0 {
            return Ok(());
        }
        io::Write::write_all(to, &buffer[..length]).map_err(Cause::disk("write", path))?;
    }
}

fn stays_inside(name: &Path) -> bool {
    name.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn refused(error: io::Error) -> Cause {
    Cause::Archive {
        reason: error.to_string(),
    }
}
