//! Ground that somebody has prepared before the job begins: directories, links, configuration files
//! and sockets in its way. The job runs as it would have, or says what is wrong before it begins.

use crate::stage::NOBODY;
use invivo_e2e::cluster::hosts::possible;
use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const RANKS: u32 = 2;
const FAMILY: Family = Family::Ompi;

pub const ATTACKS: &[(&str, fn())] = &[
    ("squatted_directory", squatted_directory),
    ("squatted_and_open_to_all", squatted_and_open_to_all),
    ("squatted_by_a_link", squatted_by_a_link),
    ("squatted_by_a_file", squatted_by_a_file),
    ("runtime_directory_of_nobody", runtime_directory_of_nobody),
    (
        "runtime_directory_that_others_may_rename",
        runtime_directory_that_others_may_rename,
    ),
    ("foreign_configuration", foreign_configuration),
    ("configuration_that_others_may_write", open_configuration),
    ("report_through_a_strangers_link", report_through_a_link),
    ("spoilt_copy_of_the_library", spoilt_copy),
    ("handover_flooded_by_a_stranger", handover_flooded),
    ("program_of_a_set_user_id", set_user_id_program),
    ("escapes_in_the_programs_name", escapes_in_the_name),
];

fn command() -> Vec<std::ffi::OsString> {
    program(FAMILY, "init_finalize", ["3"])
}

fn ended_well(ended: &Ended) {
    assert_eq!(ended.code(), 3, "{:?}", ended.our_lines());
    ended.assert_nothing_left();
}

/// Runs a job with another `/tmp/invivo-0` than the machine's, prepared by a script. It begins in
/// the job's own directory, where `trap` is a directory that stays empty.
fn on_squatted_ground(script: &str) {
    if !possible() {
        return;
    }
    let prepare = format!(
        "mkdir trap rt; chmod 700 rt; mkdir -m 700 -p /tmp/invivo-0; \
         mount -t tmpfs -o mode=700 tmpfs /tmp/invivo-0; {script}; exec \"$@\""
    );
    let ended = Job::observed(FAMILY, RANKS, &command())
        .behind_mounts(&prepare)
        .run();
    ended_well(&ended);
    assert!(ended.has_report(), "it was observed");
    let trapped = std::fs::read_dir(ended.directory().join("trap")).expect("listed");
    assert_eq!(trapped.count(), 0, "files in the trap");
}

fn squatted_directory() {
    on_squatted_ground("chown 65534 /tmp/invivo-0; unset XDG_RUNTIME_DIR");
}

fn squatted_and_open_to_all() {
    on_squatted_ground("chmod 777 /tmp/invivo-0; unset XDG_RUNTIME_DIR");
}

fn squatted_by_a_link() {
    on_squatted_ground("ln -s \"$PWD/trap\" rt/invivo-0; export XDG_RUNTIME_DIR=\"$PWD/rt\"");
}

fn squatted_by_a_file() {
    on_squatted_ground("touch rt/invivo-0; export XDG_RUNTIME_DIR=\"$PWD/rt\"");
}

fn runtime_directory_of_nobody() {
    on_squatted_ground("chown 65534 rt; export XDG_RUNTIME_DIR=\"$PWD/rt\"");
}

fn runtime_directory_that_others_may_rename() {
    on_squatted_ground("chmod 777 rt; export XDG_RUNTIME_DIR=\"$PWD/rt\"");
}

/// Runs a job in a directory with this `invivo.toml`, made by `change`; what it asks for is not
/// done.
fn with_configuration(change: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("invivo.toml");
    let report = folder.path().join("stolen");
    std::fs::write(
        &file,
        format!("report = {report:?}\nlisten = \"127.0.0.1:0\"\n"),
    )
    .expect("written");
    change(&file);
    let script = format!("cd {:?}; exec \"$@\"", folder.path());
    let ended = Job::observed(FAMILY, RANKS, &command())
        .behind(&script)
        .run();
    ended_well(&ended);
    let left = std::fs::read_dir(folder.path()).expect("listed");
    let left: Vec<PathBuf> = left.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(left, [file], "it was obeyed");
}

fn foreign_configuration() {
    with_configuration(|file| chown(file, Some(NOBODY), None).expect("given away"));
}

fn open_configuration() {
    with_configuration(|file| {
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(file, open).expect("mode set");
    });
}

