//! What is recorded is chosen while a program runs: each region and function has exactly what
//! happened while it was selected, also where the rules change inside of it.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{plain_name, regions, selection};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

const RANKS: u32 = 2;
const ROUNDS: u64 = 100;
/// Time of a call of `tiny`, in ns, and calls of it in a round.
const TINY_NS: u64 = 20_000;
const TINIES: u64 = 10;

/// A stage of the program: what is done before it, and what is selected then.
struct Stage {
    commands: Vec<Vec<&'static str>>,
    off: &'static [&'static str],
}

/// All regions of the program, with their visits of each round; 0 for those that are entered
/// before a stage, once but for `deep`.
const REGIONS: [(&str, u64); 8] = [
    ("stage", 0),
    ("around", 0),
    ("deep", 0),
    ("work", 1),
    ("tiny", TINIES),
    ("again", 4),
    ("phase", 1),
    ("step", 1),
];

fn stages(filter: &'static str) -> Vec<Stage> {
    let stage = |commands: &[&'static str], off| Stage {
        commands: (commands.iter())
            .map(|words| words.split(' ').collect())
            .collect(),
        off,
    };
    vec![
        stage(&[], &[]),
        stage(&["exclude tiny"], &["tiny"]),
        stage(
            &["exclude phase deep around"],
            &["tiny", "phase", "deep", "around"],
        ),
        stage(&["clear"], &[]),
        stage(
            &["exclude *", "include work step"],
            &["stage", "around", "deep", "tiny", "again", "phase"],
        ),
        Stage {
            commands: vec![vec!["load", filter]],
            off: &["stage", "deep", "work", "tiny", "again"],
        },
        stage(
            &["clear", "exclude MPI_Iprobe MPI_Test* MPI_Isend group:coll"],
            &[],
        ),
        // As often as that only those two have been entered.
        stage(&["clear", "exclude shorter:1ms@2000"], &["tiny", "again"]),
    ]
}

fn rows(answer: &Value) -> BTreeMap<&str, &Value> {
    let rows = answer["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let named = rows.iter().map(|row| {
        let function = row.pointer("/functions/0/function").and_then(Value::as_str);
        let marked = row["name"].as_str().filter(|name| !name.is_empty());
        let name = marked.unwrap_or_else(|| plain_name(function.unwrap_or("?")));
        (name, row)
    });
    named.collect()
}

fn visits(answer: &Value, name: &str) -> u64 {
    rows(answer)
        .get(name)
        .map_or(0, |row| number(row, "/visits"))
}

/// Calls of MPI_Test that found nothing in a stage.
fn polls(job: &Running, stage: usize) -> u64 {
    let of = |rank: u32| {
        let file = job.logs().join(format!("{rank}.stage-{stage}"));
        let text = std::fs::read_to_string(file).expect("a rank's polls");
        text.trim().parse::<u64>().expect("a number")
    };
    (0..RANKS).map(of).sum()
}

fn filter_file() -> PathBuf {
    let path = std::env::temp_dir().join(format!("invivo-filter-{}", std::process::id()));
    let text = "SCOREP_FILE_NAMES_BEGIN\n  EXCLUDE */selection.c # its functions\n\
                SCOREP_FILE_NAMES_END\n";
    std::fs::write(&path, text).expect("a filter file");
    path
}

