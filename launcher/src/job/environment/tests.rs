//! Environments as the launchers make them.

use super::*;

fn env(pairs: &[(&str, &str)]) -> Environment {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

fn ompi(rank: u32, size: u32, local_size: u32) -> Environment {
    env(&[
        ("OMPI_COMM_WORLD_RANK", &rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", &size.to_string()),
        (
            "OMPI_COMM_WORLD_LOCAL_RANK",
            &(rank % local_size).to_string(),
        ),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", &local_size.to_string()),
        ("OMPI_APP_CTX_NUM_PROCS", &size.to_string()),
        ("OMPI_COMMAND", "invivo"),
        ("OMPI_ARGV", "exec -- ./app"),
        ("OMPI_UNIVERSE_SIZE", "64"),
        ("PMIX_RANK", &rank.to_string()),
    ])
}

fn applied(env: &Environment, numbers: Numbers, program: &[&str]) -> Environment {
    let program: Vec<OsString> = program.iter().map(OsString::from).collect();
    let preload = Preload {
        shim: "/i/shim.so".into(),
        first: None,
    };
    let mut seen = env.clone();
    for (name, value) in for_application(env, numbers, &program, Some(&preload), "5,6") {
        match value {
            Some(value) => seen.insert(name, value),
            None => seen.remove(&name),
        };
    }
    seen
}

#[test]
fn every_launcher_is_understood() {
    let one = World {
        family: Family::Ompi,
        rank: 2,
        size: 6,
        local: Some((2, 6)),
        nodes: None,
        by_srun: false,
    };
    assert_eq!(world(&ompi(2, 6, 6)), Ok(one));
    let hydra = [
        ("PMI_RANK", "5"),
        ("PMI_SIZE", "6"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "2"),
        ("PMI_FD", "6"),
    ];
    let two = World {
        family: Family::Mpich,
        rank: 5,
        size: 6,
        local: Some((1, 2)),
        nodes: None,
        by_srun: false,
    };
    assert_eq!(world(&env(&hydra)), Ok(two));
    let unknown = [("PMI_RANK", "1"), ("PMI_SIZE", "6"), ("SLURM_NTASKS", "6")];
    assert_eq!(
        world(&env(&unknown)).map(|world| (world.family, world.local)),
        Ok((Family::Mpich, None))
    );
    let pmi2 = [
        ("PMI_RANK", "4"),
        ("PMI_SIZE", "6"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_NODEID", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "3(x2)"),
        ("SLURM_STEP_NUM_NODES", "2"),
    ];
    let three = World {
        family: Family::Mpich,
        rank: 4,
        size: 6,
        local: Some((1, 3)),
        nodes: Some(2),
        by_srun: true,
    };
    assert_eq!(world(&env(&pmi2)), Ok(three));
    let pmix = [
        ("PMIX_RANK", "1"),
        ("SLURM_STEP_NUM_TASKS", "6"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_LOCALID", "1"),
    ];
    assert_eq!(
        world(&env(&pmix)).map(|world| (world.family, world.size, world.nodes)),
        Ok((Family::Ompi, 6, Some(2)))
    );
}

#[test]
fn no_world_is_answered_with_what_to_type() {
    for (vars, part) in [
        (&[][..], "invivo run -- mpiexec"),
        (&[("SLURM_STEP_NUM_TASKS", "6")][..], "srun --mpi=pmix"),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "1")][..], "invivo plan"),
        (
            &[
                ("PMI_RANK", "0"),
                ("PMI_SIZE", "1"),
                ("SLURM_STEP_NUM_TASKS", "6"),
            ][..],
            "6 tasks",
        ),
        (&[("PMI_RANK", "6"), ("PMI_SIZE", "6")][..], "PMI_RANK"),
        (&[("PMI_RANK", "1")][..], "PMI_SIZE"),
        (
            &[("OMPI_COMM_WORLD_RANK", "x"), ("OMPI_COMM_WORLD_SIZE", "6")][..],
            "\"x\"",
        ),
    ] {
        let error = world(&env(vars)).expect_err("no world").to_string();
        assert!(error.contains(part), "{error}");
    }
    // A batch script inside an allocation is not launched by MPI.
    assert_eq!(
        world(&env(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "6")])),
        Err(WorldError::NoLauncher)
    );
}

