//! What is inserted, and what is said.

use super::*;
use crate::command_line::advice::quoted;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: RunArgs,
}

fn parse(line: &str) -> RunArgs {
    let words = std::iter::once("run").chain(line.split_whitespace());
    Cli::try_parse_from(words).expect("a line").args
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// What is wished for is inserted and nothing else is read there.
#[test]
fn options_are_inserted_with_no_config() {
    let inserted_for = |options: &str| {
        let args = parse(&format!("--no-config {options} -- mpiexec -n 4 ./app"));
        quoted(&inserted(
            Path::new("/o/bin/invivo"),
            &args.job.resolve().expect("a configuration"),
            &[],
        ))
    };
    assert_eq!(inserted_for(""), "/o/bin/invivo exec --no-config --");
    for (options, expected) in [
        ("--fan-in 2,2", "--fan-in=2,2"),
        ("--nodes 2", "--nodes=2"),
        ("--hold", "--hold=10m"),
        ("--hold=30s", "--hold=30s"),
        ("--recording off", "--recording=off"),
        ("--listen 0.0.0.0:0", "--listen=0.0.0.0:0"),
        ("--report /tmp/r.json", "--report /tmp/r.json"),
    ] {
        let line = inserted_for(options);
        assert!(line.contains(expected), "{options}: {line}");
    }
    let here = std::env::current_dir().expect("a directory");
    assert!(
        inserted_for("--report r.txt").contains(&format!("{}/r.txt", here.display())),
        "absolute"
    );
}

/// The jobs name is on the line where every node sees it.
#[test]
fn the_jobs_name_is_on_the_inserted_line() {
    let env = |pairs: &[(&str, &str)]| -> Environment {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        pairs.collect()
    };
    let words = |environment: &Environment| quoted(&of_this_run(environment, None));
    assert!(words(&env(&[])).contains(&format!("-{}", std::process::id())));
    assert!(
        words(&env(&[("INVIVO_JOB", "mine"), ("SLURM_JOB_ID", "7")])).starts_with("--job mine")
    );
    assert!(!words(&env(&[("SLURM_JOB_ID", "7")])).contains("--job"));
    let expected = quoted(&of_this_run(&env(&[("SLURM_JOB_ID", "7")]), Some(4)));
    assert!(expected.starts_with("--ranks 4"), "{expected}");
}

#[test]
fn several_nodes_make_another_total() {
    let env = Environment::new();
    let (code, why) = launch(
        &parse("--dry-run --fan-in 4 --nodes 3 -- mpiexec -n 4 ./app"),
        &env,
    )
    .expect_err("uneven, with a process for every place");
    assert!(code == 2 && why.contains('3'), "{why}");
    for wrong in [
        "--nodes 0",
        "--recording maybe",
        "--fan-in 0",
        "--hold=soon",
    ] {
        let words = format!("run {wrong} -- mpiexec -n 4 ./app");
        assert!(
            Cli::try_parse_from(words.split_whitespace()).is_err(),
            "{wrong} must be refused"
        );
    }
}

#[test]
fn the_launchers_line_is_taken_with_and_without_dashes() {
    assert_eq!(
        parse("mpiexec -n 4 ./app --quiet").line,
        words("mpiexec -n 4 ./app --quiet")
    );
    assert_eq!(
        parse("--quiet -- mpiexec -n 4 ./app -- x").line,
        words("mpiexec -n 4 ./app -- x")
    );
    assert!(
        parse("mpiexec -n 4 ./app --quiet")
            .job
            .flags
            .quiet
            .is_none(),
        "that one is the application's"
    );
}

#[test]
fn a_wrong_line_is_answered_with_a_right_one() {
    let env = Environment::new();
    for (line, part) in [
        ("./app x", "invivo run -- mpiexec -n 4 ./app x"),
        ("mpiexec ./app", "invivo run -- mpiexec -n 4 ./app"),
        ("aprun -n 4 ./app", "invivo plan -n N"),
        ("mpiexec -n 4 invivo exec -- ./app", "invivo"),
        ("srun -n 2 ./a : -n 2 ./b", "heterogeneous"),
        ("mpiexec -n 4 --strange ./app", "--strange"),
    ] {
        let (code, why) =
            launch(&parse(&format!("--dry-run -- {line}")), &env).expect_err("refused");
        assert_eq!(code, 2);
        assert!(why.contains(part), "{line}: {why}");
    }
    let mut launched = env.clone();
    launched.extend([
        ("PMI_RANK".into(), "0".into()),
        ("PMI_SIZE".into(), "4".into()),
    ]);
    let (_, why) = launch(&parse("./app x"), &launched).expect_err("refused");
    assert!(
        why.ends_with("type: invivo run -- mpiexec -n 4 ./app x"),
        "{why}"
    );
}
