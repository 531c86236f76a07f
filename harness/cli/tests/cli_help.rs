//! What the command says about itself, and what it says to those who use it wrongly.

mod command;

use command::{code, err, expect_code, out, run};

const COMMANDS: [&str; 7] = ["demo", "up", "rpc", "logs", "init", "doctor", "install"];

#[test]
fn the_help_lists_the_commands_in_a_newcomers_order() {
    let output = run(&["help"]);
    expect_code(&output, 0);
    let text = out(&output);
    let places: Vec<Option<usize>> = COMMANDS
        .iter()
        .map(|name| text.find(&format!("\n  {name} ")))
        .collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    assert!(text.contains("New here?"), "{text}");
}

#[test]
fn every_command_explains_every_option_and_shows_examples_and_exit_codes() {
    for name in COMMANDS {
        let output = run(&[name, "--help"]);
        expect_code(&output, 0);
        let text = out(&output);
        assert!(text.contains("\nExamples"), "{name}: {text}");
        assert!(text.contains("\nExit codes: 0 "), "{name}: {text}");
        // In the long help an option stands on a line of its own, and what it does on the next.
        let lines: Vec<&str> = text.lines().collect();
        for (line, next) in lines.iter().zip(&lines[1..]) {
            let option = line.trim_start().starts_with("--")
                || line.trim_start().starts_with('-') && !line.trim_start().starts_with("- ");
            if option && line.starts_with("  ") && !line.contains("  boltwright ") {
                let explained = next.starts_with("          ") || line.trim().contains("  ");
                assert!(explained, "{name}: {line:?} is not explained");
            }
        }
    }
}

#[test]
fn bad_usage_is_told_and_ends_with_2() {
    for args in [
        &["nonsense"][..],
        &["demo", "--payments", "0"],
        &["demo", "--implementation", "eclair"],
        &["up", "--topology", "knot"],
        &["up", "--nodes", "2", "--topology", "ring"],
        &["up", "--mine-every", "soon"],
        &["logs", "/tmp", "--grep", "("],
        &["rpc", "alice"],
        &["rpc", "./nowhere.sock", "getinfo", "a=1", "2"],
        &["init", "--name", "a b"],
        &["init", "--path", "a", "--git", "b"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}: {}", err(&output));
        assert!(
            err(&output).starts_with("error: "),
            "{args:?}: {}",
            err(&output)
        );
        assert_eq!(out(&output), "", "{args:?}");
    }
}

#[test]
fn a_socket_where_nobody_listens_is_an_error_that_says_so() {
    let output = run(&["rpc", "/nowhere/rpc.sock", "getinfo"]);
    expect_code(&output, 1);
    let said = err(&output);
    assert!(
        said.contains("/nowhere/rpc.sock") && said.contains("is the lab still running?"),
        "{said}"
    );
}
