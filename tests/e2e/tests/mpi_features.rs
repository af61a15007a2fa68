//! Features of MPI that an interposed library can break work under Invivo as without it.
//!
//! The programs of `tests/apps/mpi_features` print the same per rank, leave with the same status,
//! and make the calls that an independent counter counts, with Invivo and without.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::feature_table::{FEATURES, Support, markdown};
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::logs::counts::{Calls, calls_of_each_rank};
use invivo_e2e::manual::{self, MPI_FEATURES};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::root;
use invivo_e2e::programs::mpi_features::{BINDINGS, FeatureProgram, command};
use invivo_e2e::programs::{Counter, counter, program};
use invivo_e2e::results::report::Report;
use invivo_e2e::tested_functions;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Enough for two groups of different sizes; few, because MPICH spins while it waits.
const RANKS: u32 = 3;

/// The output of a rank by section, whose name is the part of a line before the first `: `.
fn sections(output: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in output.lines() {
        let (section, text) = line.split_once(": ").unwrap_or(("", line));
        sections.entry(section).or_default().push(text);
    }
    sections
}

/// Compares the ranks' outputs with those of the bare run, and panics with the sections that
/// differ.
fn same_output(what: &str, bare: &[String], observed: &[String]) {
    let mut differences = String::new();
    for (rank, (bare, observed)) in bare.iter().zip(observed).enumerate() {
        let (bare, observed) = (sections(bare), sections(observed));
        for name in bare
            .keys()
            .chain(observed.keys().filter(|name| !bare.contains_key(*name)))
        {
            let (expected, found) = (bare.get(name), observed.get(name));
            if expected == found {
                continue;
            }

            let (expected, found) = (
                expected.cloned().unwrap_or_default(),
                found.cloned().unwrap_or_default(),
            );
            let at = expected
                .iter()
                .zip(&found)
                .take_while(|(one, other)| one == other)
                .count();
            // Only the first line that differs is shown: the others mostly follow from it.
            differences.push_str(&format!(
                "  {name}: rank {rank}, line {at}: bare {:?}, observed {:?}\n",
                expected.get(at),
                found.get(at)
            ));
        }
    }
    assert!(differences.is_empty(), "{what}, in\n{differences}");
    assert_eq!(bare.len(), observed.len(), "{what}: ranks");
}

fn same_for_the_user(bare: &Ended, observed: &Ended) {
    same_output(
        "standard outputs differ",
        &bare.stdout(),
        &observed.stdout(),
    );
    same_output(
        "standard error outputs differ",
        &bare.stderr(),
        &observed.stderr(),
    );
    assert_eq!(bare.code(), observed.code(), "exit status");
    observed.assert_nothing_left();
}

/// Runs a program bare and observed, with a counter behind Invivo, and compares everything. Returns
/// the bare run.
fn compare(family: Family, command: &[OsString], environment: &[(&str, &str)]) -> Ended {
    compare_but_for(family, command, environment, &[]).0
}

/// As [`compare`], where the counter does not see `unseen`, functions that each rank calls once.
/// Returns the report, too.
fn compare_but_for(
    family: Family,
    command: &[OsString],
    environment: &[(&str, &str)],
    unseen: &[&str],
) -> (Ended, Report) {
    let with = |mut job: Job| {
        for (name, value) in environment {
            job = job.env(name, value);
        }
        job
    };

    let bare = with(Job::bare(family, RANKS, command)).run();
    let observed = with(Job::observed(family, RANKS, command))
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();

    same_for_the_user(&bare, &observed);
    let (report, mut counted) = (observed.report(), observed.counter_counts().calls);
    checks::complete(&report, RANKS);
    // The notes for the manual have only what the counter saw.
    let called = counted.clone();
    counted.extend((0..RANKS).flat_map(|rank| {
        unseen
            .iter()
            .map(move |name| ((rank, (*name).to_owned()), 1))
    }));
    checks::same_calls(&report, &counted);
    tested_functions::note(family, &called);
    (bare, report)
}

/// What the table has for a program or section in C.
fn support(family: Family, section: &str) -> Support {
    let row = FEATURES.iter().find(|row| row.c == Some(section));
    row.unwrap_or_else(|| panic!("{section} is in no row of the table"))
        .support(family)
}

/// Every section in C in one run; each has printed something on every rank.
#[test]
fn sections_in_c_print_the_same() {
    sections_in_c(&Family::ALL);
}

