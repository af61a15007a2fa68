//! Tokens and invitations: wrong ones, old ones, too small ones. Each is refused, and is in the
//! audit log.

use crate::attacks;
use crate::stage::{Attack, Stage};
use invivo_e2e::clients::http2::{
    END_HEADERS, END_STREAM, HEADERS, connect, frame, headers, literal, opening, read_until_closed,
    request, throw,
};
use invivo_e2e::clients::number;
use serde_json::Value;
use std::time::Duration;

pub const ATTACKS: &[Attack] = attacks![
    wrong_token,
    prefix_of_the_token,
    token_and_more,
    token_of_an_earlier_job,
    empty_token,
    no_token_at_all,
    view_token_pauses,
    view_token_shuts_down,
    view_token_stops_recording,
    view_token_resets,
    view_token_lists_guests,
    view_token_invites_to_control,
    method_that_does_not_exist,
    escapes_in_the_clients_name,
    invitation_used_twice,
    revoked_guest_comes_back,
    // Behind those that redeem one: guesses use up the attempts of a minute.
    guessed_invitation,
    command_repeated,
];

/// With this token, status is refused, and the audit log says so.
fn refused_token(stage: &mut Stage, token: &str) {
    let behind = stage.newest();
    let file = stage.doctored(|connect| connect["view"] = token.into());
    stage.is_refused(&file, &["status"], "refuses the token");
    stage.is_in_audit(behind, "status", "refused: wrong token");
}

fn wrong_token(stage: &mut Stage) {
    refused_token(stage, &"0".repeat(64));
}

fn prefix_of_the_token(stage: &mut Stage) {
    let token = stage.told("control");
    refused_token(stage, &token[..63]);
}

fn token_and_more(stage: &mut Stage) {
    let token = stage.told("control") + "0";
    refused_token(stage, &token);
}

fn token_of_an_earlier_job(stage: &mut Stage) {
    let token: String = stage.told("view").chars().rev().collect();
    refused_token(stage, &token);
}

fn empty_token(stage: &mut Stage) {
    let behind = stage.newest();
    let file = stage.doctored(|connect| connect["view"] = "".into());
    stage.is_refused(&file, &["status"], "no token for this");
    let mut stream = connect(&stage.socket()).expect("connected");
    throw(
        &mut stream,
        &[opening(), request(1, "Status", "", &[])].concat(),
    );
    read_until_closed(&mut stream, Duration::from_millis(300));
    stage.is_in_audit(behind, "status", "refused: wrong token");
}

fn no_token_at_all(stage: &mut Stage) {
    let behind = stage.newest();
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
    ];
    let path = (":path", "/invivo.v1.Invivo/Shutdown");
    let block = fields
        .iter()
        .chain([&path])
        .flat_map(|(name, value)| literal(name, value));
    let call = frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        1,
        &block.collect::<Vec<u8>>(),
    );
    let mut stream = connect(&stage.socket()).expect("connected");
    throw(&mut stream, &[opening(), call].concat());
    read_until_closed(&mut stream, Duration::from_millis(300));
    stage.is_in_audit(behind, "shutdown", "refused: no token");
}

/// With the view token in the place of the other one, this is denied, and in the audit log.
fn denied(stage: &mut Stage, words: &[&str], command: &str) {
    let behind = stage.newest();
    let view = stage.connect["view"].clone();
    let file = stage.doctored(|connect| connect["control"] = view);
    stage.is_refused(&file, words, "needs the scope control");
    stage.is_in_audit(behind, command, "denied");
}

fn view_token_pauses(stage: &mut Stage) {
    denied(stage, &["pause"], "pause");
}

fn view_token_shuts_down(stage: &mut Stage) {
    denied(stage, &["shutdown"], "shutdown");
}

fn view_token_stops_recording(stage: &mut Stage) {
    denied(stage, &["record", "off"], "record");
}

fn view_token_resets(stage: &mut Stage) {
    denied(stage, &["reset"], "reset");
}

fn view_token_lists_guests(stage: &mut Stage) {
    denied(stage, &["invite", "--list"], "guests");
}

fn view_token_invites_to_control(stage: &mut Stage) {
    let view = stage.connect["view"].clone();
    let file = stage.doctored(|connect| connect["control"] = view);
    stage.is_refused(
        &file,
        &["invite", "--scope", "control"],
        "cannot invite to control",
    );
}

