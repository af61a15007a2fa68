//! The page's own files, as they lie in `page/`: nothing is built from them, so that what is read
//! there is what runs. They hold no secret and are given to everybody who asks.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderName, HeaderValue};

/// Name, type and content of each file.
macro_rules! files {
    ($($name:literal: $kind:expr,)*) => {
        &[$(($name, $kind, include_str!(concat!("../../page/", $name)))),*]
    };
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All of them; the first one is the page.
const FILES: &[(&str, &str, &str)] = files! {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "main.js": SCRIPT,
    "dom.js": SCRIPT,
    "server.js": SCRIPT,
    "units.js": SCRIPT,
    "colours.js": SCRIPT,
    "curve.js": SCRIPT,
    "picture.js": SCRIPT,
    "bar.js": SCRIPT,
    "table.js": SCRIPT,
    "now.js": SCRIPT,
    "time.js": SCRIPT,
    "timeline.js": SCRIPT,
    "tracks.js": SCRIPT,
    "strokes.js": SCRIPT,
    "calls.js": SCRIPT,
    "chosen.js": SCRIPT,
    "code.js": SCRIPT,
    "functions.js": SCRIPT,
    "histogram.js": SCRIPT,
    "iterations.js": SCRIPT,
    "regions.js": SCRIPT,
    "profile.js": SCRIPT,
    "flame.js": SCRIPT,
    "paths.js": SCRIPT,
    "matrix.js": SCRIPT,
    "waits.js": SCRIPT,
    "stuck.js": SCRIPT,
    "buffers.js": SCRIPT,
    "control.js": SCRIPT,
    "recorded.js": SCRIPT,
    "capped.js": SCRIPT,
    "measured.js": SCRIPT,
    "values.js": SCRIPT,
};

/// Type and content of the file with this name; the page itself has none.
pub fn file(name: &str) -> Option<(&'static str, &'static str)> {
    let name = if name.is_empty() { FILES[0].0 } else { name };
    let found = FILES.iter().find(|(its, ..)| *its == name);
    found.map(|&(_, kind, content)| (kind, content))
}

/// What every answer says to the browser: run our scripts alone, ask nobody else, keep nothing,
/// tell nobody, show this in no other page.
pub fn headers() -> [(HeaderName, HeaderValue); 5] {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                  connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    [
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ]
}

/// The header of a file's type.
pub fn kind(kind: &'static str) -> (HeaderName, HeaderValue) {
    (CONTENT_TYPE, HeaderValue::from_static(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// A file that nobody gives out would be missing in the browser alone.
    #[test]
    fn every_file_of_the_page_is_given() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let there: BTreeSet<_> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .filter_map(|name| name.into_string().ok())
            .filter(|name| {
                [".js", ".css", ".html", ".svg"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .collect();
        let given: BTreeSet<_> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        assert_eq!(there, given);
    }

    /// The policy forbids both, and the page would stand still.
    #[test]
    fn the_page_has_no_script_or_style_inside() {
        for (name, _, content) in FILES {
            assert!(!content.contains("style="), "{name}");
            assert!(
                !content.contains("://") || content.contains("www.w3.org"),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_names_and_no_paths() {
        assert!(file("").is_some() && file("main.js").is_some());
        assert!(file("../Cargo.toml").is_none() && file("page/main.js").is_none());
    }
}
