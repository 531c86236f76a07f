//! Two implementations for the suite's tests, in the crate and outside: one that is found, one that
//! is not. No node is ever started with them.

use boltwright::{
    host::{Command, Origin, Program, program::NotFound},
    node::{Capabilities, Client, Failure, Implementation, Launch, LogLine, Result},
};
use std::path::PathBuf;

/// It is found.
#[derive(Debug)]
pub struct Here;

/// It is not.
#[derive(Debug)]
pub struct Absent;

macro_rules! never_launched {
    () => {
        fn capabilities(&self, _program: &Program) -> Capabilities {
            Capabilities::default()
        }
        fn command(&self, _launch: &Launch) -> Result<Command> {
            unreachable!("never launched")
        }
        fn log_path(&self, _launch: &Launch) -> PathBuf {
            unreachable!("never launched")
        }
        fn client(&self, _launch: &Launch) -> std::result::Result<Box<dyn Client>, Failure> {
            unreachable!("never launched")
        }
        fn command_line(&self, _launch: &Launch) -> String {
            unreachable!("never launched")
        }
        fn classify(&self, _line: &str) -> LogLine {
            LogLine::Ordinary
        }
    };
}

impl Implementation for Here {
    fn name(&self) -> &'static str {
        "here"
    }
    fn find(&self) -> std::result::Result<Program, NotFound> {
        Ok(Program {
            name: "hered".to_owned(),
            path: "/bin/true".into(),
            origin: Origin::Path,
            argv0: None,
        })
    }
    never_launched!();
}

impl Implementation for Absent {
    fn name(&self) -> &'static str {
        "absent"
    }
    fn find(&self) -> std::result::Result<Program, NotFound> {
        Err(NotFound {
            name: "absent".to_owned(),
            looked: vec!["PATH".to_owned()],
            install: "install it by hand".to_owned(),
        })
    }
    never_launched!();
}
