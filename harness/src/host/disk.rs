//! What kind of file system a path is on, and how much room it has.
use super::{Error, Result};
use nix::sys::{statfs, statvfs};
use std::{fmt, path::Path};

/// A kind of file system, as far as it matters for speed and durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// In memory: tmpfs or ramfs.
    Ram,
    /// ext2, ext3 or ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// F2FS.
    F2fs,
    /// ZFS.
    Zfs,
    /// A container's layers.
    Overlay,
    /// NFS, SMB, 9P: over a network, or from a virtual machine's host.
    Network,
    /// A file system in user space.
    Fuse,
    /// Another one, by the kernel's number for it.
    Other(u32),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Ram => "tmpfs",
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
            Kind::Btrfs => "btrfs",
            Kind::F2fs => "f2fs",
            Kind::Zfs => "zfs",
            Kind::Overlay => "overlay",
            Kind::Network => "network",
            Kind::Fuse => "fuse",
            Kind::Other(magic) => return write!(f, "unknown ({magic:#x})"),
        })
    }
}

/// The kind of file system that `path` is on.
pub fn kind(path: &Path) -> Result<Kind> {
    let info = statfs::statfs(path).map_err(failed(path))?;
    // The kernel's numbers are 32 bits wide; C's type for them is wider, and signed.
    let magic = info.filesystem_type().0 as u32;
    Ok(match magic {
        0x0102_1994 | 0x8584_58f6 => Kind::Ram,
        0xef53 => Kind::Ext4,
        0x5846_5342 => Kind::Xfs,
        0x9123_683e => Kind::Btrfs,
        0xf2f5_2010 => Kind::F2fs,
        0x2fc1_2fc1 => Kind::Zfs,
        0x794c_7630 => Kind::Overlay,
        0x6969 | 0x517b | 0xff53_4d42 | 0xfe53_4d42 | 0x0102_1997 => Kind::Network,
        0x6573_5546 => Kind::Fuse,
        other => Kind::Other(other),
    })
}

/// How many bytes we may still write where `path` is.
pub fn free(path: &Path) -> Result<u64> {
    let info = statvfs::statvfs(path).map_err(failed(path))?;
    Ok(info.blocks_available() * info.fragment_size())
}

fn failed(path: &Path) -> impl Fn(nix::Error) -> Error {
    move |errno| Error::Io {
        action: "asking for the file system of",
        path: path.to_owned(),
        source: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_a_ram_disk() {
        assert_eq!(kind(Path::new("/dev/shm")).unwrap(), Kind::Ram);
        assert!(free(Path::new("/dev/shm")).unwrap() > 0);
    }

    #[test]
    fn a_missing_path_is_named() {
        let error = kind(Path::new("/no/such/place")).unwrap_err().to_string();
        assert!(error.contains("/no/such/place"), "{error}");
    }
}