fn method_that_does_not_exist(stage: &mut Stage) {
    let behind = stage.newest();
    let mut stream = connect(&stage.socket()).expect("connected");
    let call = request(1, "EraseEverything", &stage.told("view"), &[]);
    throw(&mut stream, &[opening(), call].concat());
    read_until_closed(&mut stream, Duration::from_millis(300));
    stage.is_in_audit(behind, "erase-everything", "denied");
}

fn escapes_in_the_clients_name(stage: &mut Stage) {
    let behind = stage.newest();
    // Letters of the set above ASCII may stand in a header; ESC itself HTTP/2 does not let through.
    let hello = "\u{9b}31mred\u{202e}der";
    let mut stream = connect(&stage.socket()).expect("connected");
    let block = headers("Reset", &stage.told("view"), hello);
    let call = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block);
    throw(&mut stream, &[opening(), call].concat());
    read_until_closed(&mut stream, Duration::from_millis(300));
    stage.is_in_audit(behind, "reset", "denied");
    let shown = stage.client().run(&["audit"]).stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let is_harmful =
        |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!shown.contains(is_harmful), "{shown:?}");
}

fn redeemed(stage: &Stage, secret: &str) -> Option<String> {
    let request = serde_json::json!({ "secret": secret }).to_string();
    let reply = stage.client().python("Redeem", &request, "none");
    let message = reply.answered.then(|| reply.messages().remove(0))?;
    Some(message["token"].as_str().expect("a token").to_owned())
}

fn guessed_invitation(stage: &mut Stage) {
    let behind = stage.newest();
    let mut stream = connect(&stage.socket()).expect("connected");
    throw(&mut stream, &opening());
    // Few at a time: calls beyond those that may be open are not looked at, and a gateway without a
    // processor looks at few.
    let is_cut_off = (0..400_u32).any(|guess| {
        // Field 1, 64 bytes.
        let secret = [&[0x0a, 64], format!("{guess:064x}").as_bytes()].concat();
        throw(&mut stream, &request(1 + 2 * guess, "Redeem", "", &secret));
        let pause = Duration::from_millis(if guess % 8 == 7 { 30 } else { 0 });
        !pause.is_zero() && read_until_closed(&mut stream, pause).1
    });
    assert!(is_cut_off, "whoever guesses is cut off");
    stage.is_in_audit(behind, "redeem", "refused: no such invitation");
}

fn invited(stage: &Stage) -> Value {
    stage.client().json(&["invite"])
}

fn invitation_used_twice(stage: &mut Stage) {
    let secret = invited(stage)["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert!(redeemed(stage, &secret).is_some());
    assert!(redeemed(stage, &secret).is_none(), "a second time");
}

fn revoked_guest_comes_back(stage: &mut Stage) {
    let behind = stage.newest();
    let invite = invited(stage);
    let secret = invite["secret"].as_str().expect("a secret");
    let token = redeemed(stage, secret).expect("a token");
    let file = stage.doctored(|connect| connect["view"] = token.into());
    assert!(
        stage.by(&file, &["status"]).status.success(),
        "a guest may look"
    );
    let guest = number(&invite, "/guest").to_string();
    let output = stage.client().run(&["invite", "--revoke", &guest]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    stage.is_refused(&file, &["status"], "refuses the token");
    stage.is_in_audit(behind, "revoke", &format!("revoked: {guest}"));
}

/// The same command again is the same command, and another one under its number is refused.
fn command_repeated(stage: &mut Stage) {
    let behind = stage.newest();
    let control = stage.told("control");
    let mut stream = connect(&stage.socket()).expect("connected");
    throw(&mut stream, &opening());
    for again in 0..10 {
        // Field 1: the id 77. Each of them would reset once more.
        let call = request(1 + 2 * again, "Reset", &control, &[0x08, 77]);
        throw(&mut stream, &call);
    }
    read_until_closed(&mut stream, Duration::from_millis(500));
    stage.is_in_audit(behind, "reset", "done");
    let all = stage.audit();
    let of_it = all
        .iter()
        .filter(|entry| number(entry, "/sequence") > behind && number(entry, "/command_id") == 77);
    assert_eq!(of_it.count(), 1, "{all:?}");
}
