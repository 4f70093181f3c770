//! Connections with limits: how many, how long a head or a body may take, how large a body may be, how much all
//! bodies together.
//! What is refused gets an answer in words, as JSON.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use http_body_util::BodyExt;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use serde_json::{Value, json};
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, Sleep},
};

#[derive(Clone, Debug)]
pub struct Limits {
    /// Open at the same time.
    pub connections: usize,
    /// Bytes of one body.
    pub body: usize,
    /// Bytes of all bodies that are read or wait.
    pub bodies: usize,
    /// For the head of a request, also the time that a connection may be idle.
    pub head_time: Duration,
    /// For a whole request, from its head to its answer.
    pub time: Duration,
    /// After the signal to stop: how long requests are still taken, and how long those that were taken may last.
    pub drain: Duration,
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            body: 32 << 20,
            bodies: 256 << 20,
            head_time: Duration::from_secs(10),
            time: Duration::from_secs(30),
            drain: Duration::from_secs(1),
            grace: Duration::from_secs(30),
        }
    }
}

/// What went wrong, for the client.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    /// More entries of the answer.
    pub details: Option<(&'static str, Value)>,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), details: None }
    }

    pub fn busy(message: &str) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub fn into_response(self) -> Response {
        let mut all = json!({ "error": self.message });
        if let Some((name, details)) = self.details {
            all[name] = details;
        }
        let mut response = answer(self.status, "application/json", all.to_string());
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

pub fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Room for bodies, in steps of this many bytes.
const STEP: usize = 1 << 10;

/// Memory that all bodies share. A body takes its part as it comes, so that who announces much and sends nothing
/// holds nothing.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Room {
    pub fn new(bytes: usize) -> Room {
        Room(Arc::new(Semaphore::new((bytes / STEP).clamp(1, Semaphore::MAX_PERMITS))))
    }
}

/// A body and the room it takes until it is dropped.
pub struct Content {
    pub bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// Reads a body within the limits.
pub async fn content(
    headers: &HeaderMap,
    mut body: Body,
    limits: &Limits,
    room: &Room,
    deadline: Instant,
) -> Result<Content, Refusal> {
    let too_large = || {
        let problem = format!("the body is larger than {} bytes", limits.body);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limits.body as u64) {
        return Err(too_large());
    }
    let mut taken: Option<OwnedSemaphorePermit> = None;
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    let mut length = 0;
    loop {
        let frame = tokio::time::timeout_at(deadline, body.frame());
        let frame = match frame.await {
            Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly")),
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > limits.body {
            return Err(too_large());
        }
        let more = (length / STEP + 1).saturating_sub(taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if more > 0 {
            let permit = room.0.clone().try_acquire_many_owned(more as u32);
            let permit = permit.map_err(|_| Refusal::busy("there are too many requests to hold their bodies"))?;
            match &mut taken {
                Some(taken) => taken.merge(permit),
                None => taken = Some(permit),
            }
        }
        // A small body comes in one piece and need not be copied.
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
            first = Bytes::new();
        }
        all.extend_from_slice(&data);
    }
    let bytes = if all.is_empty() { first } else { Bytes::from(all) };
    Ok(Content { bytes, _room: taken })
}

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 43\r\n\r\n{\"error\":\"there are too many connections\"}\n";

/// How long a handshake that had begun before the end may take.
const HANDSHAKE: Duration = Duration::from_millis(100);

/// Lets no further handshake begin, while those that have begun may end. Closing a listener resets whoever is in its
/// queue, so the queue is emptied first, and nobody may join it meanwhile. Elsewhere than on Linux there is no way to
/// ask for this, and a client may be reset.
fn refuse_handshakes(listener: &TcpListener) {
    #[cfg(target_os = "linux")]
    {
        use socket2::{SockFilter, SockRef};
        // A packet filter over the TCP header, whose byte 13 holds the flags: what has SYN is dropped.
        let filter = [
            SockFilter::new(0x30, 0, 0, 13),       // load byte 13
            SockFilter::new(0x45, 1, 0, 0x02),     // skip one if SYN is set
            SockFilter::new(0x06, 0, 0, u32::MAX), // keep the packet
            SockFilter::new(0x06, 0, 0, 0),        // drop it
        ];
        // Where filters are forbidden it is as elsewhere.
        let _ = SockRef::from(listener).attach_filter(&filter);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

/// Answers connections until `stop` says so: then for a while with the request to go elsewhere, then no new ones.
/// Every request that was taken gets its answer, if that takes no longer than the grace.
pub async fn serve(listener: TcpListener, app: axum::Router, limits: &Limits, mut stop: watch::Receiver<bool>) -> bool {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut end: Option<Pin<Box<Sleep>>> = None;
    loop {
        let stopping = async {
            match &mut end {
                Some(end) => end.await,
                None => {
                    let _ = stop.wait_for(|stop| *stop).await;
                }
            }
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping => match end {
                None => {
                    end = Some(Box::pin(tokio::time::sleep(limits.drain)));
                    continue;
                }
                Some(_) => break,
            },
        };
        match accepted {
            Ok((stream, _)) => connect(stream, &app, limits, &permits, &graceful),
            // No file is free, or the client has gone: neither ends the server.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    // Those that have connected already are answered too.
    refuse_handshakes(&listener);
    let end = Instant::now() + HANDSHAKE;
    while let Ok(Ok((stream, _))) = tokio::time::timeout_at(end, listener.accept()).await {
        connect(stream, &app, limits, &permits, &graceful);
    }
    drop(listener);
    // Every answer ends its connection now. Who has not asked yet may still do so; who is idle is not waited for
    // longer.
    let all = permits.acquire_many(limits.connections as u32);
    drop(tokio::time::timeout(limits.drain, all).await);
    tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_ok()
}

fn connect(
    stream: TcpStream,
    app: &axum::Router,
    limits: &Limits,
    permits: &Arc<Semaphore>,
    graceful: &GracefulShutdown,
) {
    let _ = stream.set_nodelay(true);
    let Ok(permit) = permits.clone().try_acquire_owned() else {
        let mut stream = stream;
        tokio::spawn(async move {
            let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(FULL)).await;
        });
        return;
    };
    let service = TowerToHyperService::new(app.clone());
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(64 << 10);
    let io = TokioIo::new(Patient { stream, wait: limits.time, stalled: None });
    let connection = graceful.watch(http.serve_connection(io, service));
    tokio::spawn(async move {
        // A connection that breaks is the client's affair.
        let _ = connection.await;
        drop(permit);
    });
}

/// A stream whose other end must take what is written to it within some time.
struct Patient {
    stream: TcpStream,
    wait: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn watch<T>(&mut self, outcome: Poll<io::Result<T>>, cx: &mut Context) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let wait = self.wait;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(outcome, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        pieces: &[io::IoSlice],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.watch(outcome, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Whether two secrets are equal, in a time that does not tell where they differ.
pub fn same_secret(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differ) == 0
}
