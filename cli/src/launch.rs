//! Starting jobs: `invivo plan` says how many processes to ask for, `invivo run` puts Invivo into a
//! launcher's command line, and `invivo exec` is what the launcher then starts: one process of the
//! job, which takes its role and, as a supervisor, outlives the application's process or the root.
//!
//! ```text
//! environment  launcher  binding  hosts  plan       pure: what the launcher says, what the user typed, how many and where
//! asked                                    the options of a job
//! run  exec                                the two ways in
//! supervisor <- stop, look, place_socket, memory, signals, child, process     a rank's supervisor
//! root <- public, gateway, final_message, last_seconds, janitor             the root's supervisor
//! keeper                                the same of every other tool process
//! stand_in                              what the launcher sees of these two
//! doctor                                what would get in a job's way
//! mpi <- program, tailor, symbols       which MPI library the program loads, and the shim that fits it
//! opening                               tool processes wait until the application calls MPI
//! ```

mod artefacts;
mod asked;
mod binding;
mod child;
mod contained;
mod doctor;
mod door;
mod environment;
mod exec;
mod final_message;
mod gateway;
mod hosts;
mod janitor;
mod job;
mod keeper;
mod last_seconds;
mod launcher;
mod look;
mod memory;
mod mpi;
mod opening;
mod place_socket;
mod plan;
mod preload;
mod process;
mod program;
mod public;
mod room;
mod root;
mod run;
mod signals;
mod slots;
mod stand_in;
mod stop;
mod supervisor;
mod symbols;
mod tailor;
mod waiting;
mod walk;

pub use doctor::{DoctorArgs, doctor};
pub use exec::{ExecArgs, exec};
pub use plan::{PlanArgs, plan};
pub use run::{RunArgs, run};

/// Says something to the user: one line on stderr that begins with our name.
fn say(line: &str) {
    use std::io::Write;
    // In one piece, so that lines of several processes do not mix; nobody may listen.
    let _ = std::io::stderr().write_all(format!("invivo: {line}\n").as_bytes());
}

/// How long the processes that say nothing wait for the one that does.
const LET_SPEAK: std::time::Duration = std::time::Duration::from_secs(2);

/// Says once what all processes of a node met alike; `speaks` in one of them. The launcher ends the
/// job as soon as one process has failed: the silent ones leave the one that speaks the time to do
/// it.
fn say_for_all(speaks: bool, line: &str) {
    match speaks {
        true => say(line),
        false => std::thread::sleep(LET_SPEAK),
    }
}

/// Prints something that was asked for; a reader that has had enough is no error.
fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}
