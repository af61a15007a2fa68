//! Another user of the same machine, who has a shell and python3. Directories of the job that keep
//! him out are opened for him where what lies behind them is to be tried.

use crate::attacks;
use crate::stage::{Attack, Opened, Stage};
use invivo_e2e::clients::number;
use invivo_e2e::processes;
use serde_json::Value;
use std::path::Path;

pub const ATTACKS: &[Attack] = attacks![
    stranger_reads_connect_json,
    stranger_reads_the_audit_log,
    stranger_lists_the_sockets,
    stranger_connects_to_the_gateway,
    stranger_connects_to_a_place,
    stranger_connects_to_the_root,
    stranger_floods_the_gateway,
    stranger_makes_a_socket_of_the_jobs,
    stranger_signals_every_process,
    stranger_looks_into_processes,
    stranger_reads_command_lines,
    abstract_sockets_are_closed,
];

/// Says for each argument whether it can be opened or listed.
const OPENS: &str = r#"
import os, sys
for path in sys.argv[1:]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print("read", path)
    except OSError:
        pass
"#;

/// Connects to a socket as often as is said, and says how often anything came back but an end.
const CONNECTS: &str = r#"
import socket, sys
path, kind, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
got = 0
for _ in range(times):
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(1)
    try:
        s.connect(path)
        s.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        got += bool(s.recv(100))
    except OSError:
        pass
    s.close()
print(got)
"#;

fn nobody_reads(stage: &Stage, path: &Path) {
    let file = path.to_str().expect("text");
    assert_eq!(stage.as_nobody(OPENS, &[file]), "", "as it is");
}

fn stranger_reads_connect_json(stage: &mut Stage) {
    let path = stage.running.connect_file();
    nobody_reads(stage, &path);
    let _open = Opened::to_all(path.parent().expect("a directory"));
    nobody_reads(stage, &path);
}

fn stranger_reads_the_audit_log(stage: &mut Stage) {
    // The first line makes it.
    stage.client().json(&["record", "on"]);
    let path = stage.running.connect_file();
    let _open = Opened::to_all(path.parent().expect("a directory"));
    for name in ["audit.jsonl", "gateway.log"] {
        let path = path.with_file_name(name);
        assert!(path.exists(), "{name}");
        nobody_reads(stage, &path);
    }
}

fn stranger_lists_the_sockets(stage: &mut Stage) {
    let socket = stage.socket();
    let folder = socket.parent().expect("a directory");
    let _open = Opened::to_all(stage.running.directory());
    nobody_reads(stage, folder);
    nobody_reads(stage, folder.parent().expect("the user's"));
}

/// Connects as nobody to a socket that is open to all; nothing comes back.
fn connects(stage: &Stage, socket: &Path, kind: &str, times: u32) {
    let path = socket.to_str().expect("text");
    let times = times.to_string();
    assert_eq!(
        stage.as_nobody(CONNECTS, &[path, kind, &times]),
        "0",
        "as it is"
    );
    let _open = Opened::to_all(socket);
    assert_eq!(
        stage.as_nobody(CONNECTS, &[path, kind, &times]),
        "0",
        "open to all"
    );
}

const STREAM: &str = "1";
const PACKETS: &str = "5";

fn stranger_connects_to_the_gateway(stage: &mut Stage) {
    let behind = stage.newest();
    connects(stage, &stage.socket(), STREAM, 1);
    stage.is_in_audit(behind, "connect", "refused: another user");
}

fn stranger_connects_to_a_place(stage: &mut Stage) {
    connects(stage, &stage.socket_named("place-"), PACKETS, 20);
    let status = stage.client().json(&["status"]).to_string();
    assert!(status.contains("another user tried to attach"), "{status}");
}

fn stranger_connects_to_the_root(stage: &mut Stage) {
    connects(stage, &stage.socket_named("link"), STREAM, 2);
}

fn stranger_floods_the_gateway(stage: &mut Stage) {
    let before = stage.log_bytes();
    connects(stage, &stage.socket(), STREAM, 500);
    let lines = stage.audit();
    let refused = |entry: &&Value| entry["command"] == "connect";
    assert!(
        lines.iter().filter(refused).count() <= 64,
        "the audit log is bounded"
    );
    let grown = stage.log_bytes() - before;
    assert!(grown < 64 << 10, "the log has grown by {grown} bytes");
}

fn stranger_makes_a_socket_of_the_jobs(stage: &mut Stage) {
    let path = stage.socket().with_file_name("place-99.sock");
    let script = "import socket, sys\ntry:\n socket.socket(socket.AF_UNIX).bind(sys.argv[1])\n \
                  print('made')\nexcept OSError:\n pass";
    let path = path.to_str().expect("text");
    let _open = Opened::to_all(stage.running.directory());
    assert_eq!(stage.as_nobody(script, &[path]), "");
}

fn numbers(stage: &Stage) -> Vec<String> {
    let all = processes::marked(stage.running.mark());
    all.iter().map(|process| process.pid.to_string()).collect()
}

fn stranger_signals_every_process(stage: &mut Stage) {
    let script = "import os, sys\nfor pid in sys.argv[1:]:\n for signal in (9, 19, 23):\n  \
                  try:\n   os.kill(int(pid), signal)\n   print('sent', pid)\n  \
                  except PermissionError:\n   pass";
    let all = numbers(stage);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(all.len() > RANKS_AND_TOOLS, "{all:?}");
    assert_eq!(stage.as_nobody(script, &all), "");
}

/// Ranks, their supervisors and a tool process.
const RANKS_AND_TOOLS: usize = 5;

fn stranger_looks_into_processes(stage: &mut Stage) {
    let files = ["mem", "maps", "environ", "fd", "syscall", "stack"];
    let all: Vec<String> = numbers(stage)
        .iter()
        .flat_map(|pid| files.map(|file| format!("/proc/{pid}/{file}")))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // An empty file is nothing that was read.
    assert_eq!(stage.as_nobody(OPENS, &all), "");
}

/// What anybody may read, and what the application is given, holds no token.
fn stranger_reads_command_lines(stage: &mut Stage) {
    let tokens = [stage.told("view"), stage.told("control")];
    let has_token = |path: String| {
        let text = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(tokens.iter().all(|token| !text.contains(token)), "{path}");
    };
    for pid in numbers(stage) {
        has_token(format!("/proc/{pid}/cmdline"));
        has_token(format!("/proc/{pid}/environ"));
    }
    for line in stage.running.our_lines() {
        assert!(tokens.iter().all(|token| !line.contains(token)), "{line}");
    }
}

/// The names by which descriptors are handed over are gone once the ranks have theirs: nothing is
/// left to connect to, and no name to take over.
fn abstract_sockets_are_closed(stage: &mut Stage) {
    let table = std::fs::read_to_string("/proc/net/unix").expect("the kernel's table");
    let named: Vec<&str> = table.lines().filter(|line| line.contains(" @")).collect();
    let supervisors = stage.running.named("invivo");
    assert!(!supervisors.is_empty());
    for supervisor in supervisors {
        let folder = format!("/proc/{}/fd", supervisor.pid);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            let target = target.to_string_lossy().into_owned();
            let Some(inode) = target
                .strip_prefix("socket:[")
                .and_then(|text| text.strip_suffix(']'))
            else {
                continue;
            };
            let is_it = |line: &&&str| line.split_whitespace().nth(6) == Some(inode);
            let found = named.iter().find(is_it);
            assert!(found.is_none(), "{found:?} of {}", supervisor.pid);
        }
    }
    assert!(number(&stage.client().json(&["status"]), "/coverage/ranks") > 0);
}
