//! What it lists.

use crate::binary::{fixture, run};

/// All names, in order.
const NAMES: [&str; 17] = [
    "fixture::counts::1",
    "fixture::counts::2",
    "fixture::counts::3",
    "fixture::does_not_panic",
    "fixture::fails",
    "fixture::panics",
    "fixture::panics_as_it_should",
    "fixture::panics_otherwise",
    "fixture::passes",
    "fixture::pays::here_to_here",
    "fixture::pays::here_to_absent",
    "fixture::pays::absent_to_here",
    "fixture::pays::absent_to_absent",
    "fixture::slow",
    "fixture::slow_here",
    "fixture::stores::here::memory",
    "fixture::stores::here::sqlite_wal",
];

/// Those that are ignored.
const IGNORED: [&str; 5] = [
    "fixture::pays::here_to_absent",
    "fixture::pays::absent_to_here",
    "fixture::pays::absent_to_absent",
    "fixture::slow",
    "fixture::slow_here",
];

pub fn every_cell_is_listed_whatever_is_installed() {
    assert_eq!(run(&mut fixture(&["--list"])).exits(0).names(), NAMES);
    let required = run(fixture(&["--list"]).env("BOLTWRIGHT_REQUIRE", "absent"));
    assert_eq!(required.exits(0).names(), NAMES);
}

pub fn nextest_is_told_which_are_ignored() {
    let list = run(&mut fixture(&["--list", "--format", "terse"]));
    assert_eq!(list.exits(0).names(), NAMES);
    let ignored = &["--list", "--format", "terse", "--ignored"];
    assert_eq!(run(&mut fixture(ignored)).exits(0).names(), IGNORED);
    let required = run(fixture(ignored).env("BOLTWRIGHT_REQUIRE", "absent"));
    assert_eq!(required.exits(0).names(), IGNORED[3..]);
}

pub fn a_filter_an_exact_name_and_a_skip_choose_among_the_names() {
    let filtered = run(&mut fixture(&["--list", "pays", "--skip", "absent"]));
    assert_eq!(filtered.exits(0).names(), ["fixture::pays::here_to_here"]);
    let exact = run(&mut fixture(&["--list", "--exact", "fixture::passes"]));
    assert_eq!(exact.exits(0).names(), ["fixture::passes"]);
    let part = run(&mut fixture(&["--list", "--exact", "passes"]));
    assert!(part.exits(0).names().is_empty());
}

pub fn an_ill_formed_environment_does_not_keep_it_from_listing() {
    for (variable, value) in [("TIMEOUT", "abc"), ("BOLTWRIGHT_REQUIRE", "nobody")] {
        let list = run(fixture(&["--list"]).env(variable, value));
        assert_eq!(list.exits(0).names(), NAMES, "{variable}");
    }
}

pub fn reasons_are_listed_for_programs() {
    let skips = run(fixture(&["--list"]).env("BOLTWRIGHT_SKIPS", "1")).exits(0);
    let lines: Vec<(String, String)> = skips
        .out
        .lines()
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).expect("an object a line");
            let text = |key: &str| object[key].as_str().expect(key).to_owned();
            (text("trial"), text("reason"))
        })
        .collect();
    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, IGNORED);
    assert!(lines[0].1.contains("absent not found"), "{}", lines[0].1);
    assert_eq!(lines[3].1, "takes an hour");
    assert_eq!(lines[4].1, "#[ignore]");

    let nothing = run(fixture(&["--list"]).env("BOLTWRIGHT_SKIPS", "0")).exits(0);
    assert_eq!(nothing.names(), NAMES);
}
