//! Directories, links, modes and leftovers.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn connect(job: &str) -> Connect {
    Connect::new(job, Path::new("/tmp/gateway.sock"), vec!["./app".into()]).expect("random numbers")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").mode() & 0o7777
}

#[test]
fn job_ids_are_harmless_names() {
    assert_eq!(job_id("node1-4711"), "node1-4711");
    assert_eq!(job_id("../../etc/passwd"), "etc-passwd");
    assert_eq!(job_id("..."), "job");
    let long = job_id(&format!("{}-4711", "n".repeat(200)));
    assert!(long.len() <= JOB_ID_BYTES_MAX && long.ends_with("-4711"));
    for bad in [
        "",
        ".",
        "..",
        "a/b",
        "-x",
        &"x".repeat(JOB_ID_BYTES_MAX + 1),
    ] {
        assert!(check_job_id(bad).is_err(), "{bad:?} must be refused");
    }
}

#[test]
fn a_published_job_is_private_listed_and_gone_after_withdrawal() {
    let dir = tempfile::tempdir().expect("directory");
    let jobs = dir.path().join("state/invivo/jobs");
    let connect = connect("one");
    let path = publish_in(&jobs, &connect).expect("published");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&jobs.join("one")), 0o700);
    let listed = jobs_in(&jobs).expect("listed");
    assert_eq!(listed.running, vec![(path, connect)]);
    assert!(listed.stale.is_empty() && listed.unusable.is_empty());
    clear(&jobs.join("one")).expect("removed");
    assert!(!jobs.join("one").exists());
    clear(&jobs.join("one")).expect("twice is no error");
    assert!(jobs_in(&jobs).expect("listed").running.is_empty());
}

#[test]
fn a_dead_jobs_leftovers_are_named_and_removed() {
    let dir = tempfile::tempdir().expect("directory");
    let jobs = dir.path().join("state/invivo/jobs");
    let mut dead = connect("dead");
    dead.pid_start_ticks += 1;
    publish_in(&jobs, &dead).expect("published");
    publish_in(&jobs, &connect("alive")).expect("published");
    let listed = jobs_in(&jobs).expect("listed");
    assert_eq!(listed.stale, ["dead"]);
    assert_eq!(listed.running.len(), 1);
    assert!(!jobs.join("dead").exists());
}

#[test]
fn audit_logs_outlive_their_jobs_in_bounded_number() {
    let dir = tempfile::tempdir().expect("directory");
    let jobs = dir.path().join("state/invivo/jobs");
    for (age, job) in ["oldest", "older", "old", "alive"].into_iter().enumerate() {
        let path = publish_in(&jobs, &connect(job)).expect("published");
        std::fs::write(path.with_file_name("audit.jsonl"), "{}\n").expect("written");
        std::fs::write(path.with_file_name("gateway.log"), "").expect("written");
        if job != "alive" {
            clear(&jobs.join(job)).expect("cleared");
            let names: Vec<_> = std::fs::read_dir(jobs.join(job))
                .expect("kept")
                .flatten()
                .collect();
            assert_eq!(
                names
                    .iter()
                    .map(|name| name.file_name())
                    .collect::<Vec<_>>(),
                ["audit.jsonl"]
            );
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
            std::fs::File::open(jobs.join(job))
                .and_then(|file| file.set_modified(then))
                .expect("aged");
        }
    }
    assert_eq!(jobs_in(&jobs).expect("listed").running.len(), 1);
    prune(&jobs, 2).expect("pruned");
    let left = ["oldest", "older", "old", "alive"].map(|job| jobs.join(job).exists());
    assert_eq!(left, [false, true, true, true]);
}

/// The id of a running job is not taken over and that of a dead one is.
#[test]
fn only_a_dead_jobs_id_is_taken_over() {
    let dir = tempfile::tempdir().expect("directory");
    let jobs = dir.path().join("state/invivo/jobs");
    let parent = std::os::unix::process::parent_id();
    let mut other = connect("id");
    (other.pid, other.pid_start_ticks) = (parent, 0);
    publish_in(&jobs, &other).expect("published");
    assert!(matches!(
        publish_in(&jobs, &connect("id")),
        Err(PlaceError::Running { pid, .. }) if pid == parent
    ));
    other.pid_start_ticks = 1;
    std::fs::remove_dir_all(jobs.join("id")).expect("removed");
    publish_in(&jobs, &other).expect("published");
    publish_in(&jobs, &connect("id")).expect("a dead job's id is free");
}

