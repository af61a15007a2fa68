//! What the application finds is what it would find without us.

use crate::stage::{LAUNCHERS, Stage};
use crate::{RANKS, TOTAL};

#[test]
fn the_application_finds_its_world_as_without_us() {
    // Directory, input, limits, mask of processors, signals, descriptors by kind, group: of every
    // rank.
    let script = "exec > out.$KIND.$RANK; pwd; [ $RANK != 0 ] || cat; ulimit -a; echo $0 $*;
        grep -E 'Cpus_allowed|Sig(Blk|Ign)|NoNewPrivs' /proc/self/status;
        ls -l /proc/self/fd | sed -nE 's/.* [0-9]+ -> ([a-z]+):.*/\\1/p' | sort | uniq -c;
        env | sort";
    // What each run has of its own, and what a launcher says of its own command line.
    let differs = |line: &str| {
        let own = [
            "KIND=",
            "OMPI_FILE_LOCATION=",
            "OMPI_MCA_orte_",
            "OMPI_MCA_ess_",
            "PMIX_",
            "PWD=",
            "OLDPWD=",
            "_=",
            "SHLVL=",
            "INVIVO_",
            "LD_PRELOAD=",
            "OMPI_ARGV=",
            "PMI_ID=",
            "HYDI_CONTROL_FD=",
            "PMI_FD=",
        ];
        own.iter().any(|prefix| line.starts_with(prefix))
    };
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let read = |kind: &str, rank: u32| {
            let text = std::fs::read_to_string(stage.path(&format!("out.{kind}.{rank}")))
                .expect("written");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        // Bare with as many processes: placement depends on the number, and is not ours.
        for (kind, processes, observed) in [
            ("bare", TOTAL, false),
            ("small", RANKS, false),
            ("seen", TOTAL, true),
        ] {
            let script = format!("KIND={kind}; {script}");
            let output = stage.run_reading(
                launcher,
                processes,
                observed,
                &script,
                Some("a line of input\n"),
            );
            assert!(output.status.success());
        }
        for rank in 0..RANKS {
            let keep = |lines: Vec<String>| {
                lines
                    .into_iter()
                    .filter(|line| !differs(line))
                    .collect::<Vec<_>>()
            };
            let (bare, small, seen) = (read("bare", rank), read("small", rank), read("seen", rank));
            // PMI_SIZE is what MPI itself needs; every other count, and what follows from it, is
            // that of the small world.
            let expected: Vec<String> = keep(bare.clone())
                .into_iter()
                .map(|line| match line.split_once('=') {
                    Some((name, _))
                        if name != "PMI_SIZE"
                            && name.contains("SIZE")
                                | name.contains("NUM_PROCS")
                                | name.contains("NRANKS")
                                | name.ends_with("mpi_oversubscribe") =>
                    {
                        small
                            .iter()
                            .find(|other| other.starts_with(&format!("{name}=")))
                            .expect("the same names")
                            .clone()
                    }
                    _ => line,
                })
                .collect();
            // The kinds of descriptors: ours are a memfd (a path, not counted) and a socket.
            let sockets = |lines: &[String]| {
                let line = lines
                    .iter()
                    .find(|line| line.trim_end().ends_with(" socket"));
                line.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok())
                    .unwrap_or(0)
            };
            assert_eq!(sockets(&seen), sockets(&bare) + 1, "{}", launcher.name);
            let rest = |lines: Vec<String>| {
                lines
                    .into_iter()
                    .filter(|line| !line.trim_end().ends_with(" socket"))
                    .collect::<Vec<_>>()
            };
            pretty(&rest(expected), &rest(keep(seen.clone())), launcher.name);
            let mut ours: Vec<&str> = seen
                .iter()
                .filter_map(|line| line.split_once('=').map(|(name, _)| name))
                .filter(|name| name.starts_with("INVIVO_"))
                .collect();
            ours.sort_unstable();
            assert_eq!(ours, ["INVIVO_FDS", "INVIVO_HANDOVER"]);
            let preload = seen
                .iter()
                .find(|line| line.starts_with("LD_PRELOAD="))
                .expect("ours");
            assert!(preload.ends_with("libinvivo_shim.so"));
        }
    }
}

/// Compares line by line, so that a difference can be read.
fn pretty(expected: &[String], seen: &[String], launcher: &str) {
    let missing: Vec<_> = expected
        .iter()
        .filter(|line| !seen.contains(line))
        .collect();
    let added: Vec<_> = seen
        .iter()
        .filter(|line| !expected.contains(line))
        .collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "{launcher}: without us {missing:#?}, with us {added:#?}"
    );
}
