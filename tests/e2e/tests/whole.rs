//! The whole of MPI: programs that do what somebody in between can spoil (`tests/apps/whole`) print
//! the same per rank, leave with the same status, and make the calls that an independent counter
//! counts, with Invivo and without.

use invivo_e2e::apps::{Counter, counter, program};
use invivo_e2e::checks;
use invivo_e2e::counts::Calls;
use invivo_e2e::ended::Ended;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::places::root;
use invivo_e2e::report::Report;
use invivo_e2e::seen;
use invivo_e2e::whole::{BINDINGS, NASTINESSES, Program, Shown, command, table};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Enough for two groups of different sizes; few, because MPICH spins while it waits.
const RANKS: u32 = 3;

/// What a rank said by section: the part of a line before the first `: `.
fn sections(output: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in output.lines() {
        let (section, said) = line.split_once(": ").unwrap_or(("", line));
        sections.entry(section).or_default().push(said);
    }
    sections
}

/// Fails where a rank says something else than in the bare run, and names the sections.
fn same_words(what: &str, bare: &[String], observed: &[String]) {
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
    same_words(
        "standard outputs differ",
        &bare.stdout(),
        &observed.stdout(),
    );
    same_words(
        "standard error outputs differ",
        &bare.stderr(),
        &observed.stderr(),
    );
    assert_eq!(bare.code(), observed.code(), "exit status");
    observed.assert_nothing_left();
}

/// Runs a program bare and observed, with a counter behind Invivo, and compares everything. Gives
/// the bare run.
fn compare(family: Family, command: &[OsString], environment: &[(&str, &str)]) -> Ended {
    compare_but_for(family, command, environment, &[]).0
}

/// The same where these functions, called once by each rank, are not seen by the counter. Gives the
/// report, too.
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
    let called = counted.clone();
    counted.extend((0..RANKS).flat_map(|rank| {
        unseen
            .iter()
            .map(move |name| ((rank, (*name).to_owned()), 1))
    }));
    checks::same_calls(&report, &counted);
    seen::note(family, &called);
    (bare, report)
}

/// What the table says of a program or section in C.
fn shown(family: Family, section: &str) -> Shown {
    let row = NASTINESSES.iter().find(|row| row.c == Some(section));
    row.unwrap_or_else(|| panic!("{section} is in no row of the table"))
        .shown(family)
}

/// Every section in C in one run; each has said something on every rank.
#[test]
fn sections_in_c_say_the_same() {
    sections_in_c(&Family::ALL);
}

/// The same on a newer MPI, and by the standard's own interface. Open MPI 5 keeps only the first
/// part of what a rank writes.
#[test]
fn sections_in_c_say_the_same_on_mpich_5() {
    sections_in_c(&[Family::Mpich5, Family::Abi5]);
}

fn sections_in_c(families: &[Family]) {
    for family in families.iter().copied() {
        let bare = compare(family, &command(Program::C, family, []), &[]);
        // Programs of their own, below.
        let singles = [
            "spawn", "ports", "sessions", "threads", "crowd", "jump", "early", "dynamic",
        ];
        for (rank, output) in bare.stdout().iter().enumerate() {
            let said = sections(output);
            for section in NASTINESSES.iter().filter_map(|row| row.c) {
                if singles.contains(&section) {
                    continue;
                }
                let said = said.get(section).map(Vec::as_slice).unwrap_or_default();
                assert!(
                    !said.is_empty(),
                    "{family:?}, rank {rank}: {section} is silent"
                );
                // "no partitioned messages" and the like.
                let absent = said
                    .iter()
                    .any(|line| line.starts_with("no ") && !line.contains(':'));
                let expected = matches!(shown(family, section), Shown::Absent(_));
                assert_eq!(absent, expected, "{family:?}: {section}");
            }
        }
    }
}

/// Every section in Fortran by every binding. Open MPI's Fortran layer calls `PMPI_*` and past it:
/// its calls are counted in the bare run, where the counter may wrap both names.
#[test]
fn sections_in_fortran_say_the_same() {
    for family in Family::ALL {
        for (binding, _) in BINDINGS {
            let command = command(Program::Fortran(binding), family, []);
            let bare = Job::bare(family, RANKS, &command)
                .env("LD_PRELOAD", counter(family, Counter::Deep))
                .run();
            assert_eq!(bare.code(), 0, "{family:?}, {binding}");
            let observed = Job::observed(family, RANKS, &command).run();
            same_for_the_user(&bare, &observed);
            for (rank, output) in bare.stdout().iter().enumerate() {
                let said = sections(output);
                for section in NASTINESSES.iter().filter_map(|row| row.fortran) {
                    assert!(
                        said.contains_key(section),
                        "{binding}, rank {rank}: {section} is silent"
                    );
                }
            }
            let report = observed.report();
            checks::complete(&report, RANKS);
            let mut counted = bare.counter_counts().calls;
            counted.extend(past_the_counter());
            checks::same_calls(&report, &counted);
        }
    }
}

/// What the Fortran programs call by ways that lead past every function of C on one MPI or the
/// other.
fn past_the_counter() -> Calls {
    let calls = [("MPI_Comm_set_attr", 3), ("MPI_Comm_create_errhandler", 1)];
    let of_rank = |rank| calls.map(|(name, calls)| ((rank, name.to_owned()), calls));
    (0..RANKS).flat_map(of_rank).collect()
}

