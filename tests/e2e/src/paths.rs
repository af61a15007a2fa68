//! Folders of the repository and of what was built from it.

use std::path::{Path, PathBuf};

/// The root of the repository.
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

/// The folder of the built test programs.
pub fn built() -> PathBuf {
    root().join("target/apps")
}

/// The tree of `cargo xtask build`, as users have it.
pub fn dist() -> PathBuf {
    std::env::var_os("INVIVO_DIST").map_or_else(|| root().join("target/dist"), PathBuf::from)
}

/// The `invivo` command of that tree.
pub fn invivo() -> PathBuf {
    let invivo = dist().join("bin/invivo");
    assert!(
        invivo.exists(),
        "{} is missing: run `cargo xtask build` first",
        invivo.display()
    );
    invivo
}

/// The `invivo` command of the tree with test hooks (feature `test-hooks`), which hears
/// `INVIVO_TAP`, `INVIVO_PANIC` and `SKEWED_CLOCKS`.
pub fn invivo_with_hooks() -> PathBuf {
    let tree = std::env::var_os("INVIVO_DIST_HOOKS")
        .map_or_else(|| root().join("target/dist-hooks"), PathBuf::from);
    let invivo = tree.join("bin/invivo");
    assert!(
        invivo.exists(),
        "{} is missing: this test needs the tree with test hooks, which `cargo xtask test` builds \
         (INVIVO_DIST_HOOKS says where it is)",
        invivo.display()
    );
    invivo
}

/// The simulation of whole trees, as `cargo xtask test` builds it for its check of that name.
pub fn simulation() -> PathBuf {
    root().join("target/release/sim")
}

/// Where npm has put what drives a browser.
pub fn browser_tools() -> PathBuf {
    root().join("target/page")
}
