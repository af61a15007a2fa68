//! What is typed: `invivo run` before the launcher's line, and what is said where there is none.

use crate::stage::{LAUNCHERS, Stage};

#[test]
fn run_is_the_launcher_with_the_extra_ranks() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut command = stage.invivo();
        // As users have it.
        command.env_remove("INVIVO_FAN_IN");
        command
            .args(["run", "--dry-run", "--"])
            .arg(launcher.name)
            // Three: of fewer, Open MPI is told to bind them as it would have.
            .args(["-n", "3", "./app", "a b"]);
        let line = String::from_utf8(command.output().expect("ended").stdout).expect("text");
        let invivo = stage.path("bin/invivo");
        assert_eq!(
            line,
            format!(
                "{} -n 4 {} exec --no-config -- ./app 'a b'\n",
                launcher.name,
                invivo.display()
            )
        );

        let mut command = stage.invivo();
        command
            .args(["run", "--", launcher.name])
            .args(launcher.options)
            .args(["-n", "2"]);
        let output = command
            .args(["bash", "-c", "echo rank; exit 9"])
            .output()
            .expect("ended");
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .filter(|line| *line == "rank")
                .count(),
            2
        );
    }
}

#[test]
fn without_a_launcher_it_says_what_to_type() {
    let stage = Stage::new();
    for (line, part) in [
        ("exec -- ./app", "invivo run -- mpiexec -n 4 ./app"),
        (
            "exec -- mpiexec -n 4 ./app",
            "invivo run -- mpiexec -n 4 ./app",
        ),
        ("run -- ./app", "invivo run -- mpiexec -n 4 ./app"),
        ("run -- mpiexec ./app", "invivo run -- mpiexec -n 4 ./app"),
    ] {
        let output = stage
            .invivo()
            .args(line.split(' '))
            .output()
            .expect("ended");
        assert_eq!(output.status.code(), Some(2), "{line}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.starts_with("invivo: ") && text.lines().count() == 1 && text.contains(part),
            "{line}: {text}"
        );
    }
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        // The launcher kills the rest when one process has failed: the one that speaks may be the
        // last.
        let invivo = stage.path("bin/invivo");
        let late = format!(
            "[ $RANK = 0 ] && sleep 0.5; exec {} run -- ./app",
            invivo.display()
        );
        let output = stage.run(launcher, 4, false, &late);
        let text = String::from_utf8_lossy(&output.stderr);
        let told = text
            .lines()
            .filter(|line| line.contains("type: invivo run -- mpiexec -n 4 ./app"));
        assert_eq!(told.count(), 1, "one sentence per job: {text}");
    }
}

/// Each program of a line that cannot be started is named, once.
#[test]
fn the_program_that_cannot_be_started_is_named() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut command = stage.invivo();
        let output = command
            .args(["run", "--quiet", "--", launcher.name])
            .args(launcher.options)
            .args(["-n", "1", "sleep", "1", ":", "-n", "2", "./missing"])
            .output()
            .expect("ended");
        let text = String::from_utf8_lossy(&output.stderr);
        let named = text.matches("invivo: cannot start ./missing: no such program");
        assert_eq!(named.count(), 1, "{}: {text}", launcher.name);
    }
}
