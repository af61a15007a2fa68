//! The release: its tarball, unpacked where there is neither Rust nor a compiler; and of what the
//! tree is made that everybody builds, what has to hold for the release too.

use invivo_e2e::apps::program;
use invivo_e2e::checks;
use invivo_e2e::family::Family;
use invivo_e2e::places;
use invivo_e2e::report::Report;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The glibc that the README promises.
const GLIBC: (u32, u32) = (2, 28);
/// What a machine without compilers lacks, by the beginning of its name.
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

/// The libraries that a program may name: those of the C library, and the compiler's for unwinding.
/// None is an MPI's: which one it is and what its file is called is known on the machine of the
/// job.
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
    all.retain(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")));
    assert!(all.len() > 8, "{all:?}");
    all
}

/// What `objdump` shows of a program.
fn shown(option: &str, path: &Path) -> String {
    let shown = Command::new("objdump").arg(option).arg(path).output();
    let shown = shown.expect("objdump");
    assert!(shown.status.success(), "{}: {shown:?}", path.display());
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

/// The newest glibc that a program asks for, by its symbols' versions.
fn glibc_of(path: &Path) -> Option<(u32, u32)> {
    let text = shown("-T", path);
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
fn no_program_names_a_library_that_is_not_everywhere() {
    for path in programs(&places::dist()) {
        let text = shown("-p", &path);
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
fn nothing_needs_a_newer_c_library_than_the_readme_says() {
    let dir = tempfile::tempdir().expect("a directory");
    for path in programs(&unpack(dir.path())) {
        let needs = glibc_of(&path);
        assert!(
            needs.is_some_and(|needs| needs <= GLIBC),
            "{}: {needs:?}",
            path.display()
        );
    }
    let readme = std::fs::read_to_string(places::root().join("README.md")).expect("the README");
    assert!(
        readme.contains(&format!("glibc {}.{}", GLIBC.0, GLIBC.1)),
        "the README says which"
    );
}

/// A directory with everything that this machine's PATH offers, but for compilers.
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
fn it_runs_where_there_is_no_compiler() {
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
    let said: Value = serde_json::from_slice(&doctor.stdout).expect("what the doctor says");
    let tests = said["findings"].as_array().expect("findings").iter();
    let well = tests
        .filter(|finding| finding["check"] == "self-test" && finding["level"] == "ok")
        .count();
    assert_eq!(well, Family::ALL.len(), "{said:#}");

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
