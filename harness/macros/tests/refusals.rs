//! Refusals as an author meets them: the compiler says them, at the place that has to be mended.

use std::{env, fs, path::Path, path::PathBuf, process::Command, time::SystemTime};

#[test]
fn every_mistake_is_told_where_it_was_made() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals/wrong.rs");
    let expected = expectations(&source);
    assert!(expected.len() > 10, "the source says what to expect");

    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--test", "--emit", "metadata"])
        .args(["--error-format", "short", "--color", "never"])
        .arg("--extern")
        .arg(format!("boltwright_macros={}", macros().display()))
        .arg("-o")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("refusals.rmeta"))
        .arg(&source)
        .output()
        .expect("rustc runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = told
        .lines()
        .filter(|line| line.contains(": error: "))
        .collect();

    for (place, words) in &expected {
        let found = errors
            .iter()
            .any(|error| error.contains(place.as_str()) && error.contains(words));
        assert!(found, "no error at {place} that says {words:?}:\n{told}");
    }
    assert_eq!(errors.len(), expected.len(), "and no others:\n{told}");
}

/// The comments `//~ COLUMN WORDS` of the source, as `(":LINE:COLUMN: error", WORDS)`.
fn expectations(source: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(source).expect("the source is there");
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let (_, expected) = line.split_once("//~ ")?;
            let (column, words) = expected.split_once(' ')?;
            Some((format!(":{}:{column}: error", index + 1), words.to_owned()))
        })
        .collect()
}

/// The attribute's library: it lies beside this test, and the newest one is the one just built.
fn macros() -> PathBuf {
    let this = env::current_exe().expect("a test knows where it is");
    let beside = this.parent().expect("it is in a directory");
    let changed = |path: &PathBuf| {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        modified.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    fs::read_dir(beside)
        .expect("the directory can be read")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{}boltwright_macros-", env::consts::DLL_PREFIX))
                && name.ends_with(env::consts::DLL_SUFFIX)
        })
        .max_by_key(changed)
        .expect("the attribute was built for this test")
}
