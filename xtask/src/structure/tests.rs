//! Canaries: each rule must find its fault in a made-up tree, and nothing in a sound one.

use super::*;
use std::path::PathBuf;

/// A made-up tree that is gone when it is dropped.
struct Made(PathBuf);

impl Made {
    fn new(name: &str) -> Made {
        let folder = format!("target/tmp/structure-{name}-{}", std::process::id());
        let made = Made(crate::run::root().join(folder));
        let edges = "# Map\n\n## Crate edges\n\n| crate | depends on |\n|---|---|\n| `a` | - |\n";
        made.file("ARCHITECTURE.md", edges);
        made.file("a/Cargo.toml", "[package]\nname = \"invivo-a\"\n");
        made.file(
            "a/src/lib.rs",
            "#![forbid(unsafe_code)]\nmod one;\nmod two;\n",
        );
        made.file(
            "a/src/one.rs",
            "use crate::two::Two;\npub struct One(Two);\n",
        );
        made.file("a/src/two.rs", "pub struct Two;\n");
        made
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn rules(&self) -> Vec<Rule> {
        self.findings().iter().map(|finding| finding.rule).collect()
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&Tree::read(&self.0).unwrap()).unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_sound_tree_has_no_findings() {
    assert_eq!(Made::new("sound").rules(), []);
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let ways = [
        "use crate::one::One;\npub struct Two;\nfn f(_: One) {}\n",
        "use super::one::{self as other};\npub struct Two;\nfn f(_: other::One) {}\n",
        "pub struct Two;\nfn f(_: crate::one::One) {}\n",
        "pub struct Two;\nfn f() { use super::one::*; let _ = One; }\n",
        "pub struct Two;\nmod deep { fn f(_: super::super::one::One) {} }\n",
        // By the root, which only hands the name on.
        "use crate::One;\npub struct Two;\nfn f(_: One) {}\n",
        "pub struct Two;\nimpl Two { fn f() { crate::one::One; } }\n",
    ];
    for (index, way) in ways.iter().enumerate() {
        let made = Made::new(&format!("circle-{index}"));
        let root = "#![forbid(unsafe_code)]\nmod one;\nmod two;\npub use one::One;\n";
        made.file("a/src/lib.rs", root);
        made.file("a/src/two.rs", way);
        let findings = made.findings();
        assert_eq!(findings.len(), 1, "{way}");
        assert_eq!(findings[0].rule, Rule::Circle, "{way}");
        assert!(
            findings[0]
                .text
                .contains("a/src/two.rs -> a/src/one.rs: One"),
            "{way}"
        );
        assert!(
            findings[0]
                .text
                .contains("a/src/one.rs -> a/src/two.rs: Two"),
            "{way}"
        );
    }
}

#[test]
fn parent_and_child_can_be_a_circle_too() {
    let made = Made::new("parent");
    made.file(
        "a/src/two.rs",
        "mod three;\npub struct Two;\nfn f() { three::g() }\n",
    );
    made.file(
        "a/src/two/three.rs",
        "use super::Two;\npub fn g() { let _ = Two; }\n",
    );
    assert_eq!(made.rules(), [Rule::Circle]);
    // A parent that only hands names on uses nothing.
    made.file(
        "a/src/two.rs",
        "mod three;\npub use three::g;\npub struct Two;\n",
    );
    assert_eq!(made.rules(), []);
}

#[test]
fn tests_comments_and_texts_make_no_circle() {
    let made = Made::new("tests");
    let two = "pub struct Two; // crate::one::One\n/// [`crate::one::One`]\n\
               const TEXT: &str = \"crate::one::One\";\n\
               #[cfg(test)]\nmod tests { use crate::one::One; }\n\
               #[cfg(test)]\nuse crate::one::One;\n";
    made.file("a/src/two.rs", two);
    assert_eq!(made.rules(), []);
}

#[test]
fn crate_edges_are_those_of_the_map() {
    let made = Made::new("edges");
    made.file("b/Cargo.toml", "[package]\nname = \"invivo-b\"\n");
    made.file("b/src/lib.rs", "#![forbid(unsafe_code)]\n");
    assert_eq!(
        made.rules(),
        [Rule::CrateEdge],
        "a crate that the map does not name"
    );
    let map = |needs: &str| {
        let head = "\n## Crate edges\n\n| crate | depends on |\n|---|---|\n";
        made.file(
            "ARCHITECTURE.md",
            &format!("{head}| a | {needs} |\n| `b` | - |\n"),
        );
    };
    map("-");
    assert_eq!(made.rules(), []);
    let manifest = "[package]\nname = \"invivo-a\"\n[dependencies]\ninvivo-b.workspace = true\n";
    made.file("a/Cargo.toml", manifest);
    assert_eq!(
        made.rules(),
        [Rule::CrateEdge],
        "an edge that the map forbids"
    );
    map("`b`");
    assert_eq!(made.rules(), []);
    made.file("a/Cargo.toml", "[package]\nname = \"invivo-a\"\n");
    assert_eq!(made.rules(), [Rule::CrateEdge], "an edge that is no more");
}

#[test]
fn limits_are_held() {
    let made = Made::new("limits");
    made.file(
        "a/src/two.rs",
        &format!("pub struct Two;\n{}", "//\n".repeat(500)),
    );
    assert_eq!(made.rules(), [Rule::FileLength]);
    made.file(
        "a/src/two.rs",
        &format!("pub struct Two; // {}\n", "x".repeat(100)),
    );
    assert_eq!(made.rules(), [Rule::LineWidth]);
    let test = |name: &str| format!("pub struct Two;\n#[test]\nfn {name}() {{}}\n");
    made.file("a/src/two.rs", &test("a_b_c_d_e_f_g_h_i_j"));
    assert_eq!(made.rules(), []);
    made.file("a/src/two.rs", &test("a_b_c_d_e_f_g_h_i_j_k"));
    assert_eq!(made.rules(), [Rule::TestName]);
}

#[test]
fn unsafe_code_is_what_the_map_says() {
    let made = Made::new("unsafe");
    made.file("a/src/two.rs", "pub struct Two;\nunsafe fn f() {}\n");
    assert_eq!(made.rules(), [Rule::Unsafe]);
    let edges = "\n## Crate edges\n\n| crate | depends on |\n|---|---|\n| `a` | - |\n";
    let map = |uses: u32| {
        let head = "\n## Unsafe code\n\n| crate | uses | files | why |\n|---|---|---|---|\n";
        let text = format!("{edges}{head}| `a` | {uses} | 1 | C |\n");
        made.file("ARCHITECTURE.md", &text);
    };
    map(1);
    assert_eq!(made.rules(), []);
    map(2);
    assert_eq!(made.rules(), [Rule::Unsafe], "fewer than the map says");
    made.file("ARCHITECTURE.md", edges);
    made.file("a/src/two.rs", "pub struct Two; // unsafe\n");
    assert_eq!(made.rules(), [], "a comment is none");
    made.file("a/src/lib.rs", "mod one;\nmod two;\n");
    assert_eq!(made.rules(), [Rule::Unsafe], "it is not forbidden");
}
