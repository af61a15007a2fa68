//! `MPI_Pcontrol`: programs switch recording of their own ranks off and on, and tell their phases.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language};
use serde_json::Value;
use std::collections::BTreeMap;

const RANKS: u32 = 2;

/// The phases that were told, and how often they began.
fn phases(regions: &Value) -> BTreeMap<String, u64> {
    let rows = regions["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        assert!(number(row, "/mpi_ns") > 0, "it calls MPI: {row}");
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, number(row, "/visits"))
    };
    rows.iter().map(row).collect()
}

/// What a rank calls while it has switched recording off is not there, and all else is; switching
/// from outside does not switch it on. Other levels are phases.
#[test]
fn ranks_switch_recording_for_themselves() {
    for family in Family::ALL {
        for language in [Language::C, Language::Fortran] {
            let what = format!("{family:?}, {language:?}");
            let command = in_language(family, "pcontrol", language, &[]);
            let mut running = Job::observed(family, RANKS, &command).start();
            running.wait_for_answers();
            running.wait_for_notes("off");
            let client = running.client();
            // The program notes it while it is off, so that nothing is called meanwhile.
            client.all_do(RANKS, &["record", "off"]);
            client.all_do(RANKS, &["record", "on"]);
            let status = client.json(&["status"]);
            assert!(
                status
                    .to_string()
                    .contains("rank 1 has switched its own recording off"),
                "{what}: {status}"
            );
            let expected = [("phase 2147483647", 1), ("phase 3", 2)];
            let expected =
                expected.map(|(name, visits)| (name.to_owned(), visits * u64::from(RANKS)));
            let expected = BTreeMap::from(expected);
            running.until("its phases", |job| {
                let told = phases(&job.client().try_json(&["regions"])?);
                (told == expected).then_some(())
            });
            running.tell("go");

            let ended = running.end();
            assert_eq!(ended.code(), 0, "{what}");
            ended.assert_nothing_left();
            let report = ended.report();
            checks::complete(&report, RANKS);
            let counts = ended.own_counts();
            checks::same_calls(&report, &counts.calls);
            // Rank 0 never switches: it has made more calls that were counted.
            let of = |rank: u32| -> u64 {
                let own = counts.calls.iter().filter(|((of, _), _)| *of == rank);
                own.map(|(_, calls)| calls).sum()
            };
            assert_eq!(
                of(0) - of(1),
                2 * 5 + 3,
                "{what}: calls not counted on rank 1"
            );
        }
    }
}
