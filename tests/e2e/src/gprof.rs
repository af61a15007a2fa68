//! Calls of functions as gprof lists them, and where these functions are.
//!
//! gprof reads what `mcount` has counted, which the compiler calls at the begin of each function
//! with `-pg`. That is every call from the program itself; calls from a library are in no list.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the files with what was counted; each process adds its number.
pub const PREFIX: &str = "GMON_OUT_PREFIX";

/// The files that processes have left with this prefix.
pub fn profiles(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of profiles");
    let paths = entries.map(|entry| entry.expect("a profile").path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix)
    };
    paths.filter(is_one).collect()
}

/// How often each function was called, by its name for the linker.
pub fn calls(program: &Path, profile: &Path) -> BTreeMap<String, u64> {
    // The flat profile leaves out calls of a function by itself; the call graph has both.
    let options = ["--brief", "--graph", "--no-demangle"].map(OsStr::new);
    let words = [&options[..], &[program.as_ref(), profile.as_ref()]].concat();
    called(&output("gprof", &words))
}

/// Names of functions for the linker, with their addresses in the file.
pub fn addresses(program: &Path) -> BTreeMap<String, u64> {
    let mut addresses = BTreeMap::new();
    for line in output("nm", &[program.as_ref()]).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, "t" | "T" | "w" | "W", name] = words[..] else {
            continue;
        };
        let address = u64::from_str_radix(address, 16).expect("an address");
        let other = addresses.insert(name.to_owned(), address);
        // gprof has one line for both then.
        assert!(other.is_none_or(|other| other == address), "two: {name}");
    }
    addresses
}

fn output(program: &str, words: &[&OsStr]) -> String {
    let output = Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Calls in a call graph: of each entry the line with its number in front is about the function
/// itself, the others about its callers and callees.
fn called(graph: &str) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for line in graph.lines().filter(|line| line.starts_with('[')) {
        // [INDEX] %TIME SELF CHILDREN CALLED[+BY ITSELF] NAME [<cycle NUMBER>] [INDEX]
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, _, called, name, ..] = words[..] else {
            continue;
        };
        // A cycle of several functions has an entry of its own beside theirs. One that only a
        // library has called has no number there.
        let numbers = called.split('+').map(str::parse::<u64>);
        let Ok(numbers) = numbers.collect::<Result<Vec<u64>, _>>() else {
            continue;
        };
        if name != "<cycle" {
            let before = calls.insert(name.to_owned(), numbers.iter().sum());
            assert_eq!(before, None, "two entries of {name}");
        }
    }
    calls
}

#[test]
fn calls_of_a_function_by_itself_count_as_others() {
    let graph = "\
index % time    self  children    called     name
                0.00    0.00      10/10          run [2]
[1]    100.0    0.01    0.00      10         leaf [1]
-----------------------------------------------
                                                 <spontaneous>
[2]    100.0    0.00    0.01                 main [2]
-----------------------------------------------
                                  38             twice [3]
                0.00    0.00       2/2           main [2]
[3]      0.0    0.00    0.00       2+38      twice [3]
-----------------------------------------------
[4]      0.0    0.00    0.00       3+90      <cycle 1 as a whole> [4]
                0.00    0.00      48             even <cycle 1> [5]
-----------------------------------------------
[5]      0.0    0.00    0.00      48         even <cycle 1> [5]
-----------------------------------------------
";
    let expected = [("even", 48), ("leaf", 10), ("twice", 40)];
    let expected = expected.map(|(name, calls)| (name.to_owned(), calls));
    assert_eq!(called(graph), BTreeMap::from(expected));
}
