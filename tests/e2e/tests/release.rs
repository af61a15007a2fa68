//! The release tarball runs without Rust and a compiler, and needs no library that may be missing.

use invivo_e2e::checks;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use invivo_e2e::results::report::Report;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The glibc that the README promises.
const GLIBC: (u32, u32) = (2, 28);
/// Names of compilers and build tools, by their beginning.
const COMPILERS: [&str; 22] = [
    "cargo",
    "rust",
    "cc",
    "c++",
    "c89",
    "c99",
    "gcc",
    "g++",
    "cpp",
    "clang",
    "llvm",
    "gfortran",
    "f77",
    "f95",
    "mpicc",
    "mpic++",
    "mpicxx",
    "mpif",
    "x86_64-linux-gnu-g",
    "ld",
    "as",
    "make",
];

fn tarball() -> PathBuf {
    std::env::var_os("INVIVO_TARBALL")
        .map(PathBuf::from)
        .expect("INVIVO_TARBALL says where the release is (`cargo xtask dist` makes one)")
}

/// The libraries that a program may need: those of the C library, and the compiler's for unwinding.
/// No MPI's: which MPI it is and how its library is called is known on the machine of the job.
const LIBRARIES: [&str; 7] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// The tarball's tree, in `dir`.
fn unpack(dir: &Path) -> PathBuf {
    let mut tar = Command::new("tar");
    let unpacked = tar
        .arg("-xzf")
        .arg(tarball())
        .arg("-C")
        .arg(dir)
        .status()
        .expect("tar");
    assert!(unpacked.success());
    let folders: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(
        folders.len(),
        1,
        "one folder, named for the version: {folders:?}"
    );
    folders[0].clone()
}

fn files(below: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// The programs and libraries of a tree.
fn programs(tree: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(tree, &mut all);
    // Programs and libraries begin with ELF's magic bytes.
    all.retain(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")));
    assert!(all.len() > 8, "{all:?}");
    all
}

/// The output of `objdump` for a program.
fn objdump(option: &str, path: &Path) -> String {
    let output = Command::new("objdump").arg(option).arg(path).output();
    let output = output.expect("objdump");
    assert!(output.status.success(), "{}: {output:?}", path.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The newest glibc that a program needs, by the versions of its symbols.
fn glibc_of(path: &Path) -> Option<(u32, u32)> {
    let text = objdump("-T", path);
    // One symbol for each line, with the version that it needs.
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let number = rest
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .next()?;
        let mut parts = number.split('.').map(str::parse::<u32>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    });
    versions.max()
}

#[test]
fn programs_need_only_libraries_of_every_machine() {
    for path in programs(&paths::dist()) {
        let text = objdump("-p", &path);
        let named: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("NEEDED").map(str::trim))
            .collect();
        assert!(
            named.contains(&"libc.so.6"),
            "{}: {named:?}",
            path.display()
        );
        for library in named {
            assert!(
                LIBRARIES.contains(&library),
                "{} names {library}",
                path.display()
            );
        }
    }
}

#[test]
#[ignore = "needs the tarball: cargo xtask test --all"]
fn programs_need_the_glibc_of_the_readme() {
    let dir = tempfile::tempdir().expect("a directory");
    for path in programs(&unpack(dir.path())) {
        let needs = glibc_of(&path);
        assert!(
            needs.is_some_and(|needs| needs <= GLIBC),
            "{}: {needs:?}",
            path.display()
        );
    }
    let readme = std::fs::read_to_string(paths::root().join("README.md")).expect("the README");
    assert!(
        readme.contains(&format!("glibc {}.{}", GLIBC.0, GLIBC.1)),
        "the README says which"
    );
}

/// A directory with every program of this machine's PATH but compilers.
fn path_without_compilers(dir: &Path) -> PathBuf {
    let bin = dir.join("bin");
    std::fs::create_dir(&bin).expect("a directory");

    for entry in ["/usr/bin", "/bin"]
        .into_iter()
        .flat_map(|from| std::fs::read_dir(from).expect("programs"))
    {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        let is_compiler = name
            .to_str()
            .is_none_or(|name| COMPILERS.iter().any(|one| name.starts_with(one)));
        if !is_compiler {
            // What stands in both is there already.
            let _ = symlink(entry.path(), bin.join(name));
        }
    }
    for name in ["cargo", "rustc", "cc", "gcc"] {
        assert!(!bin.join(name).exists(), "{name}");
    }
    bin
}

#[test]
#[ignore = "needs the tarball: cargo xtask test --all"]
fn the_release_runs_without_a_compiler() {
    let (unpacked, dir) = (
        tempfile::tempdir().expect("a directory"),
        tempfile::tempdir().expect("a directory"),
    );

    let tree = unpack(unpacked.path());
    let path = path_without_compilers(dir.path());

    let invivo = |arguments: &[OsString]| -> Output {
        let mut command = Command::new("timeout");
        command
            .arg("120")
            .arg(tree.join("bin/invivo"))
            .args(arguments)
            .current_dir(dir.path());
        // Without the variables of this shell: the release must need none of them.
        command
            .env_clear()
            .env("PATH", &path)
            .env("HOME", dir.path());
        command.envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ]);
        command.output().expect("invivo")
    };

    let doctor = invivo(&["doctor".into(), "--json".into()]);
    assert_eq!(doctor.status.code(), Some(0), "{doctor:?}");
    let answer: Value = serde_json::from_slice(&doctor.stdout).expect("the answer of the doctor");

    let tests = answer["findings"].as_array().expect("findings").iter();
    let well = tests
        .filter(|finding| finding["check"] == "self-test" && finding["level"] == "ok")
        .count();
    assert_eq!(well, Family::ALL.len(), "{answer:#}");

    let melt = [
        "lmp",
        "-in",
        "/usr/share/lammps/examples/melt/in.melt",
        "-log",
        "none",
    ]
    .map(OsString::from);

    let programs = [
        (Family::Ompi, melt.to_vec()),
        (Family::Mpich, program(Family::Mpich, "init_finalize", [])),
    ];
    for (family, program) in programs {
        let report = dir.path().join(format!("{}.json", family.name()));
        let mut line: Vec<OsString> = ["run", "--no-config", "--quiet", "--report"]
            .map(OsString::from)
            .to_vec();
        line.extend([
            report.clone().into(),
            "--".into(),
            family.launcher(),
            "-n".into(),
            "2".into(),
        ]);
        line.extend(program);

        let ran = invivo(&line);
        assert_eq!(ran.status.code(), Some(0), "{family:?}: {ran:?}");
        let report = Report::read(&report);
        checks::complete(&report, 2);
        for rank in 0..2 {
            assert_eq!(
                report.calls()[&(rank, "MPI_Finalize".to_owned())],
                1,
                "{family:?}"
            );
        }
    }
}
