//! The options of a job, of `invivo run` and `invivo exec` alike.

use crate::job::placement::TreeRequest;
use clap::Args;
use invivo_config::{Effective, Flags, Value};
use std::ffi::OsString;

/// Options of a job: those that configuration files and variables may hold as well, and those that
/// belong to one run alone.
#[derive(Args, Clone, Debug, Default)]
pub struct JobArgs {
    #[command(flatten)]
    pub flags: Flags,
    /// Nodes of the job: every node gets ranks and tool processes of its own [default: as the
    /// launcher tells]
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// Whether calls are recorded from the start; `off` starts unobserved, until `invivo record on`
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = switch,
          action = clap::ArgAction::Set)]
    pub recording: Switch,
}

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// On.
    #[default]
    On,
    /// Off.
    Off,
}

impl Switch {
    /// As one types it.
    pub fn text(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }
}

fn switch(text: &str) -> Result<Switch, String> {
    match bool::parse(text) {
        Ok(true) => Ok(Switch::On),
        Ok(false) => Ok(Switch::Off),
        Err(_) => Err(format!("{text:?} is neither on nor off")),
    }
}

/// The options in force for a job, from all layers.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// Options from all layers.
    pub config: Effective,
    /// Nodes of the job, where somebody says so.
    pub nodes: Option<u32>,
    /// Calls are recorded from the start.
    pub recording: Switch,
}

impl JobArgs {
    /// Reads the other layers.
    ///
    /// # Errors
    /// A sentence about what a layer may not say.
    pub fn resolve(&self) -> Result<JobOptions, String> {
        let config = invivo_config::effective(&self.flags).map_err(|error| error.to_string())?;
        Ok(JobOptions {
            config,
            nodes: self.nodes,
            recording: self.recording,
        })
    }
}

impl JobOptions {
    /// The options that decide about the tree.
    pub fn tree_request(&self, app: Option<u32>) -> TreeRequest {
        TreeRequest {
            fan_in: *self.config.fan_in,
            nodes: self.nodes,
            app,
        }
    }

    /// The longest that ranks are held behind `MPI_Init`, in ns; 0 they are not.
    pub fn hold_lease_ns(&self) -> u64 {
        self.config.hold.0.map_or(0, |lease| {
            u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX)
        })
    }

    /// How long the job stands still before that is reported, in ns; 0 is never.
    pub fn watchdog_ns(&self) -> u64 {
        let time = self.config.watchdog.value;
        time.map_or(0, |time| {
            u64::try_from(time.0.as_nanos()).unwrap_or(u64::MAX)
        })
    }

    /// The command line that gives another process the same options.
    pub fn to_flags(&self) -> Vec<OsString> {
        let mut words = self.config.to_flags();
        if let Some(nodes) = self.nodes {
            words.push(format!("--nodes={nodes}").into());
        }
        if self.recording != Switch::On {
            words.push(format!("--recording={}", self.recording.text()).into());
        }
        words
    }
}
