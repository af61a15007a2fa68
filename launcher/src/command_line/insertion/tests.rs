//! Lines as sites have them, in and outside of allocations.

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// The line that is run, or why none is; `inside` are variables of the batch system.
fn run(line: &str, launcher: &str, inside: &[(&str, &str)]) -> Result<String, String> {
    let environment = inside
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    let environment = environment.collect();
    let files = |path: &Path| match path.to_str()? {
        "nodes" => Some("n1\nn1\nn1\nn2\nn2\nn2\n".to_owned()),
        "hosts" => Some("a slots=3\nb slots=3\n".to_owned()),
        "programs" => Some("0-2 ./a\n3-7 ./b\n".to_owned()),
        "ours" => Some("0-7 invivo exec -- ./a\n".to_owned()),
        _ => None,
    };
    let around = Surroundings {
        environment: &environment,
        launcher: Some(Path::new(launcher)),
        cores: 2,
        read_file: &files,
    };
    let prepared = prepare(&words(line), FanIn::default(), None, &around)?;
    let mut inserted = words("invivo exec");
    if let Some(nodes) = prepared.nodes {
        inserted.push(format!("--nodes={nodes}").into());
    }
    prepared.typed(&inserted)
}

/// Four nodes of three tasks, one of them for the tool process.
const ALLOCATION: [(&str, &str); 5] = [
    ("SLURM_JOB_ID", "7"),
    ("SLURM_NNODES", "4"),
    ("SLURM_TASKS_PER_NODE", "3(x4)"),
    ("SLURM_JOB_CPUS_PER_NODE", "3(x4)"),
    ("SLURM_NTASKS_PER_NODE", "3"),
];

#[test]
fn a_step_of_slurm_gets_one_process_more_per_node() {
    for (line, inside, expected) in [
        (
            "srun -N 4 --ntasks-per-node=2 ./app",
            &[][..],
            "SLURM_PMIX_FENCE=ring srun -n 12 -N 4 --ntasks-per-node=3 invivo exec ./app",
        ),
        (
            "srun -N4 -n8 ./app",
            &[],
            "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=3 -N4 -n12 invivo exec ./app",
        ),
        (
            "srun -N4 -n8 -m plane=2 ./app",
            &[],
            "SLURM_PMIX_FENCE=ring srun -N4 -n12 -m 'plane=2' invivo exec ./app",
        ),
        (
            "srun -n 8 --ntasks-per-node 2 ./app",
            &[],
            "SLURM_PMIX_FENCE=ring srun -n 12 --ntasks-per-node 3 invivo exec ./app",
        ),
        (
            "srun --mpi=pmi2 -N4 -n8 ./app",
            &[],
            "srun --ntasks-per-node=3 --mpi=pmi2 -N4 -n12 invivo exec ./app",
        ),
        (
            "srun -N4 -n8 ./app",
            &[("SLURM_PMIX_FENCE", "tree")],
            "srun --ntasks-per-node=3 -N4 -n12 invivo exec ./app",
        ),
        ("srun -n 4 ./app", &[], "srun -n 5 invivo exec ./app"),
        (
            "srun -N1 --ntasks-per-node=4 ./app",
            &[],
            "srun -n 5 -N1 --ntasks-per-node=5 invivo exec ./app",
        ),
        (
            "srun -n 8 ./app",
            &ALLOCATION,
            "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=3 -n 12 invivo exec ./app",
        ),
        (
            "srun -n 7 -m cyclic ./app",
            &ALLOCATION,
            "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=3 -n 11 -m cyclic invivo exec ./app",
        ),
        (
            "srun -n 2 ./app",
            &ALLOCATION[..4],
            "SLURM_PMIX_FENCE=ring srun --nodes=2 --ntasks-per-node=2 -n 4 invivo exec ./app",
        ),
        (
            "srun -n 1 ./app",
            &ALLOCATION[..4],
            "srun --nodes=1 -n 2 invivo exec ./app",
        ),
    ] {
        let found = run(line, "/usr/bin/srun", inside);
        assert_eq!(found.as_deref(), Ok(expected), "{line}");
    }
    // As srun does, from the allocation's number of tasks.
    let mut inside = ALLOCATION.to_vec();
    inside.push(("SLURM_NTASKS", "8"));
    let found = run("srun ./app", "/usr/bin/srun", &inside);
    let expected = "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=3 -n 12 invivo exec ./app";
    assert_eq!(found.as_deref(), Ok(expected));
}

