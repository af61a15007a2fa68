use super::*;
use std::os::unix::fs::symlink;

fn listed(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a listing");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_there_is_replaced_and_links_and_devices_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, link) = (dir.path().join("report.txt"), dir.path().join("link"));
    symlink("report.txt", &link).expect("a link");
    // The first makes the file that the link names, the second replaces it.
    for text in ["first", "2nd"] {
        write(&link, text.as_bytes()).expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }
    assert!(link.is_symlink());
    assert_eq!(listed(dir.path()), ["link", "report.txt"]);

    write(Path::new("/dev/null"), b"gone").expect("written");
    assert!(write(Path::new("/dev/full"), b"no room").is_err());
    for device in ["/dev/null", "/dev/full"] {
        let metadata = std::fs::metadata(device).expect("a device");
        assert!(!metadata.is_file(), "{device} stays one");
    }
    assert!(write(&dir.path().join("none/report.txt"), b"text").is_err());
}

/// Files of the user whose names look like ours stay, and a failure leaves all as it was.
#[test]
fn failures_and_neighbours_leave_files_as_they_were() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("q.pftrace");
    for name in ["q.new", "q.pftrace.new", "q.pftrace"] {
        std::fs::write(dir.path().join(name), name).expect("written");
    }
    let failed = write_with(&path, |out| {
        out.write_all(b"half")?;
        Err(Error::other("no more"))
    });
    assert!(failed.is_err());
    for name in ["q.new", "q.pftrace.new", "q.pftrace"] {
        let text = std::fs::read_to_string(dir.path().join(name)).expect("there");
        assert_eq!(text, name);
    }
    write(&path, b"whole").expect("written");
    assert_eq!(listed(dir.path()), ["q.new", "q.pftrace", "q.pftrace.new"]);
}

#[test]
fn modes_of_replaced_files_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("report.txt");
    write(&path, b"first").expect("written");
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("changed");
    write(&path, b"second").expect("written");
    let mode = std::fs::metadata(&path).expect("there").mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn what_cannot_be_written_is_known_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("report.txt");
    for good in [
        path.as_path(),
        Path::new("/dev/null"),
        Path::new("here.txt"),
    ] {
        check(good).expect("writable");
    }
    let nowhere = dir.path().join("none/report.txt");
    for bad in [dir.path(), nowhere.as_path(), Path::new("/proc/report.txt")] {
        assert!(check(bad).is_err(), "{}", bad.display());
    }
    assert!(listed(dir.path()).is_empty());
}

/// In a directory that all may write to, somebody else's link may lead to any file of ours.
#[test]
fn links_of_strangers_are_not_followed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (ours, link) = (dir.path().join("ours"), dir.path().join("report.txt"));
    std::fs::write(&ours, "ours").expect("written");
    symlink(&ours, &link).expect("a link");
    std::os::unix::fs::lchown(&link, Some(12345), None).expect("given away");
    let refused = write(&link, b"theirs").expect_err("refused");
    assert!(refused.to_string().contains("user 12345"), "{refused}");
    assert_eq!(std::fs::read_to_string(&ours).expect("there"), "ours");
}