/// The application sees its own numbers and its own command line.
#[test]
fn the_application_sees_its_own_numbers_and_line() {
    let mut given = ompi(2, 6, 6);
    given.extend(env(&[
        ("INVIVO_JOB", "x"),
        ("INVIVO_TTY", "1"),
        ("LD_PRELOAD", "/their/tool.so"),
    ]));
    // The first process of the second of two hosts, for example.
    let numbers = Numbers {
        rank: 1,
        ranks: 4,
        on_host: 2,
        hosts: 2,
    };
    let seen = applied(&given, numbers, &["./bin/app", "a b", "c"]);
    for (name, value) in [
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ("OMPI_APP_CTX_NUM_PROCS", "4"),
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_UNIVERSE_SIZE", "64"),
        ("OMPI_COMMAND", "app"),
        ("OMPI_ARGV", "a b c"),
        ("PMIX_RANK", "2"),
        ("LD_PRELOAD", "/i/shim.so:/their/tool.so"),
        ("INVIVO_FDS", "5,6,0,1"),
    ] {
        assert_eq!(text(&seen, name), Some(value), "{name}");
    }
    assert!(
        !seen.contains_key(OsStr::new("INVIVO_JOB"))
            && !seen.contains_key(OsStr::new("INVIVO_TTY"))
    );
    assert!(!applied(&given, numbers, &["./app"]).contains_key(OsStr::new("OMPI_ARGV")));
}

/// Every program of a job has its own numbers and the tools are no program.
#[test]
fn numbers_of_each_program_leave_the_tools_out() {
    let mut given = ompi(2, 6, 6);
    given.extend(env(&[
        ("OMPI_APP_CTX_NUM_PROCS", "1 3 2"),
        ("OMPI_FIRST_RANKS", "0 1 4"),
        ("OMPI_NUM_APP_CTX", "3"),
    ]));
    let numbers = Numbers {
        rank: 2,
        ranks: 4,
        on_host: 4,
        hosts: 1,
    };
    let seen = applied(&given, numbers, &["./app"]);
    for (name, value) in [
        ("OMPI_APP_CTX_NUM_PROCS", "1 3"),
        ("OMPI_FIRST_RANKS", "0 1"),
        ("OMPI_NUM_APP_CTX", "2"),
    ] {
        assert_eq!(text(&seen, name), Some(value), "{name}");
    }
    assert_eq!(without_tools("6", 4), Some(vec![4]));
    assert_eq!(
        without_tools("3", 4),
        None,
        "what makes no sense is left alone"
    );
    assert_eq!(without_tools("x", 4), None);
}

#[test]
fn what_mpi_needs_or_nobody_set_stays() {
    let hydra = env(&[
        ("PMI_RANK", "1"),
        ("PMI_SIZE", "6"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "3"),
    ]);
    let numbers = Numbers {
        rank: 0,
        ranks: 2,
        on_host: 1,
        hosts: 2,
    };
    let seen = applied(&hydra, numbers, &["./app"]);
    for (name, value) in [
        ("PMI_SIZE", "6"),
        ("PMI_RANK", "1"),
        ("MPI_LOCALRANKID", "1"),
    ] {
        assert_eq!(text(&seen, name), Some(value), "MPICH itself reads {name}");
    }
    assert_eq!(text(&seen, "MPI_LOCALNRANKS"), Some("1"));
    assert!(
        !seen.contains_key(OsStr::new("OMPI_COMM_WORLD_SIZE")),
        "a variable that was not there stays away"
    );
}
