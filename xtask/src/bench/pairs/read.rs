//! Reads what programs print of themselves: those of xtask/bench, and LAMMPS.

use super::app::Said;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Reads the `answer`, `seconds`, `cpu`, `made` and `time` lines of a program of xtask/bench.
pub fn of_kernel(text: &str, _: &Path) -> Result<Said> {
    let mut said = Said::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["answer", answer] => said.answer = answer.to_owned(),
            ["seconds", seconds] => said.seconds = Some(seconds.parse()?),
            ["cpu", seconds] => said.cpu_s = Some(seconds.parse()?),
            ["made", function, calls] => said.made.push((function.to_owned(), calls.parse()?)),
            ["time", name, ns] => said.times.push((name.to_owned(), ns.parse()?)),
            _ => {}
        }
    }

    ensure!(
        said.seconds.is_some() && !said.answer.is_empty() && !said.made.is_empty(),
        "the kernel said: {text}"
    );
    Ok(said)
}

/// Reads LAMMPS' own time of the loop, and the rows of its table as the answer.
pub fn of_lammps(text: &str, _: &Path) -> Result<Said> {
    let after = |key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.split_once(key)?.1.split(' ').next()?.to_owned()))
    };
    let seconds: f64 = after("Loop time of ").context("no loop time")?.parse()?;
    // `99.8% CPU use with 2 MPI tasks`: of each.
    let cpu_use = |line: &str| {
        let (percent, tasks) = line.split_once("% CPU use with ")?;
        let tasks: f64 = tasks.split(' ').next()?.parse().ok()?;
        Some(tasks * percent.parse::<f64>().ok()? / 100.0)
    };
    let share = text.lines().find_map(cpu_use);
    // The table of thermodynamic output: lines of numbers only.
    let is_row = |line: &&str| {
        let mut words = line.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
    };

    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    ensure!(rows.len() > 2, "LAMMPS printed no table");
    Ok(Said {
        seconds: Some(seconds),
        cpu_s: share.map(|share| seconds * share),
        answer: rows.join("\n"),
        ..Said::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_they_did() {
        let text = "answer 5\nseconds 1.5\ncpu 2.9\nmade MPI_Send 7\ntime pingpong-8 160.5\n";
        let said = of_kernel(text, Path::new("")).unwrap();
        assert_eq!((said.seconds, said.answer.as_str()), (Some(1.5), "5"));
        assert_eq!(said.made, [("MPI_Send".to_owned(), 7)]);
        assert_eq!(said.times, [("pingpong-8".to_owned(), 160.5)]);
        assert_eq!(said.cpu_s, Some(2.9));
        assert!(of_kernel("seconds 1.5\n", Path::new("")).is_err());

        let text = "Step Temp\n0 3.0\n50 1.6\n100 1.5\nLoop time of 0.75 on 2 procs for 100 \
            steps with 4000 atoms\n50.0% CPU use with 2 MPI tasks x 1 OpenMP threads\n\
            Nlocal: 2000\n";
        let said = of_lammps(text, Path::new("")).unwrap();
        assert_eq!(
            (said.seconds, said.answer.as_str()),
            (Some(0.75), "0 3.0\n50 1.6\n100 1.5")
        );
        assert_eq!(said.cpu_s, Some(0.75));
        assert!(of_lammps("ERROR\n", Path::new("")).is_err());
    }
}