/// Processes that a program starts run as they would, know nothing of Invivo, and are no part of
/// its report.
#[test]
fn spawned_processes_run_unharmed_and_unobserved() {
    for family in Family::ALL {
        let bare = compare(family, &command(Program::Single("spawn"), family, []), &[]);
        let works = bare.stdout()[0].contains("2 children");
        assert_eq!(works, shown(family, "spawn") == Shown::Same, "{family:?}");
    }
}

/// Two halves of a program that connect as strangers.
#[test]
fn halves_that_meet_by_a_port_do() {
    for family in Family::ALL {
        let bare = compare(family, &command(Program::Single("ports"), family, []), &[]);
        let works = bare.stdout()[0].contains("by a port");
        assert_eq!(works, shown(family, "ports") == Shown::Same, "{family:?}");
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
            let program = command(Program::Single("sessions"), family, [how]);
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

/// The level that was asked for is provided as without, and threads that talk at once, each with
/// its own, are counted.
#[test]
fn threads_talk_at_every_level() {
    for family in Family::ALL {
        for level in ["0", "1", "2", "3"] {
            let program = command(Program::Single("threads"), family, [level]);
            let bare = compare(family, &program, &[]);
            assert!(bare.stdout()[0].starts_with("asked for "), "{level}");
        }
    }
}

/// Threads beyond those that are kept apart do their part of what all ranks do together, and their
/// calls are counted.
#[test]
fn a_crowd_of_threads_meets_other_ranks() {
    for family in Family::ALL {
        let program = command(Program::Single("crowd"), family, []);
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

/// Threads that come and go, more of them than a rank has packets: each gives its own back, for
/// which the others wait.
#[test]
fn threads_that_end_leave_room_for_others() {
    for family in Family::ALL {
        let brief = program(family, "brief", ["40", "5000"]);
        let observed = Job::observed(family, 1, &brief)
            .options(["--back-pressure", "block"])
            .run();
        assert_eq!(observed.code(), 0, "{family:?}");
        checks::complete(&observed.report(), 1);
    }
}

/// Who left MPI by a jump goes on to make communicators together with those who did not.
#[test]
fn ranks_that_left_mpi_by_a_jump_meet_others() {
    for family in Family::ALL {
        let program = command(Program::Single("jump"), family, []);
        let bare = Job::bare(family, RANKS, &program).run();
        let observed = Job::observed(family, RANKS, &program).run();
        same_for_the_user(&bare, &observed);
        assert!(
            bare.stdout()[0].contains("its dup: 42 0.5, sum 3"),
            "{family:?}"
        );
    }
}

/// A library that begins MPI before main, ends it behind main, or talks at exit.
#[test]
fn libraries_call_mpi_around_main() {
    for family in Family::ALL {
        for how in ["constructor", "exit", "main"] {
            let program = match how {
                "main" => command(Program::Early, family, ["finalize"]),
                _ => command(Program::Early, family, []),
            };
            let bare = compare(family, &program, &[("EARLY", how)]);
            assert!(
                bare.stdout()[0].contains("last word of self: 3 of 3"),
                "{how}"
            );
        }
    }
}

/// A program that asks the library that it has loaded for MPI's functions, whatever scope it was
/// loaded into.
#[test]
fn programs_that_load_mpi_at_run_time_are_observed() {
    for family in Family::ALL {
        // The second is a name for those who link; the library calls itself otherwise.
        let [library, link] = match family {
            Family::Ompi => [
                "libmpi.so.40",
                "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so",
            ],
            _ => ["libmpich.so.12", "libmpich.so"],
        };
        for (library, scope) in [(library, "local"), (library, "global"), (link, "local")] {
            let program = command(Program::Dynamic, family, [library, scope]);
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
            let own =
                (0..RANKS).flat_map(|rank| functions.map(|name| ((rank, name.to_owned()), 1)));
            checks::same_calls(&observed.report(), &own.collect());
        }
    }
}

/// A program that loads another MPI than the one that was expected of it is told what to type.
#[test]
fn programs_that_load_an_unexpected_mpi_are_told_so() {
    let prefix = Family::Abi5.prefix().expect("an MPI from pip");
    let library = prefix.join("lib/libmpi_abi.so.1");
    let library = library.to_str().expect("UTF-8");
    let program = command(Program::Dynamic, Family::Abi5, [library, "local"]);
    let ended = Job::observed(Family::Abi5, RANKS, &program).run();
    let said = ended.our_lines().join("\n");
    assert_eq!(ended.code(), 2, "{said}");
    assert!(said.contains("type INVIVO_MPI="), "{said}");
    ended.assert_nothing_left();
}

/// The manual's table is the one that is tested here. INVIVO_BLESS=1 writes it.
#[test]
fn the_manual_has_the_table() {
    const PAGE: &str = "docs/manual/reference/mpi-features.md";
    const MARKS: [&str; 2] = [
        "<!-- table: made by tests/e2e/tests/whole.rs -->\n",
        "<!-- end of the table -->\n",
    ];
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the manual's page");
    let (before, rest) = page.split_once(MARKS[0]).expect("the table's begin");
    let (found, after) = rest.split_once(MARKS[1]).expect("the table's end");
    let expected = table();
    if std::env::var_os("INVIVO_BLESS").is_some() {
        let page = format!("{before}{}{expected}{}{after}", MARKS[0], MARKS[1]);
        std::fs::write(&path, page).expect("the page is written");
        return;
    }
    assert_eq!(found, expected, "{PAGE}: INVIVO_BLESS=1 writes it");
}
