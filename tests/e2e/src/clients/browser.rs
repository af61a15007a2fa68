//! Chromium, which looks at a page and uses it (`tests/page`).

use super::Web;
use crate::paths;
use crate::remarks::not_tested;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const BROWSER: &str = "/usr/bin/chromium";
/// The longest that a part may take, in seconds, beside what it stays: two cores have a browser and
/// four ranks.
const LIMIT: u64 = 170;

/// Whether a browser is here; says so where there is none.
pub fn has_browser() -> bool {
    let has = Path::new(BROWSER).exists() && paths::browser_tools().join("node_modules").exists();
    if !has {
        not_tested("the page in a browser: no chromium, or no target/page (cargo xtask setup)");
    }
    has
}

/// Runs the script `tests/page/PART.mjs` on the page, with what it has to know. It asks the same
/// job by this command, whose words come behind it; `folder` takes a file.
///
/// # Panics
/// When the page is not as the script wants it.
pub fn browse(web: &Web, invivo: &Command, folder: &Path, part: &str, known: &Value) {
    let file = folder.join(format!("known-{part}.json"));
    std::fs::write(&file, known.to_string()).expect("a file");
    let mut node = Command::new("timeout");
    let stays = known["seconds"].as_u64().unwrap_or(0);
    node.args([&(LIMIT + stays).to_string(), "node"]);
    node.arg(paths::root().join("tests/page/drive.mjs"));
    node.arg(part).arg(&web.url).arg(&file);
    for (name, value) in invivo.get_envs() {
        match value {
            Some(value) => node.env(name, value),
            None => node.env_remove(name),
        };
    }
    node.env("INVIVO", invivo.get_program());
    node.env("BROWSER", BROWSER);
    node.env("PAGE_TOOLS", paths::browser_tools());
    let output = node.output().expect("node");
    let said = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{part}: {told}{said}");
}
