//! The page of a job of thousands of ranks, which a simulated tree answers for through a real
//! gateway: it costs a browser what the page of a small job costs it.

use invivo_e2e::clients::Web;
use invivo_e2e::clients::browser::{browse, has_browser};
use invivo_e2e::paths;
use invivo_e2e::remarks::not_tested;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A small job and a large one, with the fan-in of their trees.
const SIZES: [(u32, &str); 2] = [(64, "16,4"), (4096, "64,64")];
/// How much more a snapshot, an answer and a screen of the large one may be: its numbers have more
/// digits.
const APART_MAX: f64 = 1.4;
/// Screens whose answers have as many rows as there are ranks, up to a limit that the small job
/// does not reach: bytes of an answer that nothing may exceed.
const PICTURES: [(&str, f64); 2] = [("time", 6e6), ("matrix", 3e6)];
/// How much more memory of the page may be in use after the stay.
const GROWN_MAX: u64 = 1 << 20;
const WITHIN: Duration = Duration::from_secs(60);

/// The processes of a simulated job; they end with this.
struct Simulated {
    directory: TempDir,
    processes: Vec<Child>,
}

impl Simulated {
    fn start(ranks: u32, fan_in: &str) -> Simulated {
        // Sockets are made where nobody else can rename them.
        let private = std::fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().permissions(private).tempdir();
        let directory = directory.expect("a directory");
        let mut root = Command::new(paths::simulation());
        root.args(["serve", "--ranks", &ranks.to_string(), "--fan-in", fan_in]);
        let root = root.arg(directory.path()).spawn().expect("the simulation");
        let mut simulated = Simulated {
            processes: vec![root],
            directory,
        };
        let directory = &simulated.directory;
        let at = |name: &str| directory.path().join(name);
        until("connect.json", || {
            std::fs::read_to_string(at("connect.json")).is_ok_and(|text| text.ends_with('}'))
        });
        let mut gateway = Command::new(paths::dist().join("bin/ui-gateway"));
        gateway.arg("--socket").arg(at("gateway.sock"));
        gateway.arg("--link").arg(at("link.sock"));
        gateway.arg("--connect").arg(at("connect.json"));
        let log = std::fs::File::create(at("log")).expect("a log");
        let gateway = gateway.stdout(Stdio::null()).stderr(log);
        simulated
            .processes
            .insert(0, gateway.spawn().expect("the gateway"));
        let log = || std::fs::read_to_string(at("log")).unwrap_or_default();
        until("the gateway", || {
            assert!(!log().contains("ERROR"), "{}", log());
            at("gateway.sock").exists()
        });
        simulated
    }

    fn invivo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(paths::invivo());
        let connect = self.directory.path().join("connect.json");
        command.args(words).env("INVIVO_CONNECT", connect);
        command
    }

    /// What the page costs, after so many seconds on its first screen.
    fn page(&self, ranks: u32, seconds: u32) -> Value {
        let measured = self.directory.path().join("measured.json");
        let web = Web::of(self.invivo(&["web", "--json"]));
        let known = json!({ "ranks": ranks, "seconds": seconds, "measured": measured });
        let folder: &Path = self.directory.path();
        browse(&web, &self.invivo(&[]), folder, "many", &known);
        let text = std::fs::read_to_string(&measured).expect("what was measured");
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WITHIN, "not within {WITHIN:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn can_run() -> bool {
    let has = paths::simulation().exists();
    if !has {
        not_tested("the page of many ranks: no simulation (cargo xtask test --only scale)");
    }
    has && has_browser()
}

fn number(of: &Value, pointer: &str) -> f64 {
    let value = of.pointer(pointer).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {pointer} in {of}"))
}

#[test]
#[ignore = "a minute"]
fn thousands_of_ranks_cost_a_page_what_few_cost() {
    if !can_run() {
        return;
    }
    let [small, large] = SIZES.map(|(ranks, fan_in)| {
        let measured = Simulated::start(ranks, fan_in).page(ranks, 5);
        println!("{ranks} ranks: {measured}");
        measured
    });
    let is_alike = |pointer| number(&large, pointer) <= APART_MAX * number(&small, pointer);
    assert!(
        is_alike("/snapshot_bytes"),
        "{large}, and of few ranks {small}"
    );
    for (screen, of) in large["screens"].as_object().expect("screens") {
        let before = &small["screens"][screen];
        assert!(number(of, "/elements") <= APART_MAX * number(before, "/elements"));
        match PICTURES.iter().find(|(name, _)| name == screen) {
            None => assert!(
                number(of, "/answer") <= APART_MAX * number(before, "/answer"),
                "{screen}: {of}, and of few ranks {before}"
            ),
            Some((_, bytes_max)) => {
                assert!(number(of, "/answer") <= *bytes_max, "{screen}: {of}")
            }
        }
    }
    let grown = number(&large, "/after") - number(&large, "/before");
    assert!(grown <= GROWN_MAX as f64, "{large}");
}

/// A page that is left open.
#[test]
#[ignore = "ten minutes"]
fn memory_of_a_page_does_not_grow() {
    if !can_run() {
        return;
    }
    let (ranks, fan_in) = SIZES[1];
    let measured = Simulated::start(ranks, fan_in).page(ranks, 600);
    println!("{ranks} ranks: {measured}");
    let grown = number(&measured, "/after") - number(&measured, "/before");
    assert!(grown <= GROWN_MAX as f64, "{measured}");
}
