//! Boltwright's own suites, by area, in `tests/`.
