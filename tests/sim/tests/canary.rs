//! The checker must find what is wrong: every planted bug, by the promise that it breaks.

use clap::ValueEnum;
use invivo_sim::case::Case;
use invivo_sim::plant::Plant;
use invivo_sim::{checker, simulation};

/// What the checker says about a case.
fn violations(case: &Case) -> Vec<String> {
    let (layout, history) = simulation::run(case, false).expect("a random case has a tree");
    checker::violations(case, &layout, &history)
}

/// A part of the sentence about this bug.
fn complaint(plant: Plant) -> &'static str {
    match plant {
        Plant::LoseCall | Plant::CountTwice => "is not the flat computation's",
        Plant::LoseRecord | Plant::KeepTwice => "are accounted for",
        Plant::DoTwice => "did [",
        Plant::AckFailure => "instead of Acks",
        Plant::Swallow => "nothing was wrong with it",
        Plant::Mute => "was answered 0 times",
        Plant::RememberAll | Plant::TakeOld | Plant::RunOver => "is true of",
        Plant::AckEarly => "the window was acknowledged",
        Plant::OwnEpochs => "epochs differ",
        Plant::OwnTime => "a cut lay at",
        Plant::StuckGate => "stood from",
    }
}

#[test]
fn every_planted_bug_is_found() {
    for &plant in Plant::value_variants() {
        let found = (0..200).find_map(|seed| {
            let healthy = Case {
                offset_ms: 1000,
                ..match plant {
                    Plant::OwnEpochs => Case::of_clients(seed),
                    // What comes late must come later than the next question: slow links in a low
                    // tree.
                    Plant::AckEarly => Case {
                        hosts: 1,
                        ranks_per_host: 8,
                        fan_in: 8,
                        calls: 80,
                        delay_us: invivo_sim::case::DELAY_US_MAX,
                        ..Case::of_seed(seed).healthy()
                    },
                    _ => Case::of_seed(seed).healthy(),
                }
            };
            assert_eq!(violations(&healthy), [] as [&str; 0], "{healthy}");
            let spoilt = Case {
                plant: Some(plant),
                ..healthy
            };
            let found = violations(&spoilt);
            (!found.is_empty()).then_some((spoilt, found))
        });
        let (case, found) = found.unwrap_or_else(|| panic!("nobody noticed {plant}"));
        assert!(
            found
                .iter()
                .any(|sentence| sentence.contains(complaint(plant))),
            "{case}\n{}",
            found.join("\n")
        );
    }
}

/// The command that a failing case prints runs that very case.
#[test]
fn a_failing_case_prints_the_command_that_reruns_it() {
    let case = Case {
        plant: Some(Plant::Mute),
        ..Case::of_seed(3)
    };
    let smallest = case.shrunk(|case| {
        violations(case)
            .iter()
            .any(|sentence| sentence.contains("0 times"))
    });
    assert!(
        smallest.ranks() <= case.ranks() && smallest.questions + smallest.commands <= 1,
        "{smallest}"
    );
    let command = smallest.to_string();
    let arguments = command
        .split(" -- ")
        .nth(1)
        .expect("arguments stand behind the dashes")
        .split(' ');
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(arguments)
        .output()
        .expect("sim runs");
    let printed = String::from_utf8(output.stdout).expect("sim prints text");
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("# does not hold: ask 0 was answered 0 times"),
        "{printed}"
    );
    assert!(printed.starts_with(&format!("# {command}\n")), "{printed}");
    assert!(printed.lines().count() > 5, "{printed}");
}
