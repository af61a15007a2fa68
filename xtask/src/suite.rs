//! The checks of `cargo xtask test`, cheapest first.

mod deny;
mod end_to_end;
pub mod ended;
mod manual;
mod page;
pub mod parts;
mod pure;
mod wrappers;

use crate::build::{self, Linked, hooks};
use crate::run::{self, FAMILIES, Family, allow_root, beside, bounded_cargo, cargo, check, root};
use crate::setup::Purpose;
use crate::{client, functions, fuzz, generate, release, structure};
use anyhow::Result;
use ended::Ended;
use parts::Parts;
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

/// Crates that need nothing of the machine; then the gRPC stack's. All in the development profile:
/// its run-time checks are on, and a second build of the stack's 150 crates without optimisation
/// takes less than optimising a dozen test programs that instantiate them.
///
/// Cargo compiles a crate once for each set of features that the packages which are built together
/// ask for: so the whole stack is in one list, and lints take the lists that tests take.
const PLAIN: [&str; 7] = [
    "invivo-proto",
    "invivo-otfx",
    "invivo-tbon",
    "invivo-analysis",
    "invivo-sim",
    "invivo-app-shim",
    "xtask",
];
/// What else these are tested with; of the shim its tables alone, which are the same for all
/// families.
const PLAIN_FEATURES: [&str; 2] = [
    "--features",
    "invivo-proto/control,invivo-proto/std,invivo-app-shim/family-ompi",
];
/// Crates whose tests start real launchers, servers and terminals, which lose signals and patience
/// when crowded; and what they share.
const ALONE: [&str; 11] = [
    "invivo-grpc",
    "invivo-grpc-codegen",
    "invivo-archive",
    "invivo-observation",
    "invivo-jobdir",
    "invivo-config",
    "invivo-report",
    "invivo-inspect",
    "invivo-ui-gateway",
    "invivo-launcher",
    "invivo-cli",
];
/// Crates that link MPI.
const ON_MPI: [&str; 4] = [
    "invivo-mpi-link",
    "invivo-tool-place",
    "invivo-analysis-node",
    "invivo-tool-process",
];
/// The crates that are tested and linted with this MPI. Only the link calls MPI, so that the others
/// are checked with one of them.
fn on(compiler: &str, all: bool) -> &'static [&'static str] {
    let first = FAMILIES.iter().find_map(|family| family.compiler);
    if all || first == Some(compiler) {
        &ON_MPI
    } else {
        &ON_MPI[..1]
    }
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
        about: "unit and property tests of what needs no MPI",
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
        name: "scale",
        about: "a tree of 1,048,576 simulated ranks against the closed form",
        needs: None,
        run: |_| scale(),
    },
    Check {
        name: "mpi",
        about: "unit tests of the tool processes",
        needs: None,
        run: mpi,
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

fn packages<'a>(names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    names.iter().flat_map(|name| ["-p", *name])
}

fn plain(all: bool) -> Result<Ended> {
    let mut test = bounded_cargo(if all { "7200" } else { "1500" });
    if all {
        test.env("PROPTEST_CASES", "20000");
    }
    // Not examples in comments, of which there are none: looking for them takes a compiler's run
    // over each crate.
    test.args(["test", "--tests", "--no-fail-fast"])
        .args(packages(&PLAIN));
    check(test.args(PLAIN_FEATURES))?;
    // Two at a time wait, mostly.
    let alone = |which: &[&str]| {
        let mut test = bounded_cargo("1500");
        test.env("RUST_TEST_THREADS", "1");
        test.args(["test", "--no-fail-fast"]).args(packages(&ALONE));
        test.args(which);
        test
    };
    let halves = [
        &["--lib", "--bins", "--test", "[a-o]*"][..],
        &["--test", "[!a-o]*"],
    ];
    // Built before they run side by side, so that no build counts as the time of a test. As they
    // run: cargo builds some crates apart for each choice of targets, and takes away the programs
    // that tests start while it links them anew.
    for half in halves {
        check(alone(half).arg("--no-run"))?;
    }
    beside(halves.map(|half| vec![alone(half)]).into())?;

    passed(check(cargo().args([
        "test",
        "-p",
        "invivo-proto-fuzz",
        "--lib",
    ])))
}

