use super::*;
use invivo_proto::control::link::{Ask, JobDescription};
use proptest::prelude::*;

fn listening() -> (tempfile::TempDir, PathBuf, Gateway) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("link.sock");
    let gateway = Gateway::listen(&path).unwrap();
    (dir, path, gateway)
}

fn request(id: u64) -> Vec<u8> {
    frame(&encode(&Request { id, ask: Ask::Job }).unwrap())
}

fn connected(gateway: &mut Gateway, path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream
        .set_read_timeout(Some(std::time::Duration::from_secs(5)))
        .unwrap();
    assert!(gateway.poll().is_empty());
    stream
}

fn read_answer(stream: &mut UnixStream) -> Response {
    let mut length = [0u8; 4];
    stream.read_exact(&mut length).unwrap();
    let mut message = vec![0u8; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut message).unwrap();
    decode(&message).unwrap()
}

/// Whether the other side has closed the connection.
fn is_closed(stream: &mut UnixStream) -> bool {
    matches!(stream.read(&mut [0u8; 1]), Ok(0)) || stream.write(&[0]).is_err()
}

#[test]
fn several_requests_at_once_are_answered_in_any_order() {
    let (_dir, path, mut gateway) = listening();
    let mut stream = connected(&mut gateway, &path);
    stream
        .write_all(&[request(1), request(2), request(3)].concat())
        .unwrap();
    let requests = gateway.poll();
    assert_eq!(
        requests
            .iter()
            .map(|(_, request)| request.id)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    for &(connection, Request { id, .. }) in requests.iter().rev() {
        gateway.answer(
            connection,
            id,
            Answer::Job(JobDescription {
                ranks: id as u32,
                ..JobDescription::default()
            }),
            vec![WorldRank(id as u32)],
        );
    }
    for id in [3, 2, 1] {
        let answer = Answer::Job(JobDescription {
            ranks: id as u32,
            ..JobDescription::default()
        });
        let missing = vec![WorldRank(id as u32)];
        assert_eq!(
            read_answer(&mut stream),
            Response {
                id,
                answer,
                missing
            }
        );
    }
}

#[test]
fn a_dead_gateway_is_replaced_and_its_answers_reach_nobody() {
    let (_dir, path, mut gateway) = listening();
    let mut first = connected(&mut gateway, &path);
    first.write_all(&request(1)).unwrap();
    let (old, _) = gateway.poll()[0];
    let mut second = UnixStream::connect(&path).unwrap();
    second.write_all(&request(1)).unwrap();
    assert!(
        gateway.poll().is_empty(),
        "the second waits while the first lives"
    );
    drop(first);
    let mut requests = gateway.poll();
    requests.extend(gateway.poll());
    let (new, _) = requests[0];
    assert_ne!(old, new);
    gateway.answer(old, 1, Answer::Refused("for the first".into()), Vec::new());
    gateway.answer(new, 1, Answer::Refused("for the second".into()), Vec::new());
    assert_eq!(
        read_answer(&mut second).answer,
        Answer::Refused("for the second".into())
    );
    assert_eq!(gateway.refusals(), None);
}

/// One that does not read loses its connection before memory is lost.
#[test]
fn a_gateway_that_does_not_read_loses_its_connection() {
    let (_dir, path, mut gateway) = listening();
    let mut stream = connected(&mut gateway, &path);
    stream.write_all(&request(1)).unwrap();
    let (connection, _) = gateway.poll()[0];
    let text = "x".repeat(MESSAGE_BYTES_MAX / 4);
    for _ in 0..12 {
        gateway.answer(connection, 1, Answer::Refused(text.clone()), Vec::new());
        let unread = gateway
            .connection
            .as_ref()
            .map_or(0, |connection| connection.outgoing.len());
        assert!(unread <= UNREAD_BYTES_MAX + 4);
    }
    assert_eq!(
        gateway.refusals(),
        Some((1, "it does not read its answers"))
    );
}

#[test]
fn an_answer_that_is_too_large_becomes_a_refusal() {
    let (_dir, path, mut gateway) = listening();
    let mut stream = connected(&mut gateway, &path);
    stream.write_all(&request(9)).unwrap();
    let (connection, _) = gateway.poll()[0];
    gateway.answer(
        connection,
        9,
        Answer::Refused("x".repeat(MESSAGE_BYTES_MAX)),
        Vec::new(),
    );
    let Response {
        id: 9,
        answer: Answer::Refused(why),
        ..
    } = read_answer(&mut stream)
    else {
        panic!("no refusal")
    };
    assert!(why.contains("too large"), "{why}");
}

#[test]
fn a_flood_is_taken_in_portions() {
    let (_dir, path, mut gateway) = listening();
    let mut stream = connected(&mut gateway, &path);
    let count = 3 * REQUESTS_PER_LOOK_MAX as u64 + 7;
    stream
        .write_all(&(0..count).flat_map(request).collect::<Vec<u8>>())
        .unwrap();
    let mut ids = Vec::new();
    while (ids.len() as u64) < count {
        let portion = gateway.poll();
        assert!((1..=REQUESTS_PER_LOOK_MAX).contains(&portion.len()));
        ids.extend(portion.iter().map(|(_, request)| request.id));
    }
    assert_eq!(ids, (0..count).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes: valid requests before it are taken, then either the connection waits for
    /// more or it is closed and counted, and the next gateway is served.
    #[test]
    fn garbage_closes_the_connection_and_harms_nothing_else(
        valid in 0u64..3,
        garbage in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let (_dir, path, mut gateway) = listening();
        let mut stream = connected(&mut gateway, &path);
        let bytes = [(0..valid).flat_map(request).collect::<Vec<u8>>(), garbage].concat();
        stream.write_all(&bytes).unwrap();
        let requests = gateway.poll();
        let ids: Vec<u64> = requests.iter().map(|(_, request)| request.id).collect();
        prop_assert_eq!(&ids[..valid as usize], &(0..valid).collect::<Vec<_>>()[..]);
        if gateway.refusals().is_some() {
            prop_assert!(is_closed(&mut stream));
        }
        drop(stream);
        gateway.poll();
        let mut next = connected(&mut gateway, &path);
        next.write_all(&request(77)).unwrap();
        let requests = gateway.poll();
        prop_assert_eq!(requests.len(), 1);
        prop_assert_eq!(requests[0].1.id, 77);
    }
}

/// A request that claims to be huge is refused at once.
#[test]
fn a_huge_request_is_refused_at_once() {
    let (_dir, path, mut gateway) = listening();
    let mut stream = connected(&mut gateway, &path);
    stream.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert!(gateway.poll().is_empty());
    assert_eq!(gateway.refusals().map(|(count, _)| count), Some(1));
    assert!(is_closed(&mut stream));
}
