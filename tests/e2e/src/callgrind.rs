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

/// Instructions executed in the objects whose name contains `object`, by the name that the program
/// gave to each dump.
pub fn in_object(folder: &Path, object: &str) -> BTreeMap<String, u64> {
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
            Some((name.to_owned(), of_object(&profile, object)))
        })
        .collect()
}

/// The instructions of one profile that belong to such objects.
fn of_object(profile: &str, object: &str) -> u64 {
    let (mut names, mut current, mut of_callee, mut sum) = (BTreeMap::new(), "", false, 0);
    for line in profile.lines() {
        let named = |prefix| line.strip_prefix(prefix);
        if let Some(entry) = named("ob=").or_else(|| named("cob=")) {
            // `(number) name` at first, `(number)` from then on.
            let (number, name) = entry.split_once(' ').unwrap_or((entry, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            // `cob=` names the object of a callee: it is remembered, and costs still belong to the
            // caller.
            if line.starts_with("ob=") {
                current = names[number];
            }
        } else if line.starts_with("calls=") {
            // The next line has the callee's inclusive cost, which is counted in the callee's own
            // lines.
            of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut of_callee)
            && current.contains(object)
        {
            // The first field is the line number, the second the count of the only event, `Ir`.
            let cost = line
                .split(' ')
                .nth(1)
                .expect("a cost behind the line's number");
            sum += cost.parse::<u64>().expect("a count");
        }
    }
    sum
}

#[test]
fn costs_of_callees_are_their_own() {
    let profile = "events: Ir\n\nob=(1) /lib/a.so\nfl=(1) a.c\nfn=(1) f\n10 5\n+2 7\n\
                   cob=(2) /lib/b.so\ncfn=(2) g\ncalls=3 1\n* 100\n\
                   ob=(2)\nfn=(2)\n1 100\nob=(1)\nfn=(3) h\n-1 2\ntotals: 114\n";
    assert_eq!(of_object(profile, "a.so"), 14);
    assert_eq!(of_object(profile, "b.so"), 100);
}
