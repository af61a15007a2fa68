//! Answers a real gateway from a large tree, in the stead of a job's root: what gateways, clients
//! and pages do with jobs that no machine here can run.
//!
//! The tree's calls do not go on, so an answer is made once; time goes on.

use crate::scale::tree::Tree;
use crate::scale::world::World;
use invivo_analysis::hang::Surroundings;
use invivo_analysis_node::gateway::Gateway;
use invivo_analysis_node::root_server::present;
use invivo_jobdir::Connect;
use invivo_proto::control::link::{Answer, Ask, JobDescription, Request};
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, Policy};
use rustix::event::poll;
use std::error::Error;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the job has been observed when it is served: about twice the ranks' time in MPI.
const OBSERVED_BEFORE: Duration = Duration::from_secs(2400);

/// Serves a tree of `ranks` ranks until this process is killed. `directory`, which is this user's
/// alone, gets `connect.json`; the gateway has to be at `gateway.sock` and to look at `link.sock`.
///
/// # Errors
/// When the numbers make no tree, or the kernel refuses.
pub fn serve(ranks: u32, fan_in: &str, seed: u64, directory: &Path) -> Result<(), Box<dyn Error>> {
    let layout = Layout::for_app(ranks, fan_in.parse()?, Policy::Tail)?;
    let members: Vec<_> = (layout.app()..layout.total())
        .map(|me| (WorldRank(me), layout))
        .collect();
    let mut tree = Tree::plant(&members, World::new(ranks, seed));
    if let Some(violation) = tree.start().first() {
        return Err(violation.clone().into());
    }
    let mut gateway = Gateway::listen(&directory.join("link.sock"))?;
    let socket = directory.join("gateway.sock");
    let connect = Connect::new("simulated", &socket, vec!["sim".into()])?;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600);
    serde_json::to_writer(file.open(directory.join("connect.json"))?, &connect)?;

    let mut root = Served {
        tree,
        layout,
        begun: Instant::now(),
        known: Vec::new(),
    };
    loop {
        for (connection, Request { id, ask }) in gateway.poll() {
            let answer = root.answer(ask);
            gateway.answer(connection, id, answer, Vec::new());
        }
        poll(&mut [gateway.poll_fd()], None)?;
    }
}

struct Served {
    tree: Tree,
    layout: Layout,
    begun: Instant,
    known: Vec<(Query, Answer)>,
}

impl Served {
    fn answer(&mut self, ask: Ask) -> Answer {
        let query = match ask {
            Ask::Job => return Answer::Job(self.job()),
            Ask::Command { .. } => return Answer::Refused("nothing here runs".into()),
            Ask::Query(query) => query,
        };
        if let Some((_, answer)) = self.known.iter().find(|(known, _)| *known == query) {
            return answer.clone();
        }
        let wave = self.tree.ask(query);
        let mut partial = wave.partial;
        if let Partial::Status(status) = &mut partial {
            let now = (OBSERVED_BEFORE + self.begun.elapsed()).as_nanos() as u64;
            (status.observed_ns, status.recording.now_ns) = (now, now);
        }
        let around = Surroundings {
            ranks: self.layout.app(),
            members: &|_| None,
        };
        let answer = present(partial, wave.coverage, &around);
        // Of these each one is another question, or has the time in it.
        if !matches!(query, Query::Status | Query::Grid(_)) {
            self.known.push((query, answer.clone()));
        }
        answer
    }

    fn job(&self) -> JobDescription {
        JobDescription {
            id: "simulated".into(),
            ranks: self.layout.app(),
            places: self.layout.places(),
            nodes: 1,
            family: "ompi".into(),
            library: "simulated".into(),
            observation: None,
        }
    }
}
