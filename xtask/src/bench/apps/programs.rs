//! Lists the benched programs: kernels with the patterns of the NAS benchmarks, LAMMPS and hpcc.

use crate::bench::mpi::Mpi;
use crate::bench::pairs::{App, RANKS, Said, lammps, of_kernel};
use crate::bench::results::folder;
use anyhow::{Context, Result};
use std::path::Path;

/// One kernel. Its work between exchanges is chosen for some 35,000 calls a second of each rank, if
/// the pattern gives that at all, and its steps for a second: the bench makes them more.
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

/// The kernels of a short bench.
const SHORT: [&str; 4] = ["lu", "sp", "cg", "ft"];

/// All programs of a bench; some are in a full run only.
pub fn all(mpi: Mpi, full: bool) -> Result<Vec<App>> {
    let c = mpi.compile("kernels.c", "kernels-c", &[])?;
    let fortran = mpi.compile("kernels.f90", "kernels-f", &[])?;
    let kernel = |kernel: &Kernel, name: String, ranks: u32, slower: f64| App {
        mpi,
        rival: false,
        steps: Some(1),
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

    let plain = |name: &str, about: &str, steps, arguments: &[&str]| App {
        mpi,
        rival: false,
        steps,
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
        .filter(|one| full || SHORT.contains(&one.name))
        .map(|one| kernel(one, one.name.to_owned(), RANKS, 1.0))
        .collect();

    apps.push(plain(
        "comms 10,000",
        "communicators made, used and freed",
        // Not made longer: the number of communicators is what is measured.
        None,
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
            apps.push(plain(
                &name,
                about,
                Some(1),
                &["sp", &steps, &work, requests],
            ));
        }
        for one in some(["lu", "cg", "ft"]) {
            apps.push(kernel(one, format!("{} on 4", one.name), 4, 1.0));
        }
        // A core is left for the tools where there are two.
        for one in some(["sp", "mg", "ep"]) {
            apps.push(kernel(one, format!("{} on 1", one.name), 1, 1.0));
        }
        let about = "molecular dynamics, 4,000 atoms";
        apps.push(lammps(mpi, "LAMMPS melt on 1", 1, ("melt", 1000), about)?);
        let about = "molecular dynamics, 900 particles of two sizes";
        apps.push(lammps(
            mpi,
            "LAMMPS colloid",
            RANKS,
            ("colloid", 5000),
            about,
        )?);
        apps.push(hpcc(mpi)?);
    }
    Ok(apps)
}

/// The HPC Challenge benchmark, a small problem on two ranks.
pub fn hpcc(mpi: Mpi) -> Result<App> {
    let example = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    let text = std::fs::read_to_string(example).with_context(|| example.to_owned())?;
    let own = folder().join("hpcc");

    std::fs::create_dir_all(&own)?;
    std::fs::write(own.join("hpccinf.txt"), on_two_ranks(&text))?;
    Ok(App {
        mpi,
        rival: false,
        // Its length follows from the problem.
        steps: None,
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
        answer: success.context("no Success")?.to_owned(),
        ..Said::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_of_hpcc_is_one_by_two() {
        let text = "1            # of process grids (P x Q)\n2            Ps\n2            Qs\n";
        assert!(on_two_ranks(text).contains("1            Ps\n2            Qs\n"));
    }
}