fn lints(all: bool) -> Result<Ended> {
    let strict = |mut clippy: Command| {
        clippy.args(["--all-targets", "--", "-D", "warnings"]);
        clippy
    };

    let clippy = |names: &[&str], more: &[&str]| {
        let mut clippy = cargo();
        clippy.arg("clippy").args(packages(names)).args(more);
        strict(clippy)
    };

    let outside = vec![
        clippy(&PLAIN, &PLAIN_FEATURES),
        clippy(&ALONE, &[]),
        clippy(&["invivo-proto-fuzz"], &[]),
        clippy(&["invivo-e2e"], &[]),
    ];

    let mut of_families = Vec::new();
    // Each family in the target directory of its tree: what was built for that is not built again.
    for family in FAMILIES {
        let mut shim = cargo();
        shim.env("CARGO_TARGET_DIR", family.target());
        shim.args(["clippy", "--release", "-p", "invivo-app-shim", "--features"]);
        shim.arg(format!("family-{}", family.name));
        of_families.push(strict(shim));
        of_families.extend(on_mpi(family, "clippy", all).map(strict));
    }

    passed(beside(vec![outside, of_families]))
}

/// Builds the simulation beside the tool processes of a family, whose crates it shares, and which
/// are wanted next; then runs it.
fn scale() -> Result<Ended> {
    let Some((family, compiler)) = FAMILIES
        .iter()
        .find_map(|family| Some((family, family.compiler?)))
    else {
        return Ok(Ended::Skipped("no family has tool processes".into()));
    };

    let mut build = cargo();
    build
        .env("CARGO_TARGET_DIR", family.target())
        .env("MPICC", compiler);
    build.args(["build", "--release", "-p", "invivo-sim"]);
    check(build.args(packages(&ON_MPI[1..])))?;

    let mut run = run::bounded("600", family.target().join("release/sim"));
    passed(check(run.arg("scale")))
}

/// `cargo WHAT` of what links this family's MPI, where it has one.
fn on_mpi(family: Family, what: &str, all: bool) -> Option<Command> {
    let compiler = family.compiler?;
    let mut command = cargo();
    command
        .env("CARGO_TARGET_DIR", family.target())
        .env("MPICC", compiler);
    command
        .args([what, "--release"])
        .args(packages(on(compiler, all)));
    Some(command)
}

/// Builds the tests of all MPIs beside each other, then runs them one after the other.
fn mpi(all: bool) -> Result<Ended> {
    let tests = || {
        FAMILIES
            .into_iter()
            .filter_map(|family| on_mpi(family, "test", all))
    };

    let build = |mut test: Command| {
        test.arg("--no-run");
        vec![test]
    };

    beside(tests().map(build).collect())?;
    // Not side by side: each test starts processes that want the cores.
    for mut test in tests() {
        check(allow_root(&mut test))?;
    }
    Ok(Ended::Passed)
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

    /// A crate that joins the workspace must be tested somewhere.
    #[test]
    fn every_member_of_the_workspace_is_tested() {
        let manifest = include_str!("../../Cargo.toml");
        let members = manifest
            .split("members = [")
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .unwrap();
        let tested = PLAIN.len() + ALONE.len() + ON_MPI.len() + ["e2e", "proto-fuzz"].len();
        let listed = members
            .split(',')
            .filter(|name| !name.trim().is_empty())
            .count();
        // proto/grpc is a member by being a path dependency inside the workspace, so it is not
        // listed.
        let implied = usize::from(!members.contains("\"proto/grpc\""));
        assert_eq!(listed + implied, tested, "{members}");
    }
}
