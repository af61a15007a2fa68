//! The checks of `cargo xtask test`: the cheap ones first, each behind what it builds on.

mod deny;
mod end_to_end;
pub mod ended;
pub mod in_development;
mod manual;
mod page;
pub mod parts;
mod programs;
mod pure;
mod wrappers;

use crate::build::{self, Linked, hooks};
use crate::run::{self, FAMILIES, cargo, check, root};
use crate::setup::Purpose;
use crate::{client, functions, fuzz, generate, release, structure};
use anyhow::Result;
use ended::Ended;
use in_development::{ALONE, END_TO_END, ON_MPI, packages};
use parts::Parts;
use programs::{How, Program};
use std::process::Command;

/// One check.
pub struct Check {
    /// Its name for `--only`.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
    /// Another check without whose success it makes no sense.
    pub needs: Option<&'static str>,
    /// Runs it; the argument is true for the long campaigns.
    pub run: fn(all: bool) -> Result<Ended>,
}

/// All checks in their order.
pub const CHECKS: &[Check] = &[
    Check {
        name: "format",
        about: "rustfmt",
        needs: None,
        run: |_| passed(check(cargo().args(["fmt", "--all", "--check"]))),
    },
    Check {
        name: "structure",
        about: "no circles of files, crate edges as mapped, limits of size",
        needs: None,
        run: |_| passed(structure::check(root())),
    },
    Check {
        name: "generated",
        about: "checked-in code is what its generator makes",
        needs: None,
        run: |_| passed(generate::check(root()).and_then(|()| functions::check(root()))),
    },
    Check {
        name: "manual",
        about: "the manual can be built, and links in documents lead somewhere",
        needs: None,
        run: |_| manual::check(),
    },
    Check {
        name: "page",
        about: "types and form of the scripts of the page of invivo web",
        needs: None,
        run: |_| page::check_scripts(),
    },
    Check {
        name: "plain",
        about: "all tests are built; unit and property tests of what needs no MPI",
        needs: None,
        run: plain,
    },
    Check {
        name: "bare-metal",
        about: "pure crates without an operating system",
        needs: None,
        run: |_| pure::check(),
    },
    Check {
        name: "fuzz",
        about: "every decoder, coverage-guided",
        needs: None,
        run: |_| passed(fuzz::usual()),
    },
    Check {
        name: "lints",
        about: "clippy, no warnings",
        needs: None,
        run: lints,
    },
    Check {
        name: "build",
        about: "the trees in target/dist and, with test hooks, in target/dist-hooks",
        needs: None,
        run: |all| passed(tree(all)),
    },
    Check {
        name: "wrappers",
        about: "no panic and no allocation behind an MPI function of the built shims",
        needs: Some("build"),
        run: |_| passed(wrappers::check()),
    },
    Check {
        name: "scale",
        about: "a tree of 1,048,576 simulated ranks against the closed form",
        needs: None,
        run: scale,
    },
    Check {
        name: "mpi",
        about: "unit tests of the tool processes",
        needs: None,
        run: mpi,
    },
    Check {
        name: "release",
        about: "the tarball for older systems, in place of that tree, and clients for macOS",
        needs: Some("build"),
        run: |all| {
            if all {
                release::run(false)?;
                // Fails where something that only Linux has comes into the client.
                passed(client::build_all())
            } else {
                Ok(Ended::Skipped("a build of its own: --all".into()))
            }
        },
    },
    Check {
        name: "e2e",
        about: "real MPI programs under Invivo",
        needs: Some("build"),
        run: |_| end_to_end::usual(),
    },
    Check {
        name: "deny",
        about: "licences, advisories, sources of all dependencies",
        needs: None,
        run: |_| deny::check(),
    },
];

/// What the long run does instead of `run`, part by part.
pub fn parts(check: &str) -> Option<fn() -> Result<Parts>> {
    match check {
        "fuzz" => Some(fuzz::parts),
        "e2e" => Some(end_to_end::parts),
        _ => None,
    }
}

/// Checks that make what others need: that they passed before does not spare them.
pub const MAKES: [&str; 2] = ["build", "release"];

fn passed(result: Result<()>) -> Result<Ended> {
    result.map(|()| Ended::Passed)
}