fn chosen(family: Family, fan_in: &'static str) {
    let filter = filter_file();
    let path: &'static str = Box::leak(filter.display().to_string().into_boxed_str());
    let plan = stages(path);
    let command = selection(family, plan.len(), ROUNDS);
    let mut job = Job::observed(family, RANKS, &command)
        .fan_in(fan_in)
        .start();
    job.wait_for_answers();
    let ranks = u64::from(RANKS);
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    let mut before: &[&str] = &[];
    let mut tests = 0;
    let mut tests_off = 0;
    for (number_of, stage) in plan.iter().enumerate() {
        job.until("the stage to begin", |job| {
            let answer = job.client().try_json(&["regions"])?;
            (number_of > 0 || visits(&answer, "stage") == ranks).then_some(())
        });
        for words in &stage.commands {
            let command = [&["selection"], &words[..]].concat();
            let reply = job.client().all_do(RANKS, &command);
            assert!(number(&reply, "/from/latest_ns") > 0, "{reply}");
        }
        job.tell(&format!("go-{number_of}"));
        job.wait_for_notes(&format!("stage-{number_of}"));
        for (name, of_round) in REGIONS {
            let (off, times) = match of_round {
                0 if name == "deep" => (before, 3),
                0 => (before, 1),
                times => (stage.off, times * ROUNDS),
            };
            if !off.contains(&name) {
                *expected.entry(name).or_default() += times * ranks;
            }
        }
        before = stage.off;
        match number_of {
            6 => tests_off = polls(&job, 6),
            _ => tests += polls(&job, number_of),
        }
        tests += ROUNDS * ranks;
        // The next stage has begun where there is one.
        let next = u64::from(number_of + 1 < plan.len()) * ranks;
        let all = |name: &str| -> u64 {
            let begun = match name {
                "deep" => 3 * next,
                "stage" | "around" => next,
                _ => 0,
            };
            let begun = if stage.off.contains(&name) { 0 } else { begun };
            expected.get(name).copied().unwrap_or(0) + begun
        };
        let told = job.until("all visits", |job| {
            let answer = job.client().try_json(&["regions"])?;
            let is_there = REGIONS
                .iter()
                .all(|(name, _)| visits(&answer, name) >= all(name));
            is_there.then_some(answer)
        });
        for (name, _) in REGIONS {
            let row = rows(&told).get(name).copied().cloned().unwrap_or_default();
            let what = format!("{family:?}, stage {number_of}: {name}: {row}");
            assert_eq!(visits(&told, name), all(name), "{what}");
            let off = if stage.off.contains(&name) { ranks } else { 0 };
            assert_eq!(number(&row, "/off_ranks"), off, "{what}");
        }
        for loss in ["dropped", "repaired", "too_deep"] {
            assert_eq!(number(&told, &format!("/{loss}")), 0, "{told}");
        }
        if number_of == 1 {
            // What `tiny` takes is its caller's own now.
            let own = number(rows(&told)["work"], "/own_ns");
            assert!(own > ranks * ROUNDS * TINIES * TINY_NS * 9 / 10, "{own} ns");
        }
        let status = job.client().json(&["selection"]);
        println!("{family:?}, stage {number_of}: {status}");
        let off = number(&status, "/regions_off");
        assert_eq!(off, stage.off.len() as u64 * ranks, "{status}");
        let on = number(&status, "/regions_on");
        assert_eq!(on + off, REGIONS.len() as u64 * ranks, "{status}");
    }
    functions(&job, plan.len() as u64, tests, tests_off);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
    std::fs::remove_file(filter).expect("the filter file");
}

/// In one stage some functions of MPI were left out: all of their calls, but those that complete a
/// request, and those that carry messages.
fn functions(job: &Running, stages: u64, tests: u64, tests_off: u64) {
    let ranks = u64::from(RANKS);
    let answer = job.client().json(&["functions"]);
    let calls = |name: &str| {
        let rows = answer["rows"].as_array().expect("rows").iter();
        let mut row = rows.filter(|row| row["function"].as_str() == Some(name));
        row.next().map_or(0, |row| number(row, "/calls"))
    };
    let others = (stages - 1) * ROUNDS * ranks;
    for (name, expected) in [
        ("MPI_Iprobe", 3 * others),
        ("MPI_Allreduce", others),
        ("MPI_Isend", stages * ROUNDS * ranks),
        ("MPI_Irecv", stages * ROUNDS * ranks),
        ("MPI_Test", tests),
    ] {
        assert_eq!(calls(name), expected, "{name}: {answer}");
    }
    let matrix = job.client().json(&["matrix"]);
    let cells = matrix["cells"].as_array().expect("cells").iter();
    let (sent, received) = cells.fold((0, 0), |(sent, received), cell| {
        (
            sent + number(cell, "/sent/messages"),
            received + number(cell, "/received/messages"),
        )
    });
    let messages = stages * ROUNDS * ranks;
    assert_eq!((sent, received), (messages, messages), "{matrix}");
    let status = job.client().json(&["selection"]);
    let off = 4 * ROUNDS * ranks + tests_off;
    assert_eq!(number(&status, "/calls_off"), off, "{status}");
}

