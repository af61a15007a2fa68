//! What every process of a job knows before it takes its role: options, numbers, names, files.

pub mod artefacts;
pub mod environment;
pub mod job_id;
pub mod job_options;
pub mod node_share;
pub mod placement;
pub mod preflight;
pub mod slurm_fence;
pub mod spread;
