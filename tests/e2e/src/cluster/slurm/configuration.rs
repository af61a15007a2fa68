//! The files that describe a Slurm to its daemons.

use std::path::Path;

/// What a node has for itself, below Slurm's directory: the same path for all, another folder for
/// each.
pub const LOCAL: &str = "local";

/// `slurm.conf` for these nodes, of which each claims so many processors.
pub fn slurm(at: &Path, nodes: &[String], cpus: u32) -> String {
    let (at, nodes) = (at.display(), nodes.join(","));
    format!(
        "ClusterName=test\nSlurmctldHost=login\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={at}/munge/socket\nCryptoType=crypto/munge\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         SlurmdParameters=config_overrides\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nStateSaveLocation={at}/state\n\
         SlurmdSpoolDir={at}/{LOCAL}/spool\nTmpFS={at}/{LOCAL}/tmp\n\
         SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/{LOCAL}/slurmd.pid\n\
         ReturnToService=2\nKillWait=2\nMpiDefault=none\n\
         NodeName={nodes} CPUs={cpus} State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}

/// `/etc/hosts` for these nodes, which are numbered from 1.
pub fn hosts(nodes: &[String]) -> String {
    let lines = (1..).zip(nodes);
    let lines: String = lines
        .map(|(number, name)| format!("10.203.78.{number} {name}\n"))
        .collect();
    format!("127.0.0.1 localhost\n10.203.78.100 login\n{lines}")
}
