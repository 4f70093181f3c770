//! The prediction server, as the real binary: every route, every limit, swaps and stops under load.

#![cfg(unix)]

use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

fn ermine() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
    command.env("NO_COLOR", "1").env_remove("RUST_BACKTRACE").env_remove("ERMINE_TOKEN");
    command
}

fn penguins() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/penguins.csv")
}

fn fit(target: &str, model: &str, to: &Path) {
    let mut command = ermine();
    command.arg("fit").arg(penguins()).args(["--target", target, "--model", model, "--folds", "0", "--force", "-o"]);
    let output = command.arg(to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut command = ermine();
        command.args(["serve", "--listen", "127.0.0.1:0", "--drain", "300ms"]).args(arguments);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(event["event"], "listening");
        let address = event["address"].as_str().unwrap().to_string();
        // Somebody has to read the rest.
        thread::spawn(move || log.lines().for_each(drop));
        Server { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn get(&self, path: &str) -> Answer {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        Answer::read(&mut BufReader::new(stream)).unwrap()
    }

    fn post(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses early closes before it has everything.
        let _ = stream.write_all(body);
        Answer::read(&mut BufReader::new(stream)).unwrap()
    }

    fn predict(&self, body: &Value) -> Answer {
        self.post("/v1/models/m:predict", "application/json", body.to_string().as_bytes())
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn stopped(&mut self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    /// One whole answer; `None` if the connection ended before its first byte.
    fn read(stream: &mut impl BufRead) -> Result<Answer, String> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            let read = stream.read_line(&mut line).map_err(|error| format!("{error} after '{head}'"))?;
            if read == 0 {
                return Err(format!("ended after '{head}'"));
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line.to_lowercase());
        }
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or("no status")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|text| text.trim().parse().ok()).ok_or(format!("no length: {head}"))?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).map_err(|error| format!("cut: {error}"))?;
        Ok(Answer { status, head, body })
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn row() -> Value {
    json!({
        "island": "Torgersen", "bill_length_mm": 39.1, "bill_depth_mm": 18.7, "flipper_length_mm": 181,
        "body_mass_g": 3750, "sex": "male", "year": 2007,
    })
}

/// A model of penguins, and what the command line predicts for the whole table.
fn model(folder: &Path) -> PathBuf {
    let path = folder.join("m.ermine");
    fit("species", "LogisticRegression", &path);
    path
}

#[test]
fn every_route() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let server = Server::start(&[path.to_str().unwrap()]);
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (200, 200));
    let info = server.get("/v1/models/m").json();
    assert_eq!((info["model"].as_str(), info["name"].as_str()), (Some("LogisticRegression"), Some("m")));
    assert_eq!(server.get("/v1/models").json()["models"][0], info);
    assert_eq!(server.get("/v1/models/other").status, 404);
    assert_eq!(server.get("/nothing").status, 404);
    let page = server.get("/");
    assert!(page.text().contains("<title>Ermine") && page.head.contains("content-security-policy"));
    assert_eq!((server.get("/page.js").status, server.get("/page.css").status), (200, 200));
    let document = server.get("/openapi.json").json();
    let body = &document["paths"]["/v1/models/m:predict"]["post"]["requestBody"]["content"]["application/json"];
    assert_eq!(server.predict(&body["example"]).status, 200);
    assert_eq!(server.post("/healthz", "text/plain", b"").status, 405);
    assert_eq!(server.post("/v1/models/m", "application/json", b"[]").status, 405);
    assert_eq!(server.get("/v1/models/m:predict").status, 405);
    assert_eq!(server.post("/v1/models/n:predict", "application/json", b"[]").status, 404);
    assert_eq!(server.post("/v1/models/m:predict", "text/plain", b"[]").status, 415);
    let none = server.predict(&json!([]));
    assert_eq!((none.status, none.json()["predictions"].clone()), (200, json!([])));

    let one = server.predict(&json!([row()]));
    assert_eq!(one.status, 200, "{}", one.text());
    let said = one.json();
    assert_eq!(said["predictions"][0]["prediction"], "Adelie");
    assert_eq!(said["version"], info["version"]);
    assert!(one.head.contains(&format!("ermine-model-version: {}", info["version"].as_str().unwrap())));
    let total: f64 =
        said["predictions"][0]["probability"].as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-12);

    // The same numbers in every form, and as the command line has them.
    let records = server.predict(&json!({ "records": [row(), row()] })).json();
    assert_eq!(records["predictions"], json!([said["predictions"][0], said["predictions"][0]]));
    let lists: serde_json::Map<String, Value> =
        row().as_object().unwrap().iter().map(|(name, value)| (name.clone(), json!([value]))).collect();
    let columns = server.predict(&json!({ "columns": lists })).json();
    assert_eq!(columns["predictions"]["prediction"], json!(["Adelie"]));
    for (class, p) in said["predictions"][0]["probability"].as_object().unwrap() {
        assert_eq!(columns["predictions"]["probability"][class], json!([p]));
    }
    let table = fs::read(penguins()).unwrap();
    let csv = server.post("/v1/models/m:predict", "text/csv", &table);
    let expected = ermine().arg("predict").arg(&path).arg(penguins()).output().unwrap();
    assert_eq!(csv.text(), String::from_utf8(expected.stdout).unwrap());

    // Other outputs, Shapley values that add up, what the model does not have.
    let outputs = server.post(
        "/v1/models/m:predict?output=decision,class",
        "application/json",
        json!([row()]).to_string().as_bytes(),
    );
    assert_eq!(outputs.json()["predictions"][0]["decision"].as_array().unwrap().len(), 3);
    let why =
        server.post("/v1/models/m:predict?explain=true", "application/json", json!([row()]).to_string().as_bytes());
    let why = &why.json()["predictions"][0];
    let parts: f64 = why["explanation"]["parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    let base = why["explanation"]["base"].as_f64().unwrap();
    assert!((base + parts - why["probability"]["Adelie"].as_f64().unwrap()).abs() < 1e-9, "{why}");
    for query in ["output=leaf", "explain=maybe", "interval=0.9", "interval=2", "colour=red", "output=class,class"] {
        let refused = server.post(&format!("/v1/models/m:predict?{query}"), "application/json", b"[]");
        assert_eq!(refused.status, 400, "{query}");
    }
    let mut strange = row();
    (strange["island"], strange["body_mass_g"]) = (json!("Atlantis"), json!(99_999));
    assert_eq!(server.predict(&json!([strange])).status, 200);
    let metrics = server.get("/metrics").text();
    for line in [
        "ermine_unseen_levels_total{model=\"m\",column=\"island\"} 1",
        "ermine_out_of_range_total{model=\"m\",column=\"body_mass_g\"} 1",
        "ermine_out_of_range_total{model=\"m\",column=\"bill_depth_mm\"} 0",
        "ermine_requests_total{route=\"predict\",status=\"415\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[test]
fn intervals_of_models_that_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.ermine");
    fit("body_mass_g", "BayesianRidge", &path);
    let server = Server::start(&[path.to_str().unwrap()]);
    let mut row = row();
    row["species"] = json!("Adelie");
    let body = json!([row]).to_string();
    let ask = |level: &str| {
        let answer =
            server.post(&format!("/v1/models/m:predict?interval={level}"), "application/json", body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = answer.json()["predictions"][0].clone();
        (
            said["prediction"].as_f64().unwrap(),
            said["interval"][0].as_f64().unwrap(),
            said["interval"][1].as_f64().unwrap(),
        )
    };
    let (middle, low, high) = ask("0.95");
    let (_, narrow, _) = ask("0.5");
    assert!(low < narrow && narrow < middle && ((low + high) / 2.0 - middle).abs() < 1e-6);
    // 1.96 and 0.674 deviations.
    assert!(((middle - low) / (middle - narrow) - 1.959_964 / 0.674_490).abs() < 1e-4);
}

#[test]
fn bad_rows_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let server = Server::start(&[path.to_str().unwrap(), "--rows", "50", "--body", "100KB"]);
    let mut bad = row();
    (bad["bill_length_mm"], bad["year"]) = (json!("long"), json!([1]));
    let refused = server.predict(&json!([row(), bad]));
    assert_eq!(refused.status, 422);
    let cells = refused.json()["cells"].clone();
    let named = |i: usize| (cells[i]["row"].clone(), cells[i]["column"].clone(), cells[i]["value"].clone());
    let mut found = [named(0), named(1)];
    found.sort_by_key(|(_, column, _)| column.to_string());
    assert_eq!(found[0], (json!(2), json!("bill_length_mm"), json!("'long'")));
    assert_eq!(found[1], (json!(2), json!("year"), json!("a list")));

    let mut without = row();
    without.as_object_mut().unwrap().remove("sex");
    let refused = server.predict(&json!([without]));
    assert_eq!((refused.status, refused.json()["cells"][0]["column"].clone()), (422, json!("sex")));
    let refused = server.predict(&json!({ "columns": { "sex": ["male"], "island": ["Dream", "Dream"] } }));
    assert_eq!(refused.status, 422);
    let mut endless = row();
    endless["bill_length_mm"] = json!("inf");
    let refused = server.predict(&json!([row(), endless]));
    assert_eq!((refused.status, refused.json()["cells"][0]["row"].clone()), (422, json!(2)), "{}", refused.text());
    let csv = "island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n\
        Dream,1,2,3,4,male,5\nDream,1,2,x,4,male,5\n";
    let refused = server.post("/v1/models/m:predict", "text/csv", csv.as_bytes());
    let text = refused.text();
    assert_eq!((refused.status, refused.json()["cells"][0]["row"].clone()), (422, json!(2)), "{text}");
    assert!(text.contains("flipper_length_mm") && text.contains("'x'"), "{text}");
    let refused = server.post("/v1/models/m:predict", "text/csv", b"island\nDream\n");
    assert_eq!(refused.status, 422, "{}", refused.text());

    // What is no JSON, no UTF-8, too deep, too long, too much.
    let json = "application/json";
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let nested = format!("[{{\"sex\":{}1{}}}]", "[".repeat(10_000), "]".repeat(10_000));
    for body in [&b"{"[..], b"", b"3", b"\"x\"", b"[1]", b"[{\"sex\":1}] x", b"{\"rows\":[]}", b"[\xff\xfe]", b"\xff"] {
        assert_eq!(server.post("/v1/models/m:predict", json, body).status, 400, "{body:?}");
    }
    assert_eq!(server.post("/v1/models/m:predict", json, nested.as_bytes()).status, 422);
    assert_eq!(server.post("/v1/models/m:predict", json, &deep.as_bytes()[..90_000]).status, 400);
    assert_eq!(server.predict(&json!(vec![row(); 51])).status, 413);
    assert_eq!(server.post("/v1/models/m:predict", json, &vec![b' '; 200_000]).status, 413);
    // A gigabyte that is announced is refused before it is sent.
    let mut stream = server.connect();
    write!(stream, "POST /v1/models/m:predict HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n").unwrap();
    assert_eq!(Answer::read(&mut BufReader::new(stream)).unwrap().status, 413);
    // And one that is not announced, as soon as it is too long.
    let mut stream = server.connect();
    write!(stream, "POST /v1/models/m:predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    let chunk = format!("2710\r\n{}\r\n", " ".repeat(10_000));
    for _ in 0..100 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(Answer::read(&mut BufReader::new(stream)).unwrap().status, 413);
    let mut stream = server.connect();
    let _ = write!(stream, "GET /{} HTTP/1.1\r\n\r\n", "a".repeat(200_000));
    let refused = Answer::read(&mut BufReader::new(stream));
    assert!(refused.is_err() || refused.unwrap().status >= 400);
    assert_eq!(server.predict(&json!([row()])).status, 200);
}

#[test]
fn tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let token = folder.path().join("token");
    fs::write(&token, "secret\n").unwrap();
    let server = Server::start(&[path.to_str().unwrap(), "--token-file", token.to_str().unwrap()]);
    let ask = |shown: &str| {
        let mut stream = server.connect();
        write!(stream, "GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: {shown}\r\n\r\n").unwrap();
        Answer::read(&mut BufReader::new(stream)).unwrap().status
    };
    assert_eq!((ask("Bearer secret"), ask("bearer secret")), (200, 200));
    for shown in ["Bearer secre", "Bearer secrets", "Bearer ", "Basic secret", "secret"] {
        assert_eq!(ask(shown), 401, "{shown}");
    }
    assert_eq!((server.get("/metrics").status, server.predict(&json!([row()])).status), (401, 401));
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status, server.get("/").status), (200, 200, 200));
}