/// The report is asked for where a stranger has put a link to a file of the user's.
fn report_through_a_link() {
    let folder = tempfile::tempdir().expect("a directory");
    let (victim, link) = (
        folder.path().join("victim"),
        folder.path().join("link.json"),
    );
    std::fs::write(&victim, "precious").expect("written");
    symlink(&victim, &link).expect("linked");
    std::os::unix::fs::lchown(&link, Some(NOBODY), None).expect("given away");
    let path = link.to_str().expect("text").to_owned();
    let script = format!("exec \"$@\"; : {path}");
    let ended = Job::observed(FAMILY, RANKS, &command())
        .env("INVIVO_REPORT", &path)
        .behind(&script)
        .run();
    ended.assert_nothing_left();
    assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
}

/// The copy of the preloaded library that an earlier job has left is full of zeroes.
fn spoilt_copy() {
    let runtime = tempfile::tempdir().expect("a directory");
    let run = || {
        let job = Job::observed(FAMILY, RANKS, &command());
        ended_well(&job.env("XDG_RUNTIME_DIR", runtime.path()).run());
    };
    run();
    let copies = || -> Vec<PathBuf> {
        let user = std::fs::read_dir(runtime.path()).expect("listed").flatten();
        let folders = user.map(|entry| entry.path().join(".preload"));
        let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
        files
            .flat_map(|files| files.flatten().map(|file| file.path()))
            .collect()
    };
    let before = copies();
    assert!(!before.is_empty(), "this MPI needs no copy");
    for copy in &before {
        let bytes = std::fs::metadata(copy).expect("there").len();
        std::fs::write(copy, vec![0; bytes as usize]).expect("spoilt");
    }
    run();
    assert_eq!(copies(), before, "the same names");
    for copy in before {
        let bytes = std::fs::read(copy).expect("read");
        assert_eq!(&bytes[..4], b"\x7fELF", "it is whole again");
    }
}

/// A stranger connects again and again to where descriptors are handed over, while a rank whose own
/// were closed asks for them.
fn handover_flooded() {
    const FLOOD: &str = "import os, socket, sys, time\n\
        os.setuid(65534)\nend = time.time() + 5\nwhile time.time() < end:\n \
        all = []\n for _ in range(30):\n  \
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n  \
        s.settimeout(0.2)\n  try:\n   s.connect(b'\\0' + sys.argv[1].encode())\n   \
        all.append(s)\n  except OSError:\n   pass\n";
    let closes = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))";
    let script = format!(
        "env -u LD_PRELOAD /usr/bin/python3 -c \"$0\" \"$INVIVO_HANDOVER\" & sleep 0.5; \
         exec /usr/bin/python3 -c '{closes}' \"$@\""
    );
    let mut words: Vec<std::ffi::OsString> = ["sh", "-c", &script, FLOOD]
        .map(std::ffi::OsString::from)
        .to_vec();
    words.extend(command());
    let ended = Job::observed(FAMILY, RANKS, &words).run();
    assert_eq!(ended.code(), 3, "{:?}", ended.our_lines());
    assert!(ended.has_report());
}

/// A rank's script runs a program with the rights of somebody else: the library is not loaded
/// there.
fn set_user_id_program() {
    let folder = tempfile::tempdir().expect("a directory");
    let other = folder.path().join("other");
    std::fs::copy("/usr/bin/id", &other).expect("copied");
    chown(&other, Some(NOBODY), None).expect("given away");
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&other, mode).expect("mode set");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
    let script = format!("{} -u; exec \"$@\"", other.display());
    let mut words: Vec<std::ffi::OsString> = ["sh", "-c", &script, "sh"]
        .map(std::ffi::OsString::from)
        .to_vec();
    words.extend(command());
    let bare = Job::bare(FAMILY, RANKS, &words).run();
    let observed = Job::observed(FAMILY, RANKS, &words).run();
    assert_eq!((bare.code(), observed.code()), (3, 3));
    assert_eq!(bare.stdout(), observed.stdout());
    assert_eq!(bare.stderr(), observed.stderr());
}

/// A program whose name would steer the terminal of whoever lists jobs.
fn escapes_in_the_name() {
    let folder = tempfile::tempdir().expect("a directory");
    let hostile = folder
        .path()
        .join("\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}loop");
    let real = program(FAMILY, "message_loop", ["60"]);
    std::fs::copy(&real[0], &hostile).expect("copied");
    let words = [hostile.into_os_string(), "60".into()];
    let mut running = Job::observed(FAMILY, RANKS, &words).start();
    running.wait_for_answers();
    for words in [
        &["list"][..],
        &["status"],
        &["stacks"],
        &["hang"],
        &["status", "--json"],
    ] {
        let output = running.client().run(words);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let is_harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(is_harmful), "{words:?}: {text:?}");
    }
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    ended.assert_nothing_left();
}
