//! The test programs without Invivo: their results and their own counts are right.

use invivo_e2e::checks::{all_received, same, same_calls_where_counted_by};
use invivo_e2e::job::Job;
use invivo_e2e::logs::counts::{recorded, without_large_counts};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, Counter, counter, program};

/// An odd number of them, so that halves differ.
const RANKS: u32 = 3;

/// One script in six programs: on every MPI all ranks print the same digests in every language
/// (Python has one section more), and each program's own count is that of a PMPI layer.
#[test]
#[ignore = "long"]
fn six_languages_print_the_same_and_count_right() {
    for family in Family::ALL {
        let mut expected: Option<Vec<String>> = None;
        for conversation in Conversation::ALL {
            let ended = Job::bare(family, RANKS, &conversation.command(family))
                .env("LD_PRELOAD", counter(family, Counter::Deep))
                .run();

            assert_eq!(ended.code(), 0, "{conversation:?} on {family:?}");
            let printed: Vec<String> = ended
                .stdout()
                .iter()
                .map(|text| {
                    text.lines()
                        // A section that only Python has.
                        .filter(|line| !line.starts_with("objects "))
                        .map(|l| format!("{l}\n"))
                        .collect()
                })
                .collect();

            match &expected {
                None => expected = Some(printed),
                Some(expected) => assert_eq!(expected, &printed, "{conversation:?} on {family:?}"),
            }

            let (own, counted) = (ended.own_counts(), ended.counter_counts());
            if conversation == Conversation::Python {
                // mpi4py calls more by itself.
                same_calls_where_counted_by(
                    "the program and the counter",
                    &own.calls,
                    &without_large_counts(&counted.calls),
                );
            } else {
                same(
                    "calls by the program and by the counter",
                    &recorded(&own.calls),
                    &recorded(&counted.calls),
                );
            }
            all_received(&own.sent, &own.received);
        }
    }
}

/// The launchers pass the status of the programs on.
#[test]
fn the_exit_status_is_the_programs() {
    for family in Family::ALL {
        for status in [0, 3] {
            let ended = Job::bare(
                family,
                2,
                &program(family, "init_finalize", [&status.to_string()]),
            )
            .run();
            assert_eq!(ended.code(), status, "{family:?}");
            assert_eq!(ended.stdout(), ["rank 0\n", "rank 1\n"]);
        }
    }
}