#[test]
fn slow_and_many_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let limits = ["--head-timeout", "1s", "--timeout", "2s"];
    let server = Server::start(&[&[path.to_str().unwrap()], &limits[..]].concat());
    // A head that never ends, and a body that never ends.
    let mut head = server.connect();
    head.write_all(b"GET /healthz HTTP/1.1\r\nx: ").unwrap();
    let mut body = server.connect();
    write!(body, "POST /v1/models/m:predict HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n[").unwrap();
    let begin = Instant::now();
    let mut rest = Vec::new();
    let _ = head.read_to_end(&mut rest);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(Answer::read(&mut BufReader::new(body)).unwrap().status, 408);
    assert!(begin.elapsed() < Duration::from_secs(8));
    // More connections than are allowed: the others are told, and later there is room again.
    let server = Server::start(&[path.to_str().unwrap(), "--connections", "20"]);
    let held: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    thread::sleep(Duration::from_millis(200));
    let mut one_more = server.connect();
    let mut text = String::new();
    let _ = one_more.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("retry-after"), "{text}");
    drop(held);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(server.predict(&json!([row()])).status, 200);
}

#[test]
fn a_full_queue_says_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let server = Server::start(&[path.to_str().unwrap(), "--queue", "1", "--threads", "1"]);
    let long = json!(vec![row(); 100]).to_string();
    let statuses: Vec<(u16, String)> = thread::scope(|scope| {
        let ask = || {
            let answer = server.post("/v1/models/m:predict?explain=true", "application/json", long.as_bytes());
            (answer.status, answer.head)
        };
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|(status, _)| *status == wanted).count();
    assert_eq!(count(200) + count(503), 12, "{statuses:?}");
    assert!(count(200) >= 1 && count(503) >= 1, "{statuses:?}");
    assert!(statuses.iter().all(|(status, head)| *status == 200 || head.contains("retry-after: 1")));
}

