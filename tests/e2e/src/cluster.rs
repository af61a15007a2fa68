//! Parts of a cluster, made on one machine for a test: hosts, a batch system, a memory limit.

pub mod control_group;
pub mod hosts;
pub mod skews;
pub mod slurm;
