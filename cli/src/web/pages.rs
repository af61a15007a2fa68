//! Which path gives what, and who may have it.
//!
//! ```text
//! GET  /, /main.js, ...   the page's files                     everybody
//! POST /enter             a link's secret for cookie and key   who has the secret
//! GET  /ask/QUESTION      an answer, as --json gives it        guests
//! GET  /live              snapshots, a line each               guests
//! POST /do/ORDER          an order, and how it went            guests, where we may steer
//! ```

use super::answers::{ANSWER_TIME, Answers, Asked, QUESTIONS};
use super::door::{Door, Guest};
use super::guard::{self, Names};
use super::json::text;
use super::live::{self, Often};
use super::{files, orders};
use crate::client::{Client, explained};
use crate::job::Job;
use crate::steer;
use crate::view::command::failures;
use crate::view::since_start::SinceStart;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use invivo_grpc::v1::CommandReply;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

/// Streams at a time: a page has one.
const STREAMS_MAX: usize = 16;
/// Questions and orders at a time.
const QUESTIONS_MAX: usize = 32;
/// A secret, and no more.
const BODY_BYTES_MAX: usize = 256;

/// What all requests share.
pub struct Shared {
    pub job: Arc<Job>,
    pub client: Client,
    /// Whether orders may be given.
    pub steers: bool,
    pub door: Mutex<Door>,
    pub names: Names,
    pub cookie: String,
    answers: Answers,
    streams: Arc<Semaphore>,
    questions: Semaphore,
}

impl Shared {
    /// For the pages of this job, at this port.
    pub fn new(job: Arc<Job>, client: Client, steers: bool, port: u16) -> Shared {
        Shared {
            answers: Answers::new(client.clone(), job.observation.is_some()),
            job,
            client,
            steers,
            door: Mutex::default(),
            names: Names::of(port),
            cookie: guard::cookie_name(port),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            questions: Semaphore::new(QUESTIONS_MAX),
        }
    }
}

impl Shared {
    fn admits(&self, headers: &HeaderMap) -> bool {
        let cookie = guard::cookie(headers, &self.cookie).unwrap_or_default();
        let key = guard::only(headers, &guard::KEY).unwrap_or_default();
        let door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        door.admits(cookie, key)
    }
}

type Ours = State<Arc<Shared>>;

/// The paths.
pub fn router(shared: Arc<Shared>) -> Router {
    let guests = Router::new()
        .route("/ask/{question}", get(ask))
        .route("/live", get(live))
        .route("/do/{order}", post(give))
        .route_layer(middleware::from_fn_with_state(shared.clone(), admit));
    Router::new()
        .route("/enter", post(enter))
        .merge(guests)
        .route("/", get(async || file(Path(String::new())).await))
        .route("/{name}", get(file))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(shared.clone(), address))
        .with_state(shared)
}

/// Lets requests through that are for this server; says in every answer what the browser may do.
async fn address(State(shared): Ours, request: Request, next: Next) -> Response {
    let mut response = if shared.names.is_addressed(request.headers()) {
        next.run(request).await
    } else {
        let why = "this server answers at its own address only: use the one that invivo web \
                   printed, and for a tunnel the same port on both sides";
        refuse(StatusCode::FORBIDDEN, why)
    };
    response.headers_mut().extend(files::headers());
    response
}

/// Lets guests' own pages through.
async fn admit(State(shared): Ours, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !guard::is_own_page(headers) {
        return refuse(StatusCode::FORBIDDEN, "another page may not ask here");
    }
    if !shared.admits(headers) {
        let why = "this browser has not come in by a link; press Enter where invivo web runs, and \
                   open the link that it prints";
        return refuse(StatusCode::UNAUTHORIZED, why);
    }
    next.run(request).await
}