/// Clients that keep their connections and ask on and on; each answer is handed to `check`. Returns how many there
/// were. A connection
/// that the server closes between two answers is opened again; one that ends inside an answer is a failure.
fn load(server: &Server, clients: usize, until: &AtomicBool, check: impl Fn(&Answer) + Sync) -> usize {
    let body = json!([row()]).to_string();
    let request = format!(
        "POST /v1/models/m:predict HTTP/1.1\r\nhost: x\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let ask = || {
        let mut answers = 0;
        'connections: while !until.load(Ordering::Relaxed) {
            let Ok(stream) = TcpStream::connect(&server.address) else { break };
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut stream = stream;
            while !until.load(Ordering::Relaxed) {
                if stream.write_all(request.as_bytes()).is_err() {
                    panic!("the server closed a connection that it had not announced to close");
                }
                let answer = Answer::read(&mut reader).unwrap();
                check(&answer);
                answers += 1;
                if answer.head.contains("connection: close") {
                    let _ = stream.shutdown(Shutdown::Both);
                    continue 'connections;
                }
            }
        }
        answers
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

#[test]
fn models_are_swapped_without_a_lost_request() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (model(folder.path()), folder.path().join("other.ermine"));
    fit("species", "GaussianNB", &other);
    let files = [fs::read(&path).unwrap(), fs::read(&other).unwrap()];
    let swaps: usize = std::env::var("ERMINE_SWAPS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let server = Server::start(&[path.to_str().unwrap(), "--reload", "5ms"]);
    // What each of the two says.
    let versions: Vec<(Value, Value)> = [1, 0]
        .into_iter()
        .map(|which: usize| {
            replace(&path, &files[which]);
            let before = Instant::now();
            loop {
                let info = server.get("/v1/models/m").json();
                let expected = if which == 0 { "LogisticRegression" } else { "GaussianNB" };
                if info["model"] == expected {
                    let said = server.predict(&json!([row()])).json();
                    return (said["version"].clone(), said["predictions"].clone());
                }
                assert!(before.elapsed() < Duration::from_secs(10));
                thread::sleep(Duration::from_millis(5));
            }
        })
        .collect();
    assert_ne!(versions[0], versions[1]);
    let done = Arc::new(AtomicBool::new(false));
    let answers = thread::scope(|scope| {
        let (files, path, done_too, server) = (&files, &path, done.clone(), &server);
        scope.spawn(move || {
            for swap in 0..swaps {
                // Now and then a file that is not whole, which must change nothing.
                if swap % 10 == 5 {
                    fs::write(path, &files[0][..files[0].len() / 2]).unwrap();
                    thread::sleep(Duration::from_millis(12));
                }
                replace(path, &files[(swap + 1) % 2]);
                thread::sleep(Duration::from_millis(12));
            }
            done_too.store(true, Ordering::Relaxed);
        });
        load(server, 4, &done, |answer| {
            assert_eq!(answer.status, 200, "{}", answer.text());
            let said = answer.json();
            let pair = (said["version"].clone(), said["predictions"].clone());
            assert!(versions.contains(&pair), "{said}");
        })
    });
    assert!(answers > 100, "{answers}");
    let metrics = server.get("/metrics").text();
    let counted = |name: &str| -> usize {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(counted("ermine_model_swaps_total{") > swaps / 2, "{metrics}");
    assert!(counted("ermine_model_refused_total{") > 0);
    println!("{answers} answers, {} swaps seen of {swaps}", counted("ermine_model_swaps_total{"));
}

fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, path).unwrap();
}

