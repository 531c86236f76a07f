//! The `boltwright-ldk` daemon: see the library of the same name.

fn main() {
    std::process::exit(boltwright_ldk::run(std::env::args_os().skip(1).collect()));
}