#[test]
fn exactly_what_is_selected_is_recorded_on_open_mpi() {
    chosen(Family::Ompi, "4,16");
}

#[test]
fn exactly_what_is_selected_is_recorded_on_mpich() {
    chosen(Family::Mpich, "4,16");
}

#[test]
fn tool_places_change_what_is_recorded_alike() {
    // A place for each rank.
    chosen(Family::Ompi, "1,16");
}

/// From the start nothing but one region is recorded, in every language; and what is excluded
/// while the program runs stands still from the answer on.
fn from_the_start(family: Family) {
    for (language, command) in regions(family, 1_000_000) {
        let job = Job::observed(family, RANKS, &command);
        let job = job.options([
            "--selection",
            "exclude *; include exchange; include *outer*",
        ]);
        let mut job = job.start();
        job.wait_for_answers();
        let of = |job: &Running| job.client().try_json(&["regions"]);
        let answer = job.until("what is included", |job| {
            let answer = of(job)?;
            let both = ["exchange", "outer"]
                .iter()
                .all(|name| visits(&answer, name) > 20);
            both.then_some(answer)
        });
        let names: Vec<&str> = rows(&answer).keys().copied().collect();
        assert_eq!(names, ["exchange", "outer"], "{language}: {answer}");
        let client = job.client();
        client.all_do(RANKS, &["selection", "exclude", "*outer"]);
        // What was recorded before the answer may be on its way behind it.
        let later = |job: &mut Running| {
            let last = visits(&job.client().json(&["regions"]), "exchange");
            let answer = job.until("more of the other", |job| {
                let answer = of(job)?;
                (visits(&answer, "exchange") > last + 40).then_some(answer)
            });
            visits(&answer, "outer")
        };
        let stopped = later(&mut job);
        assert_eq!(later(&mut job), stopped, "{language}");
        // It has a million rounds before it: it is killed here.
        drop(job);
    }
}

#[test]
fn rules_hold_from_the_start_on_open_mpi() {
    from_the_start(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn rules_hold_from_the_start_on_mpich() {
    from_the_start(Family::Mpich);
}

/// What cannot be is refused with a sentence, and changes nothing.
#[test]
fn wrong_rules_change_nothing() {
    let command = selection(Family::Ompi, 1, 1);
    let mut job = Job::observed(Family::Ompi, RANKS, &command).start();
    job.wait_for_answers();
    let client = job.client();
    client.all_do(RANKS, &["selection", "exclude", "tiny"]);
    let before = client.json(&["selection"])["rules"].clone();
    let many: Vec<String> = (0..64).map(|rule| format!("rule_{rule}")).collect();
    let many: Vec<&str> = ["selection", "exclude"]
        .into_iter()
        .chain(many.iter().map(String::as_str))
        .collect();
    for (words, told) in [
        (&["selection", "exclude", "group:all"][..], "there are p2p"),
        (&["selection", "exclude", "shorter:fast"], "shorter:1us"),
        (&["selection", "load", "/nowhere/filter"], "/nowhere/filter"),
        (&many, "65 rules would be in force"),
    ] {
        let output = client.run(words);
        assert!(!output.status.success(), "{words:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = text + &String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(told), "{words:?}: {text}");
        assert_eq!(client.json(&["selection"])["rules"], before);
    }
    job.tell("go-0");
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}