/// A directory that others may enter or a link is refused.
#[test]
fn a_directory_open_to_others_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    let open = dir.path().join("open");
    std::fs::create_dir(&open).expect("made");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).expect("mode set");
    assert!(matches!(private_dir(&open), Err(PlaceError::NotOurs(_))));
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path(), &link).expect("linked");
    assert!(matches!(private_dir(&link), Err(PlaceError::NotOurs(_))));
}

#[test]
fn a_directory_goes_while_others_leave_notes_in_it() {
    let parent = tempfile::tempdir().expect("directory");
    for _ in 0..200 {
        let dir = runtime_dir_at(&parent.path().join("invivo-1"), "job").expect("made");
        let user = dir.parent().expect("the user's").to_owned();
        std::thread::scope(|scope| {
            let leaves = |name| {
                let dir = &dir;
                move || {
                    (0..).all(|number| {
                        std::fs::write(dir.join(format!("{name}-{number}")), "").is_ok()
                    })
                }
            };
            let threads = ["began", "ended"].map(|name| scope.spawn(leaves(name)));
            std::thread::sleep(std::time::Duration::from_millis(1));
            remove_runtime_dir(&dir).expect("removed");
            // They write until they cannot.
            for thread in threads {
                assert!(!thread.join().expect("no panic"));
            }
        });
        let left: Vec<_> = std::fs::read_dir(user).expect("the user's").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn sockets_fit_into_the_runtime_directory_or_it_falls_back() {
    let dir = tempfile::tempdir().expect("directory");
    let short = dir.path().join("run");
    let long = dir.path().join("r".repeat(100));
    let made = runtime_dir_in(&[short.clone(), long.clone()], "job").expect("made");
    assert!(made.starts_with(&short));
    assert_eq!(mode(&made), 0o700);
    let again = runtime_dir_in(&[short.clone(), long.clone()], "job").expect("again");
    assert_eq!(again, made);
    let fallback = runtime_dir_in(&[long.clone(), short.clone()], "job").expect("made");
    assert_eq!(fallback, made);
    assert!(matches!(
        runtime_dir_in(&[long], "job"),
        Err(PlaceError::PathTooLong { .. })
    ));
    let longest = Path::new("/tmp")
        .join("invivo-4294967295")
        .join("j".repeat(JOB_ID_BYTES_MAX));
    assert!(longest.as_os_str().len() + 1 + SOCKET_NAME_BYTES_MAX <= SOCKET_PATH_BYTES_MAX);
}

/// Anybody can make a directory of our name in `/tmp`; the jobs then have their sockets elsewhere.
#[test]
fn a_squatted_runtime_directory_is_left_alone() {
    let dir = tempfile::tempdir().expect("directory");
    let (squatted, own) = (dir.path().join("invivo-7"), dir.path().join("state/run"));
    std::fs::create_dir(&squatted).expect("made");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&squatted, open).expect("opened");
    let made = runtime_dir_in(&[squatted.clone(), own.clone()], "job").expect("made");
    assert_eq!(made, own.join("job"));
    let in_it = std::fs::read_dir(&squatted).expect("listed").count();
    assert_eq!(in_it, 0);
    let refused = runtime_dir_in(&[squatted], "job").expect_err("nothing else");
    assert!(matches!(refused, PlaceError::NotOurs(_)), "{refused}");
}

/// What anybody may rename is no place for sockets; `/tmp` is one.
#[test]
fn a_directory_that_others_may_rename_is_no_base() {
    let dir = tempfile::tempdir().expect("directory");
    let above = dir.path().join("above");
    std::fs::create_dir(&above).expect("made");
    let base = above.join("invivo-1");
    for (mode, is_good) in [
        (0o777, false),
        (0o1777, true),
        (0o770, false),
        (0o755, true),
    ] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&above, permissions).expect("mode set");
        let made = runtime_dir_at(&base, "one");
        assert_eq!(made.is_ok(), is_good, "{mode:o}: {made:?}");
    }
    check_above(Path::new("/tmp")).expect("/tmp is sticky");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&above, Some(1), None).expect("given away");
        assert!(
            runtime_dir_at(&base, "one").is_err(),
            "its owner may rename"
        );
    }
}