/// On a newer MPI, and by the standard's own interface. Open MPI 5 keeps only the first part of a
/// rank's output.
#[test]
#[ignore = "long: as on MPICH 4"]
fn sections_in_c_print_the_same_on_mpich_5() {
    sections_in_c(&[Family::Mpich5, Family::Abi5]);
}

fn sections_in_c(families: &[Family]) {
    for family in families.iter().copied() {
        let bare = compare(family, &command(FeatureProgram::C, family, []), &[]);
        // Programs of their own, below.
        let singles = [
            "spawn",
            "ports",
            "sessions",
            "threads",
            "many_threads",
            "longjmp",
            "around_main",
            "dlopen",
        ];

        for (rank, output) in bare.stdout().iter().enumerate() {
            let printed = sections(output);
            for section in FEATURES.iter().filter_map(|row| row.c) {
                if singles.contains(&section) {
                    continue;
                }
                let printed = printed.get(section).map(Vec::as_slice).unwrap_or_default();
                assert!(
                    !printed.is_empty(),
                    "{family:?}, rank {rank}: {section} is silent"
                );
                // "no partitioned messages" and the like.
                let absent = printed
                    .iter()
                    .any(|line| line.starts_with("no ") && !line.contains(':'));
                let expected = matches!(support(family, section), Support::Absent(_));
                assert_eq!(absent, expected, "{family:?}: {section}");
            }
        }
    }
}

/// Every section in Fortran by every binding. Open MPI's Fortran layer calls `PMPI_*`, which only a
/// counter of a bare run may wrap, and internal functions.
#[test]
#[ignore = "long"]
fn sections_in_fortran_print_the_same() {
    for family in Family::ALL {
        for binding in BINDINGS {
            let command = command(FeatureProgram::Fortran(binding), family, []);
            let bare = Job::bare(family, RANKS, &command)
                .env("LD_PRELOAD", counter(family, Counter::Deep))
                .run();
            assert_eq!(bare.code(), 0, "{family:?}, {binding}");

            let observed = Job::observed(family, RANKS, &command).run();
            same_for_the_user(&bare, &observed);
            for (rank, output) in bare.stdout().iter().enumerate() {
                let printed = sections(output);
                for section in FEATURES.iter().filter_map(|row| row.fortran) {
                    assert!(
                        printed.contains_key(section),
                        "{binding}, rank {rank}: {section} is silent"
                    );
                }
            }

            let report = observed.report();
            checks::complete(&report, RANKS);
            let mut counted = bare.counter_counts().calls;
            counted.extend(calls_past_the_counter());
            checks::same_calls(&report, &counted);
        }
    }
}

/// Calls of the Fortran programs that reach no C function of one MPI or the other.
fn calls_past_the_counter() -> Calls {
    let calls = [("MPI_Comm_set_attr", 3), ("MPI_Comm_create_errhandler", 1)];
    calls_of_each_rank(RANKS, calls)
}

/// Processes that a program spawns run as without Invivo, have nothing of it in their environment,
/// and are no part of the report, which says how many there are, and what was sent between them and
/// the ranks.
#[test]
fn spawned_processes_are_not_observed() {
    for family in [Family::Ompi, Family::Mpich, Family::Mpich5] {
        let program = command(FeatureProgram::Single("spawn"), family, []);
        let (bare, report) = compare_but_for(family, &program, &[], &[]);
        let works = bare.stdout()[0].contains("2 children");
        assert_eq!(
            works,
            support(family, "spawn") == Support::Same,
            "{family:?}"
        );
        // Two at a time, twice, each of which sends five numbers to rank 0.
        let (processes, messages) = if works { (4, 4) } else { (0, 0) };
        let outside = report.matrix.outside;
        assert_eq!(
            (outside.messages, outside.bytes),
            (messages, 20 * messages),
            "{family:?}"
        );
        assert_eq!(report.matrix.unresolved.messages, 0, "{family:?}");
        let said = format!("{processes} processes were spawned by rank 0 and run unobserved");
        let is_said = report.notes.contains(&said);
        assert_eq!(is_said, works, "{family:?}: {:?}", report.notes);
    }
}

