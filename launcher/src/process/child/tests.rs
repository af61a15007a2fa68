//! Real children: what they inherit, and how they end.

use super::*;
use nix::sys::signal::Signal as NamedSignal;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::Stdio;

/// Nothing but what every child inherits.
fn nothing() -> Inheritance<'static> {
    Inheritance {
        mask: SigSet::empty(),
        descriptors: &[],
        nothing_else: false,
    }
}

fn words(program: &[&str]) -> Command {
    command(&program.iter().map(OsString::from).collect::<Vec<_>>())
}

fn wait(child: Pid) -> Ended {
    loop {
        if let Some(ended) = ended(child) {
            return ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Runs a program and returns what it prints.
fn output(program: &[&str], inheritance: Inheritance<'_>) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = words(program);
    command.stdout(Stdio::from(writer));
    let child = start(command, inheritance).expect("started");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert_eq!(wait(child), Ended::Code(0));
    text
}

#[test]
fn ends_are_told_as_they_were() {
    for (script, expected) in [
        ("exit 0", Ended::Code(0)),
        ("exit 77", Ended::Code(77)),
        ("kill -SEGV $$", Ended::Signal(libc::SIGSEGV)),
        ("kill -KILL $$", Ended::Signal(libc::SIGKILL)),
    ] {
        let child = start(words(&["sh", "-c", script]), nothing()).expect("started");
        assert_eq!(wait(child), expected, "{script}");
    }
}

/// A program that cannot be started is answered as by a shell.
#[test]
fn a_failed_start_has_a_shells_exit_codes() {
    let code =
        |program: &str| failure(&start(words(&[program]), nothing()).expect_err("no program")).0;
    assert_eq!(code("./no-such-program"), 127);
    assert_eq!(code("no-such-program-in-path"), 127);
    assert_eq!(code("/etc/passwd"), 126);
    assert_eq!(code("/"), 126);
}

#[test]
fn the_mask_group_and_chosen_descriptors_are_inherited() {
    let mut mask = SigSet::empty();
    mask.add(NamedSignal::SIGUSR2);
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let descriptors = [writer.as_fd()];
    let inheritance = Inheritance {
        mask,
        descriptors: &descriptors,
        nothing_else: false,
    };
    // No shell: it would change the mask.
    let text = output(&["grep", "SigBlk", "/proc/self/status"], inheritance);
    let blocked = text
        .split_whitespace()
        .nth(1)
        .map(|hex| u64::from_str_radix(hex, 16));
    assert_eq!(blocked, Some(Ok(1 << (libc::SIGUSR2 - 1))));
    let group = rustix::process::getpgrp()
        .as_raw_nonzero()
        .get()
        .to_string();
    assert_eq!(
        output(&["sh", "-c", "ps -o pgid= -p $$"], inheritance).trim(),
        group
    );
    let number = std::os::fd::AsRawFd::as_raw_fd(&writer).to_string();
    let text = output(&["ls", "/proc/self/fd"], inheritance);
    assert!(
        text.lines().any(|line| line == number),
        "descriptor {number} in {text}"
    );
    assert!(
        rustix::io::fcntl_getfd(&writer)
            .expect("flags")
            .contains(rustix::io::FdFlags::CLOEXEC),
        "ours stays"
    );
}

#[test]
fn a_child_that_gets_nothing_else_has_no_other_descriptor() {
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    // As a launcher leaves its own behind: open over exec.
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).expect("set");
    let number = std::os::fd::AsRawFd::as_raw_fd(&writer).to_string();
    let list = |nothing_else| {
        output(
            &["ls", "/proc/self/fd"],
            Inheritance {
                nothing_else,
                ..nothing()
            },
        )
    };
    assert!(list(false).lines().any(|line| line == number));
    assert!(!list(true).lines().any(|line| line == number));
}

/// Other threads open and close descriptors while children start.
#[test]
fn descriptors_that_were_closed_meanwhile_are_no_error() {
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                drop(std::fs::File::open("/dev/null"));
            }
        });
        for _ in 0..100 {
            let inheritance = Inheritance {
                nothing_else: true,
                ..nothing()
            };
            let child = start(words(&["true"]), inheritance).inspect_err(|_| {
                over.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            assert_eq!(wait(child.expect("started")), Ended::Code(0));
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_child_dies_with_the_thread_that_started_it() {
    let child = std::thread::spawn(|| start(words(&["sleep", "60"]), nothing()).expect("started"))
        .join()
        .expect("a child");
    assert_eq!(wait(child), Ended::Signal(libc::SIGKILL));
}
