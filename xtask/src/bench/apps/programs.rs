//! Lists the benched programs: kernels with the patterns of the NAS benchmarks, LAMMPS and hpcc;
//! and reads the output of each.

use super::app::{App, RANKS, Said};
use crate::bench::mpi::OPEN_MPI;
use crate::bench::results::folder;
use crate::bench::stream;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// One kernel. Its work between exchanges is chosen for some 35,000 calls a second of each rank, if
/// the pattern gives that at all, and its steps for a second.
struct Kernel {
    name: &'static str,
    pattern: &'static str,
    is_fortran: bool,
    steps: u64,
    work: u64,
}

const KERNELS: [Kernel; 7] = [
    Kernel {
        name: "lu",
        pattern: "wavefront of tiny messages",
        is_fortran: false,
        steps: 400,
        work: 8_000,
    },
    Kernel {
        name: "sp",
        pattern: "48 requests in one MPI_Waitall",
        is_fortran: false,
        steps: 500,
        work: 400_000,
    },
    Kernel {
        name: "mg",
        pattern: "neighbours on grids of eight sizes",
        is_fortran: false,
        steps: 200,
        work: 20_000,
    },
    Kernel {
        name: "is",
        pattern: "bucket sort, MPI_Alltoallv",
        is_fortran: false,
        steps: 2_000,
        work: 60_000,
    },
    Kernel {
        name: "cg",
        pattern: "vectors and sums by exchanges",
        is_fortran: true,
        steps: 2_000,
        work: 80_000,
    },
    Kernel {
        name: "ft",
        pattern: "MPI_Alltoall of 16 KiB",
        is_fortran: true,
        steps: 2_000,
        work: 80_000,
    },
    Kernel {
        name: "ep",
        pattern: "computing, few sums",
        is_fortran: true,
        steps: 200,
        work: 1_000_000,
    },
];

/// All programs of a bench; some are in a full run only.
pub fn all(full: bool) -> Result<Vec<App>> {
    let c = OPEN_MPI.compile("kernels.c", "kernels-c", &[])?;
    let fortran = OPEN_MPI.compile("kernels.f90", "kernels-f", &[])?;
    let kernel = |kernel: &Kernel, name: String, ranks: u32, slower: f64| App {
        name,
        about: kernel.pattern.to_owned(),
        ranks,
        program: if kernel.is_fortran {
            fortran.clone()
        } else {
            c.clone()
        },
        arguments: vec![
            kernel.name.to_owned(),
            ((kernel.steps as f64 / slower) as u64).to_string(),
            ((kernel.work as f64 * slower) as u64).to_string(),
        ],
        folder: folder(),
        read: of_kernel,
    };

    let plain = |name: &str, about: &str, arguments: &[&str]| App {
        name: name.to_owned(),
        about: about.to_owned(),
        ranks: RANKS,
        program: c.clone(),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        folder: folder(),
        read: of_kernel,
    };

    let mut apps: Vec<App> = KERNELS
        .iter()
        .map(|one| kernel(one, one.name.to_owned(), RANKS, 1.0))
        .collect();

    let melt =
        |name: &str, ranks| lammps(name, ranks, "melt", 1000, "molecular dynamics, 4,000 atoms");
    apps.push(melt("LAMMPS melt", RANKS)?);

    apps.push(plain(
        "comms 10,000",
        "communicators made, used and freed",
        &["comms", "10000", "20000"],
    ));

    if full {
        let some =
            |names: [&'static str; 3]| KERNELS.iter().filter(move |one| names.contains(&one.name));
        for one in some(["lu", "sp", "cg"]) {
            apps.push(kernel(one, format!("{} / 8", one.name), RANKS, 8.0));
        }
        for requests in ["1", "200", "1000"] {
            // The same number of requests in all.
            let steps = 12_000 / requests.parse::<u64>()?;
            let (steps, work) = (steps.to_string(), (200_000_000 / steps).to_string());
            let name = format!("sp {requests}");
            let about = "so many requests to each side in one MPI_Waitall";
            apps.push(plain(&name, about, &["sp", &steps, &work, requests]));
        }
        for one in some(["lu", "cg", "ft"]) {
            apps.push(kernel(one, format!("{} on 4", one.name), 4, 1.0));
        }
        // A core is left for the tools where there are two.
        for one in some(["sp", "mg", "ep"]) {
            apps.push(kernel(one, format!("{} on 1", one.name), 1, 1.0));
        }
        apps.push(melt("LAMMPS melt on 1", 1)?);
        let about = "molecular dynamics, 900 particles of two sizes";
        apps.push(lammps("LAMMPS colloid", RANKS, "colloid", 5000, about)?);
        apps.push(hpcc()?);
    }
    Ok(apps)
}

/// Reads the `answer`, `seconds` and `made` lines of a kernel.
fn of_kernel(text: &str, _: &Path) -> Result<Said> {
    let mut said = Said {
        seconds: None,
        answer: String::new(),
        made: Vec::new(),
    };

    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["answer", answer] => said.answer = answer.to_owned(),
            ["seconds", seconds] => said.seconds = Some(seconds.parse()?),
            ["made", function, calls] => said.made.push((function.to_owned(), calls.parse()?)),
            _ => {}
        }
    }

    ensure!(
        said.seconds.is_some() && !said.answer.is_empty() && !said.made.is_empty(),
        "the kernel said: {text}"
    );
    Ok(said)
}

