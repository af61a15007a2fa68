//! Counts instructions by callgrind, where a machine is too noisy to measure times.
//!
//! A profile is the text that valgrind's manual describes ("Callgrind Format Specification"): each
//! line of costs belongs to the object and function named last, but for the line behind `calls=`,
//! which repeats what the callee cost.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The command line of a program under callgrind, which writes its profiles to `folder`.
pub fn counted(program: &[OsString], folder: &Path) -> Vec<OsString> {
    let mut out = OsString::from("--callgrind-out-file=");
    // callgrind puts each process's number there.
    out.push(folder.join("profile.%p"));
    let mut command = vec![
        "valgrind".into(),
        "--quiet".into(),
        "--tool=callgrind".into(),
        out,
    ];
    command.extend_from_slice(program);
    command
}

/// Instructions executed in the objects whose name contains `object`, without those of functions
/// and source files whose name contains one of `but`, by the name that the program gave to each
/// dump.
pub fn in_object(folder: &Path, object: &str, but: &[&str]) -> BTreeMap<String, u64> {
    let files = std::fs::read_dir(folder).expect("the folder of profiles");
    files
        .map(|file| {
            std::fs::read_to_string(file.expect("a profile").path()).expect("a profile's text")
        })
        .filter_map(|profile| {
            // The dump at the end of the process has another trigger, and no name.
            let name = profile
                .lines()
                .find_map(|line| line.strip_prefix("desc: Trigger: Client Request: "))?;
            Some((name.to_owned(), of_object(&profile, object, but)))
        })
        .collect()
}

/// Names that stand as `(number) name` at first, and as `(number)` from then on.
#[derive(Default)]
struct Names<'a> {
    by_number: BTreeMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    fn get(&mut self, entry: &'a str) -> &'a str {
        let (number, name) = entry.split_once(' ').unwrap_or((entry, ""));
        if !name.is_empty() {
            self.by_number.insert(number, name);
        }
        self.by_number[number]
    }
}

/// The instructions of one profile that belong to such objects, and to none of these functions and
/// files.
fn of_object(profile: &str, object: &str, but: &[&str]) -> u64 {
    let (mut objects, mut files) = (Names::default(), Names::default());
    let mut functions = Names::default();
    let is_meant = |name: &str| but.iter().any(|part| name.contains(part));
    let (mut is_of_object, mut of_callee, mut sum) = (false, false, 0);
    let (mut is_left_out_file, mut is_left_out_function) = (false, false);
    for line in profile.lines() {
        // Those of a callee are remembered, and costs still belong to the caller.
        match line.split_once('=') {
            Some(("ob", entry)) => is_of_object = objects.get(entry).contains(object),
            Some(("cob", entry)) => _ = objects.get(entry),
            // `fi` and `fe` are what a function has inlined from another file, and its own again.
            Some(("fl" | "fi" | "fe", entry)) => {
                is_left_out_file = is_meant(files.get(entry));
            }
            Some(("cfi" | "cfl", entry)) => _ = files.get(entry),
            Some(("fn", entry)) => is_left_out_function = is_meant(functions.get(entry)),
            Some(("cfn", entry)) => _ = functions.get(entry),
            // The next line has the callee's inclusive cost, which is counted in the callee's own
            // lines.
            Some(("calls", _)) => of_callee = true,
            _ => {
                let is_cost =
                    line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first));
                let is_own = is_cost && !std::mem::take(&mut of_callee);
                if is_own && is_of_object && !is_left_out_file && !is_left_out_function {
                    // The first field is the line number, the second the count of the only event,
                    // `Ir`.
                    let cost = line
                        .split(' ')
                        .nth(1)
                        .expect("a cost behind the line's number");
                    sum += cost.parse::<u64>().expect("a count");
                }
            }
        }
    }
    sum
}

#[test]
fn costs_of_callees_and_left_out_files_are_their_own() {
    let profile = "events: Ir\n\nob=(1) /lib/a.so\nfl=(1) a.c\nfn=(1) f\n10 5\n+2 7\n\
                   fi=(2) inlined.c\n7 30\nfe=(1)\n\
                   cfi=(3) b.c\ncob=(2) /lib/b.so\ncfn=(2) g\ncalls=3 1\n* 100\n\
                   ob=(2)\nfl=(3)\nfn=(2)\n1 100\nob=(1)\nfl=(1)\nfn=(3) h\n-1 2\n\
                   totals: 144\n";
    assert_eq!(of_object(profile, "a.so", &[]), 44);
    assert_eq!(of_object(profile, "a.so", &["inlined"]), 14);
    assert_eq!(of_object(profile, "a.so", &["h"]), 42);
    assert_eq!(of_object(profile, "b.so", &["inlined"]), 100);
}