#[test]
fn a_file_of_programs_gets_lines_for_tool_processes() {
    let file = |of_a: &str, of_b: &str, line: &str| {
        format!("cat >FILE <<'END'\n{of_a} invivo exec ./a\n{of_b} invivo exec ./b\nEND\n{line}")
    };
    for (line, inside, expected) in [
        (
            "srun -N 4 --ntasks-per-node=2 --multi-prog programs",
            &[][..],
            file(
                "0-3",
                "4-11",
                "SLURM_PMIX_FENCE=ring srun -n 12 -N 4 --ntasks-per-node=3 --multi-prog FILE",
            ),
        ),
        (
            "srun --mpi=pmi2 -m cyclic:block --multi-prog -n8 programs",
            &ALLOCATION,
            file(
                "0-2",
                "3-11",
                "srun --ntasks-per-node=3 --mpi=pmi2 -m cyclic:block --multi-prog -n12 FILE",
            ),
        ),
        (
            "srun -m plane=2 --multi-prog programs",
            &ALLOCATION,
            file(
                "0-2",
                "3-11",
                "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=3 -n 12 -m 'plane=2' --multi-prog \
                 FILE",
            ),
        ),
        (
            "srun --multi-prog programs",
            &[],
            file("0-2", "3-8", "srun -n 9 --multi-prog FILE"),
        ),
    ] {
        let found = run(line, "/usr/bin/srun", inside);
        assert_eq!(found.as_deref(), Ok(expected.as_str()), "{line}");
    }
    let mut listed = ALLOCATION.to_vec();
    listed.push(("SLURM_HOSTFILE", "nodes"));
    for (line, inside, part) in [
        (
            "srun -N4 -n8 --multi-prog missing",
            &[][..],
            "cannot read missing",
        ),
        ("srun -N4 -n9 --multi-prog programs", &[], "none for rank 8"),
        ("srun -N4 -n4 --multi-prog programs", &[], "names rank 7"),
        (
            "srun -N4 -n8 --multi-prog ours",
            &[],
            "`invivo` in it already",
        ),
        (
            "srun -N4 -n8 -m arbitrary --multi-prog programs",
            &[],
            "by hand",
        ),
        ("srun -n8 --multi-prog programs", &listed, "by hand"),
    ] {
        let said = run(line, "/usr/bin/srun", inside).expect_err(line);
        assert!(said.contains(part), "{line}: {said}");
    }
}

#[test]
fn a_step_without_room_is_refused() {
    let refused = |line: &str| run(line, "/usr/bin/srun", &ALLOCATION).expect_err("no room");
    let full = refused("srun -n 12 ./app");
    assert!(full.contains("--ntasks-per-node=4"), "{full}");
    let cpus = refused("srun -n 4 -c 2 ./app");
    assert!(cpus.contains("--ntasks-per-node=2"), "{cpus}");
    for (line, part) in [
        ("srun -N 2-4 -n 8 ./app", "--nodes=2-4"),
        ("srun -n 4 ./a : -n 4 ./b", "heterogeneous"),
        ("srun -n 4 --het-group=0 ./a", "heterogeneous"),
    ] {
        let said = refused(line);
        assert!(said.contains(part), "{line}: {said}");
    }
    let crowded = run("srun -O -n 12 ./app", "/usr/bin/srun", &ALLOCATION);
    let expected = "SLURM_PMIX_FENCE=ring srun --ntasks-per-node=4 -O -n 16 invivo exec ./app";
    assert_eq!(crowded.as_deref(), Ok(expected));
}

#[test]
fn mpiexec_knows_the_nodes_of_its_job() {
    let pbs = [("PBS_NODEFILE", "nodes"), ("PBS_JOBID", "7.server")];
    let (ompi, hydra) = ("/usr/bin/orterun", "/usr/bin/mpiexec.hydra");
    for (line, launcher, inside, expected) in [
        (
            "mpiexec -n 8 ./app",
            ompi,
            &ALLOCATION[..],
            "mpiexec -n 12 invivo exec ./app",
        ),
        (
            "mpiexec -n 4 ./app",
            hydra,
            &pbs,
            "mpiexec -n 6 invivo exec ./app",
        ),
        (
            "mpiexec -ppn 2 -n 4 ./app",
            hydra,
            &ALLOCATION,
            "mpiexec -ppn 3 -n 6 invivo exec ./app",
        ),
        (
            "mpiexec --hostfile hosts -n 4 ./app",
            ompi,
            &[],
            "mpiexec --hostfile hosts -n 6 invivo exec ./app",
        ),
        (
            "mpiexec --hostfile hosts -n 2 ./a : -n 2 ./b",
            ompi,
            &[],
            "mpiexec --hostfile hosts -n 3 invivo exec ./a : -n 3 invivo exec ./b",
        ),
        (
            "mpiexec -n 3 ./a : -n 1 ./b : -n 4 ./c",
            ompi,
            &ALLOCATION,
            "mpiexec -n 4 invivo exec ./a : -n 2 invivo exec ./b : -n 6 invivo exec ./c",
        ),
        (
            "mpiexec --oversubscribe -n 6 ./a : -n 6 ./b",
            ompi,
            &ALLOCATION,
            "several programs",
        ),
        (
            "mpiexec --mca rmaps_base_mapping_policy node -n 4 ./a : -n 4 ./b",
            ompi,
            &ALLOCATION,
            "several programs",
        ),
        (
            "mpiexec --mca rmaps_base_mapping_policy node -n 8 ./a",
            ompi,
            &ALLOCATION,
            "mpiexec --mca rmaps_base_mapping_policy node -n 12 invivo exec ./a",
        ),
        (
            "mpiexec -n 12 ./app",
            ompi,
            &ALLOCATION,
            "--ntasks-per-node=4",
        ),
        ("mpiexec -n 6 ./app", hydra, &pbs, "mpiprocs=4"),
        (
            "mpiexec -n 5 ./app",
            hydra,
            &ALLOCATION,
            "mpiexec -n 8 invivo exec ./app",
        ),
        (
            "mpiexec -ppn 4 -n 6 ./app",
            hydra,
            &pbs,
            "mpiexec -ppn 5 -n 8 invivo exec ./app",
        ),
        (
            "mpiexec --oversubscribe -n 12 ./app",
            ompi,
            &ALLOCATION,
            "mpiexec --oversubscribe -n 16 invivo exec ./app",
        ),
    ] {
        let (Ok(found) | Err(found)) = run(line, launcher, inside);
        assert!(found.contains(expected), "{line}: {found}");
    }
}