/// Endpoints of messages with spawned processes wait for nobody, and live answers say what they
/// are.
#[test]
fn messages_with_spawned_processes_are_counted_apart() {
    let family = Family::Ompi;
    let program = command(FeatureProgram::Single("spawn"), family, ["wait"]);
    let mut running = Job::observed(family, RANKS, &program)
        .options(["--analyses", "functions,matrix,messages"])
        .start();
    running.wait_for_answers();
    running.wait_for_notes("spawned");
    let client = running.client();
    // Live answers lag behind the calls.
    let deadline = Instant::now() + Duration::from_secs(20);
    let messages = loop {
        let messages = client.json(&["messages"]);
        let is_all = number(&messages, "/coverage/ledger/in_flight") == 0;
        if is_all || Instant::now() > deadline {
            break messages;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let of = |reason: &str| number(&messages, &format!("/unmatched/{reason}"));
    assert_eq!((of("outside"), of("unresolved")), (4, 0), "{messages}");
    let matrix = client.json(&["matrix"]);
    assert_eq!(number(&matrix, "/outside/messages"), 4, "{matrix}");
    let status = client.json(&["status"]).to_string();
    assert!(
        status.contains("4 processes were spawned by rank 0"),
        "{status}"
    );
    running.tell("go");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
}

/// Two halves of a program that connect to each other as different jobs do.
#[test]
fn processes_connect_by_a_port() {
    for family in Family::ALL {
        let bare = compare(
            family,
            &command(FeatureProgram::Single("ports"), family, []),
            &[],
        );
        let works = bare.stdout()[0].contains("by a port");
        assert_eq!(
            works,
            support(family, "ports") == Support::Same,
            "{family:?}"
        );
    }
}

/// Sessions see the program's processes alone: without a world, one after the other, beside a world
/// and around it.
#[test]
fn sessions_see_the_programs_processes() {
    for (family, ways) in [
        // A second session behind the end of the first is the end of MPICH 4.0, and MPICH 5.0 hangs
        // in one of ten: bare.
        (Family::Mpich, &["alone", "beside", "around", "at_once"][..]),
        (Family::Mpich5, &["alone"]),
    ] {
        for how in ways.iter().copied() {
            // The world is there already when the program initialises it: that call goes no
            // further.
            let unseen: &[&str] = if how == "around" {
                &["MPI_Init_thread"]
            } else {
                &[]
            };
            let program = command(FeatureProgram::Single("sessions"), family, [how]);
            let (bare, report) = compare_but_for(family, &program, &[], unseen);
            // Communicators of sessions have no parent, and members that the whole job knows.
            assert_eq!(report.matrix.unresolved.messages, 0, "{family:?}, {how}");
            let world = format!("group of mpi://WORLD: 0 of {RANKS}");
            assert!(
                bare.stdout()[0].contains(&world),
                "{how}: a program without sessions"
            );
        }
    }
}

/// The thread level that is requested is provided as without Invivo, and the calls of threads that
/// communicate at the same time are counted.
#[test]
fn threads_communicate_at_every_level() {
    for family in Family::ALL {
        for level in ["0", "1", "2", "3"] {
            let program = command(FeatureProgram::Single("threads"), family, [level]);
            let bare = compare(family, &program, &[]);
            assert!(bare.stdout()[0].starts_with("asked for "), "{level}");
        }
    }
}

/// Threads beyond the limit of locations take part in collectives, and their calls are counted as
/// dropped.
#[test]
fn threads_beyond_the_limit_communicate() {
    for family in Family::ALL {
        let program = command(FeatureProgram::Single("many_threads"), family, []);
        let bare = Job::bare(family, RANKS, &program).run();
        let observed = Job::observed(family, RANKS, &program).run();
        same_for_the_user(&bare, &observed);

        assert!(bare.stdout()[0].contains("value 10, sum 30"), "{family:?}");
        let report = observed.report();
        checks::conserved(&report, RANKS);
        let ledger = &report.coverage.ledger;
        // Of 80 threads with a call each at least 17 have no location of their own.
        assert!(ledger.dropped.no_location >= 17, "{family:?}: {ledger:?}");
    }
}

/// More threads at once than may keep a packet when they have ended: the others return theirs, and
/// the thread that goes on alone gets those that were kept.
#[test]
fn threads_that_end_return_their_packets() {
    for family in Family::ALL {
        let short_threads = program(family, "short_threads", ["4", "5000"]);
        let observed = Job::observed(family, 1, &short_threads)
            .options(["--back-pressure", "block"])
            // Blocked ranks would wait for a packet for ever, and run into the job's time limit.
            .run();
        assert_eq!(observed.code(), 0, "{family:?}");
        checks::complete(&observed.report(), 1);
        checks::same_calls(&observed.report(), &observed.own_counts().calls);
    }
}

/// A rank whose error handler left MPI by `longjmp` makes communicators together with the others.
#[test]
fn ranks_communicate_after_a_longjmp_out_of_mpi() {
    for family in Family::ALL {
        let program = command(FeatureProgram::Single("longjmp"), family, []);
        let bare = Job::bare(family, RANKS, &program).run();
        let observed = Job::observed(family, RANKS, &program).run();
        same_for_the_user(&bare, &observed);
        assert!(
            bare.stdout()[0].contains("its dup: 42 0.5, sum 3"),
            "{family:?}"
        );
    }
}

/// A library that initialises MPI before main, finalises it behind main, or communicates at exit.
#[test]
fn libraries_call_mpi_around_main() {
    for family in Family::ALL {
        for how in ["constructor", "exit", "main"] {
            let program = match how {
                "main" => command(FeatureProgram::AroundMain, family, ["finalize"]),
                _ => command(FeatureProgram::AroundMain, family, []),
            };
            let bare = compare(family, &program, &[("MPI_AROUND_MAIN", how)]);
            assert!(
                bare.stdout()[0].contains("last word of self: 3 of 3"),
                "{how}"
            );
        }
    }
}

/// A program that takes MPI's functions from a library by `dlsym`, in whatever scope that was
/// loaded.
#[test]
fn programs_that_load_mpi_at_run_time_are_observed() {
    for family in Family::ALL {
        // The second is the name for linking; the library's own name is the first.
        let [library, link] = match family {
            Family::Ompi => [
                "libmpi.so.40",
                "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so",
            ],
            _ => ["libmpich.so.12", "libmpich.so"],
        };

        for (library, scope) in [(library, "local"), (library, "global"), (link, "local")] {
            let program = command(FeatureProgram::Dlopen, family, [library, scope]);
            let bare = Job::bare(family, RANKS, &program).run();
            assert_eq!(
                bare.stdout()[1],
                "a plug-in has found 1, gone 1\n1 of 3, sum 3, from the left 0\n"
            );

            let observed = Job::observed(family, RANKS, &program).run();
            same_for_the_user(&bare, &observed);
            checks::complete(&observed.report(), RANKS);

            let functions = [
                "MPI_Init",
                "MPI_Allreduce",
                "MPI_Sendrecv",
                "MPI_Barrier",
                "MPI_Finalize",
            ];
            let own = calls_of_each_rank(RANKS, functions.map(|name| (name, 1)));
            checks::same_calls(&observed.report(), &own);
        }
    }
}

/// A program that loads another MPI than the launcher's is refused, with the variable to set.
#[test]
fn programs_that_load_an_unexpected_mpi_are_refused() {
    let prefix = Family::Abi5.prefix().expect("an MPI from pip");
    let library = prefix.join("lib/libmpi_abi.so.1");
    let library = library.to_str().expect("UTF-8");

    let program = command(FeatureProgram::Dlopen, Family::Abi5, [library, "local"]);
    let ended = Job::observed(Family::Abi5, RANKS, &program).run();
    let lines = ended.our_lines().join("\n");
    assert_eq!(ended.code(), 2, "{lines}");
    assert!(lines.contains("type INVIVO_MPI="), "{lines}");
    ended.assert_nothing_left();
}

/// The manual's table is the one that is tested here. INVIVO_BLESS=1 writes it.
#[test]
fn the_manual_has_the_table() {
    const MARKS: [&str; 2] = [
        "<!-- table: made by tests/e2e/tests/mpi_features.rs -->\n",
        "<!-- end of the table -->\n",
    ];

    let page = manual::text(MPI_FEATURES);
    let (before, rest) = page.split_once(MARKS[0]).expect("the table's begin");
    let (found, after) = rest.split_once(MARKS[1]).expect("the table's end");

    let expected = markdown();
    if manual::is_to_be_written() {
        let page = format!("{before}{}{expected}{}{after}", MARKS[0], MARKS[1]);
        std::fs::write(root().join(MPI_FEATURES), page).expect("the page is written");
        return;
    }
    assert_eq!(found, expected, "{MPI_FEATURES}: INVIVO_BLESS=1 writes it");
}