/// An example of LAMMPS with so many steps.
fn lammps(name: &str, ranks: u32, example: &str, steps: u32, about: &str) -> Result<App> {
    Ok(App {
        name: name.to_owned(),
        about: about.to_owned(),
        ranks,
        program: "lmp".into(),
        arguments: vec![
            "-in".into(),
            stream::input(example, steps)?.display().to_string(),
        ],
        folder: folder(),
        read: of_lammps,
    })
}

/// Reads LAMMPS' own time of the loop, and the rows of its table as the answer.
fn of_lammps(text: &str, _: &Path) -> Result<Said> {
    let seconds = text
        .lines()
        .find_map(|line| line.strip_prefix("Loop time of "));
    let seconds = seconds
        .and_then(|rest| rest.split(' ').next())
        .context("no loop time")?;
    // The table of thermodynamic output: lines of numbers only.
    let is_row = |line: &&str| {
        let mut words = line.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
    };

    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    ensure!(rows.len() > 2, "LAMMPS printed no table");
    Ok(Said {
        seconds: Some(seconds.parse()?),
        answer: rows.join("\n"),
        made: Vec::new(),
    })
}

/// The HPC Challenge benchmark, a small problem on two ranks.
fn hpcc() -> Result<App> {
    let example = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    let text = std::fs::read_to_string(example).with_context(|| example.to_owned())?;
    let own = folder().join("hpcc");

    std::fs::create_dir_all(&own)?;
    std::fs::write(own.join("hpccinf.txt"), on_two_ranks(&text))?;
    Ok(App {
        name: "hpcc".into(),
        about:
            "HPC Challenge: linear algebra, transposes, random access, FFT, latency and bandwidth"
                .into(),
        ranks: RANKS,
        program: "hpcc".into(),
        arguments: Vec::new(),
        folder: own,
        read: of_hpcc,
    })
}

/// The input for two ranks: the example is for four, two by two.
fn on_two_ranks(example: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        // The number of process rows; its columns stay two.
        match (words.next(), words.next()) {
            (Some(_), Some("Ps")) => "1            Ps\n".to_owned(),
            _ => format!("{line}\n"),
        }
    };
    example.lines().map(line).collect()
}

/// Reads whether hpcc succeeded. Its results are rates, which differ in each run.
fn of_hpcc(_: &str, own: &Path) -> Result<Said> {
    let file = own.join("hpccoutf.txt");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    std::fs::remove_file(&file)?;
    let success = text.lines().find_map(|line| line.strip_prefix("Success="));
    Ok(Said {
        seconds: None,
        answer: success.context("no Success")?.to_owned(),
        made: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_they_did() {
        let said = of_kernel(
            "answer 5\nseconds 1.5\ncpu 2.9\nmade MPI_Send 7\n",
            Path::new(""),
        )
        .unwrap();
        assert_eq!((said.seconds, said.answer.as_str()), (Some(1.5), "5"));
        assert_eq!(said.made, [("MPI_Send".to_owned(), 7)]);
        assert!(of_kernel("seconds 1.5\n", Path::new("")).is_err());

        let text = "Step Temp\n0 3.0\n50 1.6\n100 1.5\nLoop time of 0.75 on 2 procs for 100 \
            steps\nNlocal: 2000\n";
        let said = of_lammps(text, Path::new("")).unwrap();
        assert_eq!(
            (said.seconds, said.answer.as_str()),
            (Some(0.75), "0 3.0\n50 1.6\n100 1.5")
        );
        assert!(of_lammps("ERROR\n", Path::new("")).is_err());
    }

    #[test]
    fn the_grid_of_hpcc_is_one_by_two() {
        let text = "1            # of process grids (P x Q)\n2            Ps\n2            Qs\n";
        assert!(on_two_ranks(text).contains("1            Ps\n2            Qs\n"));
    }
}
