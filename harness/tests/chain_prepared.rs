//! Prepared chains: made once, by whoever comes first, and made again when damaged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod chain_stage;

use boltwright::{
    chain::{Chain, ChainOptions, SEARCH},
    host::Site,
};
use chain_stage::{in_a_site, on_a_chain_with};
use serde_json::json;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

/// The tip of the starting chain, below the fresh block.
const PREPARED: u32 = 160;

fn kept_in(folder: &Path) -> ChainOptions {
    ChainOptions {
        prepared: Some(folder.to_owned()),
        ..ChainOptions::default()
    }
}

fn prepared_tip(chain: &Chain) -> String {
    chain.call("getblockhash", &[json!(PREPARED)]).unwrap()
}

/// Starts a chain that keeps its prepared one in `folder`; returns what it noted, and the tip.
fn start_once(folder: &Path) -> (Vec<String>, String) {
    let mut result = None;
    on_a_chain_with(kept_in(folder), |chain| {
        result = Some((chain.notes().to_vec(), prepared_tip(chain)));
    });
    result.unwrap()
}

/// The one folder that holds a prepared chain.
fn the_prepared_chain(home: &Path) -> PathBuf {
    let mut folders: Vec<_> = fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

/// This test binary again, to run one of the ignored tests below.
fn child(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
#[ignore = "a part of another test, which runs it in a process of its own"]
fn one_of_eight() {
    in_a_site(|site| {
        let chain = Chain::start(site, ChainOptions::default()).unwrap();
        println!("tip: {}", prepared_tip(&chain));
        for note in chain.notes() {
            println!("note: {note}");
        }
    });
}

#[test]
fn eight_labs_that_start_at_once_prepare_one_chain() {
    let home = tempfile::tempdir().unwrap();
    let bitcoind = SEARCH.find().unwrap().path;
    let children: Vec<Child> = (0..8)
        .map(|_| {
            child("one_of_eight")
                .env("XDG_CACHE_HOME", home.path())
                .env("BITCOIND_EXE", &bitcoind)
                .spawn()
                .unwrap()
        })
        .collect();
    let mut tips = Vec::new();
    let mut notes = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        // libtest prints "test one_of_eight ... " before the first line.
        tips.extend(
            text.lines()
                .filter_map(|line| Some(line.split_once("tip: ")?.1.to_owned())),
        );
        notes.extend(
            text.lines()
                .filter_map(|line| Some(line.strip_prefix("note: ")?.to_owned())),
        );
    }
    assert_eq!(tips.len(), 8);
    assert!(tips.iter().all(|tip| *tip == tips[0]), "{tips:?}");
    assert_eq!(notes.len(), 1, "one of them prepared it: {notes:?}");
    the_prepared_chain(&home.path().join("boltwright/chains"));
}

#[test]
#[ignore = "a part of another test, which runs it in a process of its own"]
fn one_without_bitcoind() {
    let site = Arc::new(Site::open().unwrap());
    // Its words are for the test that runs it.
    if let Err(error) = Chain::start(&site, ChainOptions::default()) {
        println!("{error}");
    }
    Arc::into_inner(site).unwrap().remove().unwrap();
}

#[test]
fn without_bitcoind_the_error_names_where_it_was_looked_for_and_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let output = child("one_without_bitcoind")
        .env_remove("BITCOIND_EXE")
        .env("XDG_CACHE_HOME", home.path())
        .env("PATH", "/nowhere/bin")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for words in [
        "BITCOIND_EXE",
        &home.path().display().to_string(),
        "PATH",
        "boltwright install bitcoind",
    ] {
        assert!(text.contains(words), "{words} is not in: {text}");
    }
}

#[test]
fn a_damaged_prepared_chain_is_made_again_and_is_the_same() {
    let home = tempfile::tempdir().unwrap();
    let (notes, first) = start_once(home.path());
    assert!(notes[0].contains("not there yet"), "{notes:?}");
    let folder = the_prepared_chain(home.path());

    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("wrong content", |folder| {
            let path = folder.join("regtest/blocks/blk00000.dat");
            let mut content = fs::read(&path).unwrap();
            content[1_000] ^= 1;
            fs::write(path, content).unwrap();
        }),
        ("wrong size", |folder| {
            let path = folder.join("regtest/wallets/lab/wallet.dat");
            let content = fs::read(&path).unwrap();
            fs::write(path, &content[..content.len() / 2]).unwrap();
        }),
        ("damaged", |folder| {
            fs::remove_file(folder.join("regtest/blocks/blk00000.dat")).unwrap();
        }),
        ("expected", |folder| {
            fs::write(folder.join("manifest.json"), "{ cut off").unwrap();
        }),
    ];
    for (words, damage) in damages {
        damage(&folder);
        let (notes, tip) = start_once(home.path());
        assert_eq!(notes.len(), 1, "{words}: {notes:?}");
        assert_eq!(tip, first);
        let (notes, tip) = start_once(home.path());
        assert_eq!((notes, tip), (Vec::new(), first.clone()), "{words}");
    }
    let left: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "the chain and its lock: {left:?}");
}

#[test]
fn what_a_lab_does_never_reaches_the_prepared_chain() {
    let home = tempfile::tempdir().unwrap();
    let (_, first) = start_once(home.path());
    let stored = || {
        let mut files = Vec::new();
        let mut folders = vec![the_prepared_chain(home.path())];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((fs::read(&path).unwrap(), path)),
                }
            }
        }
        files.sort();
        files
    };
    let before = stored();
    on_a_chain_with(kept_in(home.path()), |chain| {
        chain.wallet("friend").unwrap();
        chain.mine(200).unwrap();
        chain.stop().unwrap();
    });
    assert!(before == stored());
    assert_eq!(start_once(home.path()), (Vec::new(), first));
}

#[test]
fn without_a_place_for_prepared_chains_a_lab_mines_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (_, elsewhere) = start_once(&home.path().join("chains"));
    let file = home.path().join("a file, not a folder");
    fs::write(&file, "").unwrap();
    let (notes, tip) = start_once(&file.join("chains"));
    assert!(notes[0].contains("this lab mines its own"), "{notes:?}");
    assert_eq!(tip, elsewhere);
}