fn plain(all: bool) -> Result<Ended> {
    let (alone, plain): (Vec<Program>, Vec<Program>) = in_development::tests()?
        .into_iter()
        .filter(|program| !ON_MPI.contains(&program.package()) && program.package() != END_TO_END)
        .partition(|program| ALONE.contains(&program.package()));

    // Two at a time wait, mostly.
    let mut halves = [Vec::new(), Vec::new()];
    for (index, program) in alone.into_iter().enumerate() {
        halves[index % 2].push(program);
    }
    let how = How {
        seconds: if all { "7200" } else { "900" },
        cases: all.then_some("20000"),
        ..How::default()
    };
    let mut came = programs::run(&plain, how, |_| {});
    let how = How {
        one_by_one: true,
        ..how
    };
    std::thread::scope(|scope| {
        let running = halves.map(|half| scope.spawn(move || programs::run(&half, how, |_| {})));
        for half in running {
            came.and(half.join().expect("it does not panic"));
        }
    });
    came.ended()
}

/// The code on MPI is the same for all MPIs but for their bindings, with which the link is checked
/// in the long run.
fn lints(all: bool) -> Result<Ended> {
    let strict =
        |clippy: &mut Command| check(clippy.args(["--all-targets", "--", "-D", "warnings"]));
    strict(&mut in_development::cargo_of_all("clippy"))?;
    strict(&mut in_development::cargo_without_hooks("clippy"))?;
    for family in FAMILIES.into_iter().filter(|family| !family.is_first()) {
        let feature = format!("family-{}", family.name);
        strict(cargo().args(["clippy", "-p", "invivo-app-shim", "--features", &feature]))?;
        if let Some(compiler) = family.compiler.filter(|_| all) {
            let mut link = cargo();
            link.env("CARGO_TARGET_DIR", family.target());
            link.env("MPICC", compiler).args(["clippy", "--release"]);
            strict(link.args(packages(&ON_MPI[..1])))?;
        }
    }
    Ok(Ended::Passed)
}

/// Builds the simulation beside the programs, whose crates it shares; then runs it.
fn scale(all: bool) -> Result<Ended> {
    let first = FAMILIES.into_iter().find(|family| family.is_first());
    let target = root().join("target");
    let mut build = build::command(first, Linked::Here)?;
    build.env("CARGO_TARGET_DIR", &target);
    check(build.args(["--release", "-p", "invivo-sim"]))?;

    let mut run = run::bounded("600", target.join("release/sim"));
    run.arg("scale");
    if !all {
        run.args(["--uneven-max", "131072"]);
    }
    passed(check(&mut run))
}

/// The tests on the first MPI, and with the others those of the link, the one crate that calls MPI.
fn mpi(all: bool) -> Result<Ended> {
    let mut on_first = in_development::tests()?;
    on_first.retain(|program| ON_MPI.contains(&program.package()));
    let how = How {
        seconds: "900",
        ..How::default()
    };
    let mut came = programs::run(&on_first, how, |_| {});

    for family in FAMILIES.into_iter().filter(|family| !family.is_first()) {
        let Some(compiler) = family.compiler else {
            continue;
        };
        let mut test = cargo();
        test.env("CARGO_TARGET_DIR", family.target())
            .env("MPICC", compiler);
        let names = if all { &ON_MPI[..] } else { &ON_MPI[..1] };
        test.args(["test", "--release"]).args(packages(names));
        came.and(programs::run(&programs::build(&mut test)?, how, |_| {}));
    }
    came.ended()
}

/// Both trees. What only `--all` needs is set up by the suite before all checks.
fn tree(all: bool) -> Result<()> {
    if all {
        // One of another commit must not be tested as this one's.
        let _ = std::fs::remove_file(release::tarball());
    }
    build::run(None, Linked::Here, Purpose::Build(None), false)?;
    hooks::run(all).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_comes_after_what_it_needs() {
        for (index, check) in CHECKS.iter().enumerate() {
            let before: Vec<&str> = CHECKS[..index].iter().map(|c| c.name).collect();
            assert!(!before.contains(&check.name), "{} stands twice", check.name);
            assert!(
                check.needs.is_none_or(|name| before.contains(&name)),
                "{} comes too early",
                check.name
            );
        }
    }
}
