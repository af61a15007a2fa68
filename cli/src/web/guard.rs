//! What a request must look like, before anything is done for it. Pure.
//!
//! A browser on this machine also shows pages of strangers, and those can send requests here. They
//! are told apart by what browsers put into every request: `Host` is the name that the browser
//! believed to talk to (a name that was bound to loopback afterwards is another one), `Origin` is
//! the page that asks.

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};

/// The header that carries a page's key.
pub const KEY: HeaderName = HeaderName::from_static("x-invivo-key");
/// What kind of page asks, in the browser's own words.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names that this server answers to: `127.0.0.1:PORT` and `localhost:PORT`.
#[derive(Clone, Debug)]
pub struct Names([String; 2]);

impl Names {
    /// Those of a server on this port.
    pub fn of(port: u16) -> Names {
        Names([format!("127.0.0.1:{port}"), format!("localhost:{port}")])
    }

    /// Whether the request is for one of them: exactly one `Host`, and nothing else.
    pub fn is_addressed(&self, headers: &HeaderMap) -> bool {
        let host = only(headers, &HOST);
        host.is_some_and(|host| self.0.iter().any(|name| name == host))
    }
}

/// Whether the page of this server itself asks, where a page does: no other origin's, and not by a
/// link or a form of one.
pub fn is_own_page(headers: &HeaderMap) -> bool {
    let same_site = headers
        .get_all(FETCH_SITE)
        .iter()
        .all(|site| site == "same-origin");
    let origin = match headers.get(ORIGIN) {
        None => true,
        Some(_) => only(headers, &ORIGIN)
            .zip(only(headers, &HOST))
            .is_some_and(|(origin, host)| origin.strip_prefix("http://") == Some(host)),
    };
    same_site && origin
}

/// The name of the cookie of a server on this port: browsers send those of all ports.
pub fn cookie_name(port: u16) -> String {
    format!("invivo-{port}")
}

/// The value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter();
    let texts = all.filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(its, value)| (its == name).then_some(value))
}

/// The header's value where it is there once, and text.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    match values.next() {
        None => value.to_str().ok(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        headers
    }

    #[test]
    fn only_this_host_and_port_is_addressed() {
        let names = Names::of(80);
        let is_addressed = |host| names.is_addressed(&headers(&[("host", host)]));
        assert!(is_addressed("127.0.0.1:80") && is_addressed("localhost:80"));
        for host in [
            "evil.example:80",
            "127.0.0.1",
            "127.0.0.1:81",
            "localhost:80.evil.example",
            "[::1]:80",
            "",
        ] {
            assert!(!is_addressed(host), "{host}");
        }
        assert!(!names.is_addressed(&headers(&[])));
        let two = headers(&[("host", "localhost:80"), ("host", "evil.example")]);
        assert!(!names.is_addressed(&two));
    }

    #[test]
    fn pages_of_other_origins_are_not_ours() {
        let host = ("host", "127.0.0.1:80");
        let is_ours = |more| is_own_page(&headers(&[host, more]));
        assert!(is_ours(("origin", "http://127.0.0.1:80")));
        assert!(is_ours(("sec-fetch-site", "same-origin")));
        for more in [
            ("origin", "http://127.0.0.1:81"),
            ("origin", "http://localhost:80"),
            ("origin", "https://127.0.0.1:80"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
        ] {
            assert!(!is_ours(more), "{more:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let sent = headers(&[("cookie", "a=b; invivo-80=x"), ("cookie", "c=d")]);
        assert_eq!(cookie(&sent, "invivo-80"), Some("x"));
        assert_eq!(cookie(&sent, "c"), Some("d"));
        assert_eq!(cookie(&sent, "invivo-8"), None);
    }
}
