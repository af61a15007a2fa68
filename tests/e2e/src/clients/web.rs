//! `invivo web` on a running job, and a client that says word by word what it sends.

use super::Client;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The longest that an answer may take.
const WITHIN: Duration = Duration::from_secs(30);

/// The server of a page. Dropped, it is killed.
#[derive(Debug)]
pub struct Web {
    child: Child,
    /// The link that opens the page once.
    pub url: String,
    /// Where it listens.
    pub port: u16,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// As 200.
    pub status: u16,
    /// The lines of the head below the first, in lower case.
    pub head: String,
    pub body: String,
}

/// What a guest of the page shows.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Name and value.
    pub cookie: String,
    pub key: String,
}

impl Web {
    /// Starts `invivo web --json WORDS`.
    pub fn start(client: &Client, words: &[&str]) -> Web {
        Web::of(client.command(&[&["web", "--json"], words].concat()))
    }

    /// Starts this command, which is an `invivo web --json`.
    pub fn of(mut command: Command) -> Web {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("invivo web");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        let read = BufReader::new(stdout).read_line(&mut line);
        read.expect("a line with the link");
        let link: Value = serde_json::from_str(&line).expect("JSON");
        Web {
            child,
            url: link["url"].as_str().expect("a link").to_owned(),
            port: link["port"].as_u64().expect("a port") as u16,
        }
    }

    /// The secret of the link.
    pub fn secret(&self) -> &str {
        self.url.split_once('#').expect("a secret").1
    }

    /// Sends a request with these lines in its head, `Host` among them, and reads the answer.
    pub fn send(&self, first: &str, head: &[String], body: &str) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(WITHIN)).expect("a limit");
        let lines: String = head.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let text = format!(
            "{first} HTTP/1.1\r\n{lines}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let (first, head) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        Reply {
            status: status.expect("a status"),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// The line `Host` that a browser sends.
    pub fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    /// Shows a secret.
    pub fn enter(&self, secret: &str) -> Reply {
        self.send("POST /enter", &[self.host()], secret)
    }

    /// Comes in by the link.
    pub fn pass(&self) -> Pass {
        let reply = self.enter(self.secret());
        assert_eq!(reply.status, 200, "{reply:?}");
        let cookie = reply.head.lines().find_map(|line| {
            let cookie = line.strip_prefix("set-cookie: ")?;
            cookie.split(';').next().map(str::to_owned)
        });
        Pass {
            cookie: cookie.expect("a cookie"),
            key: reply.json()["key"].as_str().expect("a key").to_owned(),
        }
    }

    /// Asks as a guest's page does.
    pub fn ask(&self, pass: &Pass, question: &str) -> Reply {
        let head = [vec![self.host()], pass.head()].concat();
        self.send(&format!("GET /ask/{question}"), &head, "")
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, when it has ended by itself.
    pub fn ended(&mut self) -> Option<i32> {
        self.child
            .try_wait()
            .expect("its child")
            .and_then(|of| of.code())
    }
}

impl Pass {
    /// The lines of the head.
    pub fn head(&self) -> Vec<String> {
        vec![
            format!("Cookie: {}", self.cookie),
            format!("X-Invivo-Key: {}", self.key),
        ]
    }
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
