//! Who may ask. The page is served to this machine only, and still anything in a browser can send requests to it: so a
//! request must name this address as its host (a name that was bound to 127.0.0.1 later does not), come from this page
//! if it comes from a page at all, and show the token that only the terminal and the page know.
//!
//! The token travels behind `#` in the address, which no browser sends, and then in a header, which no other page can
//! set: a cookie would be sent along by requests that other pages make, and is shared by all ports of a machine.

use crate::http::{Refusal, same_secret};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use ermine::{Error, Result};
use std::fmt::Write;

pub struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    pub fn new(port: u16) -> Result<Guard> {
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes).map_err(|error| Error::Data(format!("the system has no random bytes: {error}")))?;
        let token = bytes.iter().fold(String::new(), |mut token, byte| {
            let _ = write!(token, "{byte:02x}");
            token
        });
        Ok(Guard { port, token })
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.token)
    }

    /// What may be shown to a request.
    pub fn check(&self, head: &Parts) -> Result<(), Refusal> {
        let forbidden = |problem: &str| Err(Refusal::new(StatusCode::FORBIDDEN, problem));
        if !self.is_host(text(&head.headers, &header::HOST)) {
            return forbidden("this address is not served here");
        }
        let same = |origin: &str| origin.strip_prefix("http://").is_some_and(|host| self.is_host(Some(host)));
        if head.headers.contains_key(header::ORIGIN) && !text(&head.headers, &header::ORIGIN).is_some_and(same) {
            return forbidden("requests of other pages are not answered");
        }
        let site = text(&head.headers, &HeaderName::from_static("sec-fetch-site"));
        let from_elsewhere = site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        // A link may lead to the page; nothing else may come from another one.
        if from_elsewhere && !(head.method == Method::GET && head.uri.path() == "/") {
            return forbidden("requests of other pages are not answered");
        }
        if !head.uri.path().starts_with("/api/") {
            // What is in the binary is no secret.
            return match head.method {
                Method::GET | Method::HEAD => Ok(()),
                _ => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method")),
            };
        }
        let shown = text(&head.headers, &header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        match shown.is_some_and(|shown| same_secret(shown.as_bytes(), self.token.as_bytes())) {
            true => Ok(()),
            false => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "the token is missing or old: open the address that the terminal shows",
            )),
        }
    }

    fn is_host(&self, host: Option<&str>) -> bool {
        let Some((name, port)) = host.and_then(|host| host.rsplit_once(':')) else { return false };
        port.parse() == Ok(self.port) && matches!(name, "127.0.0.1" | "localhost" | "[::1]")
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// On every answer: run nothing and load nothing but what is in the binary, appear in no frame, tell nobody.
pub fn seal(headers: &mut HeaderMap) {
    // Charts set styles on what they draw.
    let policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                  connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn asked(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> StatusCode {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        guard.check(&head).map_or_else(|refused| refused.status, |()| StatusCode::OK)
    }

    #[test]
    fn only_this_page_with_the_token_is_answered() {
        let guard = Guard::new(8123).unwrap();
        let bearer = format!("Bearer {}", guard.token);
        let (host, token) = (("host", "127.0.0.1:8123"), ("authorization", bearer.as_str()));
        let ok = StatusCode::OK;
        assert_eq!(asked(&guard, "GET", "/", &[host]), ok);
        assert_eq!(asked(&guard, "GET", "/api/state", &[host, token]), ok);
        assert_eq!(asked(&guard, "POST", "/api/train", &[host, token, ("origin", "http://127.0.0.1:8123")]), ok);
        assert_eq!(asked(&guard, "GET", "/api/state", &[("host", "localhost:8123"), token]), ok);
        assert_eq!(asked(&guard, "GET", "/", &[host, ("sec-fetch-site", "cross-site")]), ok, "a link");

        // A name of another that now means this machine, another port, no host.
        for host in ["evil.example:8123", "127.0.0.1:80", "127.0.0.1", "127.0.0.1.evil.example:8123"] {
            assert_eq!(asked(&guard, "GET", "/", &[("host", host), token]), StatusCode::FORBIDDEN, "{host}");
        }
        assert_eq!(asked(&guard, "GET", "/", &[token]), StatusCode::FORBIDDEN);
        for origin in ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:9"] {
            let from = [host, token, ("origin", origin)];
            assert_eq!(asked(&guard, "POST", "/api/train", &from), StatusCode::FORBIDDEN, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            let from = [host, token, ("sec-fetch-site", site)];
            assert_eq!(asked(&guard, "GET", "/api/state", &from), StatusCode::FORBIDDEN, "{site}");
        }
        assert_eq!(asked(&guard, "GET", "/api/state", &[host]), StatusCode::UNAUTHORIZED);
        for shown in ["Bearer ", "Bearer x", "Basic eA==", "Bearer 00"] {
            let from = [host, ("authorization", shown)];
            assert_eq!(asked(&guard, "GET", "/api/state", &from), StatusCode::UNAUTHORIZED, "{shown}");
        }
        assert_eq!(asked(&guard, "POST", "/", &[host]), StatusCode::METHOD_NOT_ALLOWED);
        assert_ne!(guard.token, Guard::new(8123).unwrap().token);
        assert_eq!(guard.token.len(), 48);
    }
}
