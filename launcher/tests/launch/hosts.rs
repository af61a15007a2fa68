//! A job over two hosts, of which one runs here.

use crate::stage::{self, Stage, in_mpi, lines_of};

/// A process of a job over two hosts, as a launcher would start it: a rank and a place on each, the
/// root on the last.
fn on_first_host(
    stage: &stage::Stage,
    rank: u32,
    local_size: u32,
    arguments: &[&str],
) -> std::process::Child {
    let mut command = stage.invivo();
    command.args(["exec", "--"]).args(arguments);
    for (name, value) in [
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_SIZE", 5),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size),
    ] {
        command.env(name, value.to_string());
    }
    let stderr = std::fs::File::create(stage.path(&format!("stderr.{rank}"))).expect("a file");
    command.stderr(stderr).spawn().expect("started")
}

/// A host without the root is tidied up by its highest process.
#[test]
fn a_hosts_highest_process_removes_its_directory() {
    let stage = Stage::new();
    stage.tool_places_tell();
    let script = format!(
        "echo $OMPI_COMM_WORLD_SIZE of $OMPI_COMM_WORLD_LOCAL_SIZE > seen; {}; until [ -e stop ]; \
         do sleep 0.05; done",
        in_mpi()
    );
    let mut rank = on_first_host(&stage, 0, 2, &["bash", "-c", &script]);
    let mut place = on_first_host(&stage, 1, 2, &["bash", "-c", &script]);
    stage::until("the place runs", || {
        !lines_of(&stage.path("place.arguments")).is_empty()
    });
    let arguments = lines_of(&stage.path("place.arguments"));
    assert!(
        arguments[0].contains("--layout 2:64,16:nodes=2"),
        "{arguments:?}"
    );
    assert_eq!(lines_of(&stage.path("seen")), ["2 of 1"]);
    assert_eq!(stage.sockets().len(), 1, "the job's directory on this host");
    std::fs::write(stage.path("stop"), "").expect("written");
    assert!(place.wait().expect("ended").success() && rank.wait().expect("ended").success());
    assert!(stage.sockets().is_empty(), "{:?}", stage.sockets());
}

#[test]
fn a_launcher_that_shares_the_processes_otherwise_is_told_how() {
    let stage = Stage::new();
    let mut first = on_first_host(&stage, 0, 3, &["true"]);
    assert_eq!(first.wait().expect("ended").code(), Some(2));
    let lines = lines_of(&stage.path("stderr.0"));
    assert!(
        lines.len() == 1 && lines[0].contains("--nodes"),
        "{lines:?}"
    );
    assert!(stage.sockets().is_empty());
}
