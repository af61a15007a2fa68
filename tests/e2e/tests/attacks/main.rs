//! Attacks by name, from clients, from another user, from the application itself, and from whoever
//! prepares the ground before a job.
//!
//! Most of them are made on one job that runs all the time: behind each it still answers, no
//! process of it has grown, and at the end its output and status are those of a run without us.
//! Where a door was tried, the audit log says so. `ATTACK=name,name` makes those alone whose names
//! hold that word.

mod clients;
mod doors;
mod floods;
mod ground;
mod impersonation;
mod memory;
mod places;
mod stage;
mod strangers;

use invivo_e2e::mpi::Family;
use stage::{Attack, Stage};

/// The attacks on a job that runs.
fn on_a_running_job() -> Vec<Attack> {
    [
        doors::ATTACKS,
        impersonation::ATTACKS,
        strangers::ATTACKS,
        floods::ATTACKS,
        clients::ATTACKS,
        places::ATTACKS,
    ]
    .concat()
}

/// What is chosen by `ATTACK`.
fn is_chosen(name: &str) -> bool {
    let chosen = std::env::var("ATTACK").unwrap_or_default();
    chosen.split(',').any(|word| name.contains(word))
}

/// Makes these attacks on one job of this MPI.
fn attack_a_running_job(family: Family, attacks: &[Attack]) {
    let mut stage = Stage::of(family);
    for Attack { name, attack } in attacks {
        if is_chosen(name) {
            let begun = std::time::Instant::now();
            attack(&mut stage);
            stage.is_unharmed(name);
            println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    stage.end();
}

#[test]
fn a_running_job_survives_every_attack() {
    attack_a_running_job(Family::Ompi, &on_a_running_job());
}

/// The attacks in which the tool processes play a part: they are built for each MPI, the gateway
/// and the client are not.
#[test]
fn a_running_job_of_mpich_survives_attacks_on_tool_processes() {
    attack_a_running_job(Family::Mpich, places::ATTACKS);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn a_running_job_of_mpich_survives_every_attack() {
    attack_a_running_job(Family::Mpich, &on_a_running_job());
}

#[test]
fn a_hostile_rank_harms_nobody_else() {
    memory::on_a_hostile_rank(Family::Ompi, None);
}

#[test]
fn a_hostile_rank_of_mpich_harms_nobody_else() {
    memory::on_a_hostile_rank(Family::Mpich, Some(&memory::IN_PART));
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn a_hostile_rank_of_mpich_harms_nobody_at_length() {
    memory::on_a_hostile_rank(Family::Mpich, None);
}

#[test]
#[ignore = "a control group, which not every machine allows"]
fn a_rank_that_takes_all_memory_harms_no_tool_process() {
    for family in Family::ALL {
        memory::under_a_memory_limit(family);
    }
}

#[test]
fn prepared_ground_traps_no_job() {
    for (name, attack) in ground::ATTACKS {
        if is_chosen(name) {
            attack();
            println!("{name}");
        }
    }
}

/// Each has a name of its own, and there are as many as the page on security says.
#[test]
fn every_attack_has_a_name_of_its_own() {
    let mut names: Vec<&str> = on_a_running_job()
        .iter()
        .map(|attack| attack.name)
        .collect();
    names.extend(memory::NAMES.iter().map(|(name, _)| *name));
    names.extend(ground::ATTACKS.iter().map(|(name, _)| *name));
    names.push(memory::UNDER_A_LIMIT);
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "names are used twice");
    assert!(all >= 50, "{all} attacks");
    let page = invivo_e2e::paths::root().join("docs/manual/security.md");
    let page = std::fs::read_to_string(page).expect("the manual's page");
    assert!(
        page.contains(&format!("{all} attacks")),
        "{all} attacks: say so in the manual"
    );
}
