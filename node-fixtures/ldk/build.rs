//! Tells the crate at which optimisation level it is being compiled.
//!
//! `cfg!(debug_assertions)` cannot: a profile override optimises this crate and leaves
//! debug assertions on. Cargo hands the real level to build scripts only.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(optimised)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo:rustc-cfg=optimised");
    }
}
