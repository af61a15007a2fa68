//! Visits of regions are in the buffers: a timeline, a save and what is exported of it have each of
//! them, where the program has it.

use invivo_archive::saved::SavedObservation;
use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::regions::{Row, written_by};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{plain_name, regions};
use invivo_e2e::results::otf2_print::{behind, printed};
use invivo_e2e::results::timeline;
use invivo_otfx::Head;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const RANKS: u32 = 2;
const ROUNDS: u32 = 200;
/// As in the test of the table of regions.
const READING_NS: u64 = 4_000;
/// What a rank waits for a processor that it lost between two readings of the clock, in ns.
const SLICE_NS: u64 = 8_000_000;

/// In what each region or MPI function of a round is, and how often.
const NESTED: [(&str, &str, u64); 8] = [
    ("setup", "", 1),
    ("solve", "", 1),
    ("outer", "solve", 2),
    ("inner", "outer", 10),
    ("MPI_Allreduce", "outer", 2),
    ("MPI_Barrier", "solve", 1),
    ("exchange", "", 1),
    ("MPI_Sendrecv", "exchange", 1),
];

/// A region or function of one rank, without what compilers and languages add to names.
fn plain(name: &str) -> String {
    match name.to_ascii_lowercase().strip_prefix("mpi_") {
        // Fortran's wrappers have the C names.
        Some(_) => name.to_owned(),
        None => plain_name(name).to_owned(),
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a name of letters")
}

/// Each rank's slices are those of the rounds, each in its place.
fn is_nested(what: &str, found: &BTreeMap<(u64, String, String), u64>) {
    let mut sums: BTreeMap<(u64, String, String), u64> = BTreeMap::new();
    for ((track, name, around), slices) in found {
        let key = (*track, plain(name), plain(around));
        *sums.entry(key).or_default() += slices;
    }
    let tracks: Vec<u64> = sums.keys().map(|(track, ..)| *track).collect();
    let (first, last) = (tracks[0], *tracks.last().expect("a track"));
    assert_eq!(last - first + 1, u64::from(RANKS), "{what}: {sums:?}");
    for track in first..=last {
        for (name, around, each) in NESTED {
            let key = (track, name.to_owned(), around.to_owned());
            let slices = sums.get(&key).copied().unwrap_or(0);
            let expected = each * u64::from(ROUNDS);
            assert_eq!(slices, expected, "{what}: {name} in {around:?}: {sums:?}");
        }
    }
}

/// The events of an archive: slices as above, and the time in each, by rank.
type Slices = BTreeMap<(u64, String, String), u64>;
fn of_archive(archive: &Path) -> (Slices, BTreeMap<(u64, String), u64>) {
    let (mut slices, mut times) = (Slices::new(), BTreeMap::new());
    let mut inside: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    for line in printed(archive, "--timestamps=plain") {
        let mut words = line.split_whitespace();
        let (Some(event), Some(rank), Some(at)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (Ok(rank), Ok(at)) = (rank.parse::<u64>(), at.parse::<u64>()) else {
            continue;
        };
        let inside = inside.entry(rank).or_default();
        let region = || {
            let (_, name) = behind(&line, "Region").split_once('"').expect("a name");
            name.rsplit_once('"').expect("its end").0.to_owned()
        };
        match event {
            "ENTER" => inside.push((region(), at)),
            "LEAVE" => {
                let (name, since) = inside.pop().expect("a leave of something");
                assert_eq!(name, region(), "{line}");
                let around = inside.last().map_or("", |(name, _)| name);
                let key = (rank, name.clone(), around.to_owned());
                *slices.entry(key).or_default() += 1;
                *times.entry((rank, plain(&name))).or_default() += at - since;
            }
            _ => {}
        }
    }
    (slices, times)
}

fn export(job: &Running, dir: &Path, form: &str) -> (PathBuf, Value) {
    let out = job.directory().join(form);
    let words = ["export", shown(dir), "--to", form, shown(&out)];
    let said = job.client().json(&words);
    (out, said)
}

/// The rows of a table of regions: visits, and times in it, in it alone and in MPI.
fn table(answer: &Value) -> BTreeMap<String, [u64; 5]> {
    let rows = answer["rows"].as_array().expect("rows").iter();
    let row = |row: &Value| {
        let function = row.pointer("/functions/0/function").and_then(Value::as_str);
        let name = function.or(row["name"].as_str()).expect("a name");
        let fields = ["visits", "time_ns", "own_ns", "mpi_ns", "own_mpi_ns"];
        let numbers = fields.map(|field| number(row, &format!("/{field}")));
        (plain(name), numbers)
    };
    rows.map(row).collect()
}

fn all_is_kept(family: Family, language: &str, job: Job) {
    let what = format!("{family:?} {language}");
    let mut job = job.start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let expected: Vec<BTreeMap<String, Row>> = (0..RANKS)
        .map(|rank| written_by(&job.logs(), rank))
        .collect();
    let all: u64 = expected.iter().flatten().map(|(_, row)| row[0]).sum();
    let live = job.until("all visits, with names", |job| {
        let answer = job.client().try_json(&["regions"])?;
        let visits: u64 = table(&answer).values().map(|row| row[0]).sum();
        (number(&answer, "/rows_unnamed") == 0 && visits == all).then_some(answer)
    });
    let buffers = job.client().json(&["buffers"]);
    assert_eq!(number(&buffers, "/regions/kept"), all, "{buffers}");

    // While it runs: a trace of the last minute.
    let trace = job.directory().join("live.pftrace");
    let words = ["timeline", "--seconds", "60", "-o", shown(&trace)];
    let run = job.client().run(&words);
    assert!(run.status.success(), "{run:?}");
    is_nested(&format!("{what}, live"), &timeline::nested(&trace));

    // Saved, and exported in each form.
    let dir = job.directory().join("saved");
    job.client().json(&["save", shown(&dir)]);
    let (trace, said) = export(&job, &dir, "perfetto");
    assert_eq!(number(&said, "/visits"), all, "{said}");
    is_nested(&format!("{what}, saved"), &timeline::nested(&trace));
    let (archive, said) = export(&job, &dir, "otf2");
    assert_eq!(number(&said, "/visits"), all, "{said}");
    assert_eq!(number(&said, "/moved"), 0, "{said}");
    let (slices, times) = of_archive(&archive);
    is_nested(&format!("{what}, OTF2"), &slices);
    for (rank, expected) in (0..).zip(&expected) {
        for (name, [visits, all_ns, ..]) in expected {
            let told = times[&(rank, name.clone())];
            let tolerance = all_ns / 50 + visits * READING_NS * 2 + SLICE_NS;
            assert!(
                told.abs_diff(*all_ns) <= tolerance,
                "{what}: {name} of rank {rank}: {told} ns instead of {all_ns}"
            );
        }
    }
    // Functions have their source lines, and say who found them.
    let definitions = printed(&archive, "-G");
    let inner = definitions
        .iter()
        .find(|line| line.starts_with("REGION") && plain(behind(line, "Name")).contains("inner"));
    let inner = inner.unwrap_or_else(|| panic!("{what}: no inner: {definitions:?}"));
    assert!(
        inner.contains("regions.") && inner.contains("COMPILER"),
        "{inner}"
    );
    let (csv, said) = export(&job, &dir, "csv");
    assert_eq!(number(&said, "/visits"), all, "{said}");
    let csv = std::fs::read_to_string(csv).expect("text");
    let visits = csv.lines().filter(|line| line.contains(",region,")).count();
    assert_eq!(visits as u64, all, "{what}");

    // The same table from disk.
    let saved = job.client().json(&["open", shown(&dir), "--", "regions"]);
    let (live, saved) = (table(&live), table(&saved));
    assert_eq!(
        live.keys().collect::<Vec<_>>(),
        saved.keys().collect::<Vec<_>>(),
        "{what}"
    );
    for (name, row) in &live {
        let of_saved = &saved[name];
        assert_eq!(row[0], of_saved[0], "{what}: visits of {name}");
        for (live, saved) in row[1..].iter().zip(&of_saved[1..]) {
            // Begins and ends are rounded to ns of job time.
            let tolerance = live / 1_000 + row[0] * 40;
            assert!(
                live.abs_diff(*saved) <= tolerance,
                "{what}: {name}: {row:?} live, {of_saved:?} from disk"
            );
        }
    }
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{what}");
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

/// What is saved when the job ends has the names of functions, though nobody has asked for them.
#[test]
fn names_are_there_when_a_job_has_ended() {
    for family in Family::ALL {
        let (_, command) = regions(family, ROUNDS).swap_remove(0);
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("end");
        let job = Job::observed(family, RANKS, &command);
        let mut job = job.options(["--save", shown(&dir)]).start();
        job.wait_for_notes("done");
        job.tell("stop");
        let ended = job.end();
        assert_eq!(ended.code(), 0, "{family:?}");
        let saved = SavedObservation::open(&dir).expect("whole");
        for rank in 0..RANKS {
            let regions = saved.regions(rank).iter();
            let mut names: Vec<&str> = regions.map(|of| of.name.as_str()).collect();
            names.sort_unstable();
            let expected = ["exchange", "inner", "outer", "setup", "solve"];
            assert_eq!(names, expected, "{family:?}");
        }
    }
}

/// Of a buffer that is full, what is deep in regions goes first.
#[test]
#[ignore = "long"]
fn a_strategy_keeps_what_is_not_deep() {
    const FAR: u32 = 6_000;
    let (_, command) = regions(Family::Ompi, FAR).swap_remove(0);
    let job = Job::observed(Family::Ompi, RANKS, &command);
    let strategy = ["--strategy", "depth:1", "--buffer", "256KiB"];
    let mut job = job.options(strategy).start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let dir = job.directory().join("saved");
    job.client().json(&["save", shown(&dir)]);
    let saved = SavedObservation::open(&dir).expect("whole");
    for of in saved.locations() {
        let mut kept: BTreeMap<String, u64> = BTreeMap::new();
        let mut calls = saved.calls(of).expect("whole");
        while let Some(one) = calls.next_call().expect("whole") {
            if let Head::Region(pass) = one.contents.head {
                let name = saved.region_name(of.rank, pass.region.0);
                *kept.entry(name).or_default() += 1;
            }
        }
        println!("rank {}: {kept:?}", of.rank);
        // Ten visits of the innermost function for each two of that around it.
        let visits = |name: &str| kept.get(name).copied().unwrap_or(0);
        assert!(visits("solve") > visits("inner"), "{kept:?}");
        assert!(of.visits.is_some_and(|of| of.reduced > 0), "{of:?}");
    }
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

#[test]
fn visits_are_kept_saved_and_exported_on_open_mpi() {
    for (language, command) in regions(Family::Ompi, ROUNDS) {
        let job = Job::observed(Family::Ompi, RANKS, &command);
        all_is_kept(Family::Ompi, language, job);
    }
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn visits_are_kept_saved_and_exported_on_mpich() {
    for (language, command) in regions(Family::Mpich, ROUNDS) {
        let job = Job::observed(Family::Mpich, RANKS, &command);
        all_is_kept(Family::Mpich, language, job);
    }
}