async fn file(Path(name): Path<String>) -> Response {
    match files::file(&name) {
        Some((kind, content)) => ([files::kind(kind)], content).into_response(),
        None => refuse(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

#[derive(Serialize)]
struct Entered {
    key: String,
}

async fn enter(State(shared): Ours, headers: HeaderMap, secret: String) -> Response {
    if !guard::is_own_page(&headers) {
        return refuse(StatusCode::FORBIDDEN, "another page may not ask here");
    }
    let mut door = shared.door.lock().unwrap_or_else(PoisonError::into_inner);
    match door.enter(&secret, Instant::now()) {
        Ok(Some(Guest { cookie, key })) => {
            let cookie = format!(
                "{}={cookie}; Path=/; HttpOnly; SameSite=Strict",
                shared.cookie
            );
            ([(SET_COOKIE, cookie)], json(&Entered { key })).into_response()
        }
        Ok(None) => {
            let why = "this link is not good any more: it opens once; press Enter where invivo web \
                       runs, and open the link that it prints";
            refuse(StatusCode::FORBIDDEN, why)
        }
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

async fn ask(
    State(shared): Ours,
    Path(question): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    let Ok(_permit) = shared.questions.try_acquire() else {
        return busy();
    };
    let answer = shared.answers.to(&question, &asked);
    match tokio::time::timeout(ANSWER_TIME, answer).await {
        Ok(Ok(Some(text))) => given(text),
        Ok(Ok(None)) => {
            let why = format!("there is no question {question:?}; there is {QUESTIONS}");
            refuse(StatusCode::NOT_FOUND, &why)
        }
        Ok(Err(status)) => {
            let why = explained(&shared.job, &status);
            let code = if why.unreachable {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::BAD_GATEWAY
            };
            refuse(code, &why.to_string())
        }
        Err(_) => refuse(
            StatusCode::GATEWAY_TIMEOUT,
            "the gateway has not answered in time",
        ),
    }
}

async fn live(State(shared): Ours, Query(often): Query<Often>) -> Response {
    match shared.streams.clone().try_acquire_owned() {
        Ok(permit) => {
            let (job, client) = (shared.job.clone(), shared.client.clone());
            let body = live::stream(job, client, often, permit);
            ([(CONTENT_TYPE, "application/x-ndjson")], body).into_response()
        }
        Err(_) => busy(),
    }
}

/// How an order went.
#[derive(Serialize)]
struct Done {
    sentence: String,
    /// Ranks that have not acknowledged, and why, a line each.
    not_done: Vec<String>,
    #[serde(flatten)]
    reply: CommandReply,
}

async fn give(
    State(shared): Ours,
    Path(verb): Path<String>,
    Query(words): Query<orders::Words>,
) -> Response {
    if !shared.steers {
        let why = "this page looks only: invivo web was started to look, or has no token to steer";
        return refuse(StatusCode::FORBIDDEN, why);
    }
    let Ok(_permit) = shared.questions.try_acquire() else {
        return busy();
    };
    let order = match orders::order(&verb, &words) {
        Ok(order) => order,
        Err(why) => return refuse(StatusCode::BAD_REQUEST, &why),
    };
    match steer::give(&order, &shared.job, &shared.client).await {
        Ok(reply) => {
            let since = reply.clone().since(shared.job.started_ns);
            json(&Done {
                sentence: steer::sentence(&order, &since),
                not_done: failures(&reply),
                reply,
            })
        }
        Err(error) => refuse(StatusCode::BAD_GATEWAY, &error.to_string()),
    }
}

fn busy() -> Response {
    let why = "too many pages ask at once; close some";
    refuse(StatusCode::TOO_MANY_REQUESTS, why)
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
}

fn refuse(code: StatusCode, why: &str) -> Response {
    (code, json(&Refusal { error: why })).into_response()
}

fn json(answer: &impl Serialize) -> Response {
    match text(answer) {
        Ok(text) => given(text),
        Err(status) => {
            let why = status.message().to_owned();
            (StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }
    }
}

fn given(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], Body::from(text)).into_response()
}
