//! Where things are.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tests/e2e lies two levels below the repository")
}

/// The sources of the test programs.
pub fn sources() -> PathBuf {
    root().join("tests/apps")
}

/// What the tests build.
pub fn built() -> PathBuf {
    root().join("target/apps")
}

/// The tree of `cargo xtask build`.
pub fn dist() -> PathBuf {
    std::env::var_os("INVIVO_DIST").map_or_else(|| root().join("target/dist"), PathBuf::from)
}

/// The `invivo` command.
pub fn invivo() -> PathBuf {
    let invivo = dist().join("bin/invivo");
    assert!(
        invivo.exists(),
        "{} is missing: run `cargo xtask build` first",
        invivo.display()
    );
    invivo
}
