//! Somebody stands where the gateway is expected: the client shows its token to nobody else.

use crate::attacks;
use crate::stage::{Attack, NOBODY, Stage};
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const ATTACKS: &[Attack] = attacks![
    socket_of_another_user,
    url_without_tls,
    tls_of_somebody_else,
    connect_file_that_others_may_read,
    connect_file_of_another_user,
    connect_file_that_is_a_pipe,
    connect_file_of_a_terabyte,
    connect_file_behind_a_link_of_nobody,
];

/// Listens at a path as nobody, and prints what comes.
const LISTENER: &str = r#"
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen()
print("listens", flush=True)
while True:
    c, _ = s.accept()
    print(c.recv(65536).hex(), flush=True)
"#;

fn socket_of_another_user(stage: &mut Stage) {
    // Where anybody may make one.
    let path = PathBuf::from(format!("/tmp/invivo-attack-{}.sock", std::process::id()));
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command
        .args(["/usr/bin/python3", "-c", LISTENER])
        .arg(&path);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("setpriv and python3");
    let said = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(said).lines();
    let first = lines.next().expect("a line").expect("text");
    assert_eq!(first, "listens");

    let at = path.to_str().expect("text").to_owned();
    let file = stage.doctored(|connect| connect["socket"] = at.into());
    stage.is_refused(&file, &["status"], "another user (uid 65534)");
    let _ = child.kill();
    let heard: Vec<String> = lines.map_while(Result::ok).collect();
    let _ = child.wait();
    let _ = std::fs::remove_file(&path);
    assert_eq!(heard.concat(), "", "bytes that it got");
}

/// What a client sends to whoever listens behind this `connect.json`.
fn sent(stage: &mut Stage, scheme: &str, why: &str) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    listener.set_nonblocking(true).expect("set");
    let url = format!("{scheme}://{address}");
    let file = stage.doctored(|connect| {
        connect["socket"] = "/nonexistent/gateway.sock".into();
        connect["url"] = url.into();
        connect["authority"] = "".into();
    });
    std::thread::scope(|scope| {
        let client = scope.spawn(|| stage.is_refused(&file, &["status"], why));
        let mut all = Vec::new();
        while !client.is_finished() {
            if let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                let mut part = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut part) {
                    all.extend_from_slice(&part[..read]);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        client.join().expect("it was refused");
        all
    })
}

fn url_without_tls(stage: &mut Stage) {
    assert!(sent(stage, "http", "it must begin with https://").is_empty());
}

/// A listener that has no certificate of the job's authority learns no token.
fn tls_of_somebody_else(stage: &mut Stage) {
    let bytes = sent(stage, "https", "");
    let token = stage.told("view");
    let shows = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(!shows(&token) && !shows("authorization"));
}

fn connect_file_that_others_may_read(stage: &mut Stage) {
    let file = stage.doctored(|_| {});
    for mode in [0o644, 0o640, 0o602] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("mode set");
        stage.is_refused(&file, &["status"], "may be read or written by others");
    }
}

fn connect_file_of_another_user(stage: &mut Stage) {
    let file = stage.doctored(|_| {});
    chown(&file, Some(NOBODY), None).expect("given away");
    stage.is_refused(&file, &["status"], "may be read or written by others");
}

fn connect_file_that_is_a_pipe(stage: &mut Stage) {
    let file = stage.doctored(|_| {});
    std::fs::remove_file(&file).expect("removed");
    let made = Command::new("mkfifo")
        .args(["-m", "600"])
        .arg(&file)
        .status();
    assert!(made.expect("mkfifo").success());
    stage.is_refused(&file, &["status"], "no regular file");
}

fn connect_file_of_a_terabyte(stage: &mut Stage) {
    let file = stage.doctored(|_| {});
    let sparse = std::fs::File::options().write(true).open(&file);
    sparse.expect("opened").set_len(1 << 40).expect("a hole");
    stage.is_refused(&file, &["status"], "bytes long, at most");
}

fn connect_file_behind_a_link_of_nobody(stage: &mut Stage) {
    let file = stage.doctored(|_| {});
    chown(&file, Some(NOBODY), None).expect("given away");
    let link = file.with_extension("link");
    symlink(&file, &link).expect("linked");
    stage.is_refused(&link, &["status"], "may be read or written by others");
}
