//! Files as they should be, as older programs wrote them, and as they must not be.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn sample() -> Connect {
    Connect::new(
        "job-1",
        Path::new("/tmp/x/gateway.sock"),
        vec!["./app".into(), "-v".into()],
    )
    .expect("random numbers")
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode set");
}

#[test]
fn what_is_written_is_read_and_later_fields_are_ignored() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join(FILE_NAME);
    let connect = sample();
    let mut value = serde_json::to_value(&connect).expect("json");
    value["later"] = "field".into();
    write(&path, &value.to_string(), 0o600);
    assert_eq!(Connect::read(&path).expect("read"), connect);
    assert_eq!(connect.liveness(), Liveness::Running);
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join(FILE_NAME);
    write(
        &path,
        &serde_json::to_string(&sample()).expect("json"),
        0o640,
    );
    assert!(matches!(
        Connect::read(&path),
        Err(ConnectError::Exposed { mode: 0o640, .. })
    ));
}

#[test]
fn a_later_version_and_garbage_are_told_apart() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join(FILE_NAME);
    write(&path, r#"{"version":3,"address":"elsewhere"}"#, 0o600);
    assert!(matches!(
        Connect::read(&path),
        Err(ConnectError::Version { version: 3, .. })
    ));
    write(&path, "{", 0o600);
    assert!(matches!(
        Connect::read(&path),
        Err(ConnectError::Malformed { .. })
    ));
}

/// A reused process id is stale and another host is elsewhere.
#[test]
fn a_reused_pid_is_stale_another_host_elsewhere() {
    let mut connect = sample();
    connect.pid_start_ticks += 1;
    assert_eq!(connect.liveness(), Liveness::Stale);
    connect.host.push_str(".other");
    assert_eq!(connect.liveness(), Liveness::Elsewhere);
}

/// A process that ended is stale even before it is reaped.
#[test]
fn an_ended_process_is_stale_before_it_is_reaped() {
    let mut child = std::process::Command::new("true").spawn().expect("spawned");
    let mut connect = sample();
    connect.pid = child.id();
    connect.pid_start_ticks = 0;
    // It becomes a zombie, as nobody waits for it yet.
    while connect.liveness() == Liveness::Running {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(connect.liveness(), Liveness::Stale);
    child.wait().expect("reaped");
    assert_eq!(connect.liveness(), Liveness::Stale);
}

#[test]
fn tokens_differ_and_stay_out_of_debug_output() {
    let connect = sample();
    assert_eq!(connect.view.len(), 64);
    assert_ne!(connect.view, connect.control);
    let shown = format!("{connect:?}");
    assert!(!shown.contains(&connect.view) && !shown.contains(&connect.control));
}

/// A file of the first layout is read and has no address for tls.
#[test]
fn the_first_layout_is_read_and_has_no_url() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join(FILE_NAME);
    let first = r#"{"version":1,"job":"j","socket":"/s","view":"v","control":"c","pid":1,
        "started_unix":5,"command":["./app"]}"#;
    write(&path, first, 0o600);
    let connect = Connect::read(&path).expect("read");
    assert_eq!((connect.url, connect.authority), (None, None));
}

#[test]
fn a_pipe_is_no_connect_json() {
    let dir = tempfile::tempdir().expect("directory");
    let pipe = dir.path().join(FILE_NAME);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("made");
    let error = Connect::read(&pipe).expect_err("refused at once");
    assert!(error.to_string().contains("no regular file"), "{error}");
}