#[test]
fn a_stop_cuts_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let mut server = Server::start(&[path.to_str().unwrap()]);
    let done = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        let asked = scope.spawn(|| load(&server, 6, &done, |answer| assert_eq!(answer.status, 200)));
        thread::sleep(Duration::from_millis(300));
        server.signal("-TERM");
        // While it drains it says so.
        thread::sleep(Duration::from_millis(50));
        assert_eq!(server.get("/readyz").status, 503);
        asked.join().unwrap()
    });
    assert!(answers > 10, "{answers}");
    assert!(server.stopped());
    assert!(TcpStream::connect(&server.address).is_err());
}

#[test]
fn a_wrong_method_is_told_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let server = Server::start(&[path.to_str().unwrap()]);
    for (method, address, status, allow) in [
        ("PUT", "/v1/models/m", 405, "allow: get,head"),
        ("POST", "/v1/models/m", 405, "allow: get,head"),
        ("GET", "/v1/models/m:predict", 405, "allow: post"),
        ("DELETE", "/v1/models/m:predict", 405, "allow: post"),
        ("GET", "/v1/models/other", 404, ""),
        ("POST", "/v1/models/other:predict", 404, ""),
        ("HEAD", "/v1/models/m", 200, ""),
    ] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "{method} {address} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let text = text.to_lowercase();
        assert!(text.starts_with(&format!("http/1.1 {status} ")) && text.contains(allow), "{method} {address}: {text}");
        assert_eq!(text.ends_with("\r\n\r\n"), method == "HEAD", "{text}");
    }
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let path = path.to_str().unwrap();
    for (arguments, said) in [
        (vec![path, path], "two models 'm'"),
        (vec!["nothing.ermine"], "nothing.ermine"),
        (vec![path, "--listen", "256.0.0.1:1"], "cannot listen"),
        (vec![path, "--timeout", "soon"], "a time such as 30s"),
        (vec!["a b=m.ermine"], "letters, digits"),
    ] {
        let output = ermine().arg("serve").args(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(said), "{arguments:?}: {text}");
    }
}
