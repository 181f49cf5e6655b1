//! What we fetch for the browser, and how: caps, faults, redirects, cookies, and what a tab does
//! with an answer that it does not get.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::AccessList;
use jev_core::error::FetchFault;
use jev_session_cdp::find::Preference;
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_session_cdp::network::documents::{DocumentFate, DocumentNews, FrameKind};
use jev_session_cdp::network::filter::Refusal;
use jev_session_cdp::network::policy::{Caps, OwnCsp, PageScripts, TabPolicy, Want};
use jev_session_cdp::tab::{Tab, WorldScript};
use jev_session_cdp::testing::server::{Asked, Reply, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(30);
const WORLD: WorldScript = WorldScript {
    name: "test",
    source: "globalThis.mark = 1",
};
const BOTH: [Preference; 2] = [Preference::Shell, Preference::Full];

async fn launch(preference: Preference) -> Browser {
    let options = LaunchOptions {
        preference,
        deadline: BOUND,
        ..LaunchOptions::default()
    };
    match Browser::launch(options).await {
        Ok(browser) => browser,
        Err(error) => panic!("{error}"),
    }
}

fn policy(server: &Server) -> TabPolicy {
    TabPolicy::new(AccessList::parse([server.origin().as_str()]).unwrap())
}

async fn call(tab: &Tab, method: &str, params: Value) -> Value {
    let session = Some(tab.session());
    let answer = tab.connection().call(session, method, params, BOUND).await;
    answer.unwrap()
}

async fn evaluate(tab: &Tab, script: &str) -> Value {
    let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
    let answer = call(tab, "Runtime.evaluate", params).await;
    assert!(answer.get("exceptionDetails").is_none(), "{answer}");
    answer.pointer("/result/value").cloned().unwrap_or_default()
}

/// Navigates and waits until what was asked for has its fate; redirects are passed over.
async fn go(tab: &Tab, url: &str) -> DocumentNews {
    let mut news = tab.documents();
    call(tab, "Page.navigate", json!({"url": url})).await;
    fate(&mut news).await
}

async fn fate(news: &mut jev_session_cdp::network::documents::DocumentStream) -> DocumentNews {
    let last = async {
        loop {
            let news = news.next().await.unwrap();
            if news.frame == FrameKind::Main
                && !matches!(news.fate, DocumentFate::Redirected { .. })
            {
                return news;
            }
        }
    };
    timeout(BOUND, last).await.unwrap()
}

/// Loads a page and waits for its load event.
async fn load(tab: &Tab, url: &str) {
    let mut events = tab.connection().subscribe(tab.session());
    let answer = call(tab, "Page.navigate", json!({"url": url})).await;
    assert!(answer.get("errorText").is_none(), "{answer}");
    let loaded = async { while events.next().await.unwrap().method != "Page.loadEventFired" {} };
    timeout(BOUND, loaded).await.unwrap();
}

async fn address(tab: &Tab) -> String {
    let tree = call(tab, "Page.getFrameTree", json!({})).await;
    let url = tree.pointer("/frameTree/frame/url").and_then(Value::as_str);
    url.unwrap_or_default().to_owned()
}

/// A small site with every kind of answer.
async fn site() -> Server {
    let bomb = gzip_of_zeros(64 << 20);
    let brotli = brotli_of_zeros(64 << 20);
    Server::start(move |asked: &Asked| match asked.target.as_str() {
        "/" => Reply::of("text/html", "<title>home</title><p>home"),
        "/next" => Reply::of("text/html", "<title>next</title><p>next"),
        "/to-next" => Reply::redirect(302, "/next"),
        "/to-nowhere" => Reply::redirect(302, "http://127.0.0.1:1/"),
        "/to-self" => Reply::redirect(302, "/to-self"),
        "/missing" => Reply::Whole {
            status: 404,
            headers: vec![("content-type".into(), "text/html".into())],
            body: b"<title>missing</title>".to_vec(),
        },
        "/large" => Reply::of("text/html", vec![b'x'; 3 << 20]),
        "/endless" => Reply::Endless,
        "/dribble" => Reply::Dribble(Duration::from_millis(10)),
        "/silence" => Reply::Silence,
        "/bomb" => Reply::Whole {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/html".into()),
                ("content-encoding".into(), "gzip".into()),
            ],
            body: bomb.clone(),
        },
        "/brotli-bomb" => Reply::Whole {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/html".into()),
                ("content-encoding".into(), "br".into()),
            ],
            body: brotli.clone(),
        },
        "/unknown-encoding" => Reply::Whole {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/html".into()),
                ("content-encoding".into(), "zstd".into()),
            ],
            body: b"<title>never</title>".to_vec(),
        },
        "/cut" => Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n<title>".to_vec()),
        "/garbage" => Reply::Raw(b"\x00\x01\x02 this is no HTTP\r\n\r\n".to_vec()),
        "/cookies" => Reply::Whole {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/html".into()),
                ("set-cookie".into(), "a=1; HttpOnly; SameSite=Lax".into()),
                ("set-cookie".into(), "b=2; Path=/".into()),
            ],
            body: b"<title>cookies</title>".to_vec(),
        },
        "/echo" => Reply::of("text/plain", asked.head.clone()),
        "/frame" => Reply::of("text/html", "<title>x</title><iframe src=/missing></iframe>"),
        "/resources" => Reply::of(
            "text/html",
            "<title>x</title><link rel=stylesheet href=/s.css><script src=/s.js></script>\
             <img src=/i.png><p style='font-family:f'>x</p>\
             <style>@font-face{font-family:f;src:url(/f.woff)}</style>",
        ),
        "/s.css" => Reply::of("text/css", "p{color:red}"),
        "/s.js" => Reply::of("text/javascript", "document.title = 'scripted'"),
        "/dialogs" => Reply::of(
            "text/html",
            "<title>x</title><script>addEventListener('beforeunload', e => { e.preventDefault(); e.returnValue = 'x'; }); \
             alert(1); document.title = String([confirm(2), prompt(3)])</script>",
        ),
        "/popups" => Reply::of("text/html", "<title>x</title><a id=a target=_blank href=/next>x</a>"),
        "/file" => Reply::of("text/html", "<title>x</title><input id=f type=file>"),
        "/octets" => Reply::of("application/octet-stream", vec![0; 64]),
        _ => Reply::status(404),
    })
    .await
    .unwrap()
}

/// A gzip stream of so many zero bytes, some 1,000 times smaller.
fn gzip_of_zeros(count: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![0; 1 << 20];
    for _ in 0..count >> 20 {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// The same as a brotli stream, some 100,000 times smaller.
fn brotli_of_zeros(count: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut stream, 1 << 16, 5, 22);
    let block = vec![0; 1 << 20];
    for _ in 0..count >> 20 {
        encoder.write_all(&block).unwrap();
    }
    drop(encoder);
    stream
}

fn small_caps() -> Caps {
    Caps {
        body_bytes: 1 << 20,
        request: Duration::from_secs(4),
        silence: Duration::from_secs(1),
        ..Caps::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_does_not_come_leaves_the_tab_where_it_is() {
    let site = site().await;
    let cases = [
        ("/large", DocumentFate::Failed(FetchFault::TooLarge)),
        ("/endless", DocumentFate::Failed(FetchFault::TooLarge)),
        ("/bomb", DocumentFate::Failed(FetchFault::TooLarge)),
        ("/brotli-bomb", DocumentFate::Failed(FetchFault::TooLarge)),
        ("/dribble", DocumentFate::Failed(FetchFault::Timeout)),
        ("/silence", DocumentFate::Failed(FetchFault::Timeout)),
        ("/cut", DocumentFate::Failed(FetchFault::Broken)),
        ("/garbage", DocumentFate::Failed(FetchFault::Broken)),
        (
            "/unknown-encoding",
            DocumentFate::Failed(FetchFault::Broken),
        ),
        ("/to-nowhere", DocumentFate::Refused(Refusal::Document)),
        (
            "http://127.0.0.1:1/",
            DocumentFate::Refused(Refusal::Document),
        ),
        (
            "http://127.0.0.1:2/",
            DocumentFate::Failed(FetchFault::Refused),
        ),
        (
            "http://nowhere.invalid/",
            DocumentFate::Failed(FetchFault::Dns),
        ),
    ];
    for preference in BOTH {
        let browser = launch(preference).await;
        let origin = site.origin();
        let access = [
            origin.as_str(),
            "http://127.0.0.1:2",
            "http://nowhere.invalid",
        ];
        let policy = TabPolicy {
            caps: small_caps(),
            ..TabPolicy::new(AccessList::parse(access).unwrap())
        };
        let tab = browser.new_tab(policy, WORLD, BOUND).await.unwrap();
        let home = format!("{}/", site.origin());
        load(&tab, &home).await;
        evaluate(&tab, "window.kept = 1").await;
        for (target, expected) in &cases {
            let url = if target.starts_with('/') {
                format!("{}{target}", site.origin())
            } else {
                (*target).to_owned()
            };
            // By the page itself, as a click would.
            let mut news = tab.documents();
            evaluate(&tab, &format!("location = {}; 0", json!(url))).await;
            let news = fate(&mut news).await;
            assert_eq!(news.fate, *expected, "{preference:?} {target}");
            assert_eq!(tab.document_of(&news.loader), Some(news));
            let mut in_flight = tab.in_flight();
            let idle = in_flight.wait_for(|count| *count == 0);
            timeout(BOUND, idle).await.unwrap().unwrap();
            assert_eq!(address(&tab).await, home, "{preference:?} {target}");
            assert_eq!(evaluate(&tab, "window.kept").await, json!(1), "{target}");
        }
        browser.close(BOUND).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_and_redirects_are_told_by_loader() {
    let site = site().await;
    for preference in BOTH {
        let browser = launch(preference).await;
        let tab = browser.new_tab(policy(&site), WORLD, BOUND).await.unwrap();
        for (path, status) in [("/", 200), ("/missing", 404), ("/to-next", 200)] {
            let mut news = tab.documents();
            let answer = call(
                &tab,
                "Page.navigate",
                json!({"url": format!("{}{path}", site.origin())}),
            )
            .await;
            let news = fate(&mut news).await;
            assert_eq!(news.fate, DocumentFate::Answered { status }, "{path}");
            assert_eq!(answer["loaderId"], json!(news.loader), "{path}");
            assert_eq!(tab.main_document(), Some(news));
        }
        // A circle of redirects is ended by the browser.
        let mut news = tab.documents();
        let url = json!({"url": format!("{}/to-self", site.origin())});
        let answer = call(&tab, "Page.navigate", url).await;
        assert_eq!(answer["errorText"], json!("net::ERR_TOO_MANY_REDIRECTS"));
        assert!(matches!(
            news.next().await.unwrap().fate,
            DocumentFate::Redirected { status: 302 }
        ));
        let mut in_flight = tab.in_flight();
        let idle = in_flight.wait_for(|count| *count == 0);
        timeout(BOUND, idle).await.unwrap().unwrap();

        load(&tab, &format!("{}/frame", site.origin())).await;
        assert!(matches!(
            tab.main_document().unwrap().fate,
            DocumentFate::Answered { status: 200 }
        ));
        browser.close(BOUND).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_stay_in_their_tab_and_come_back() {
    let site = site().await;
    let browser = launch(Preference::Shell).await;
    let tab = browser.new_tab(policy(&site), WORLD, BOUND).await.unwrap();
    let other = browser.new_tab(policy(&site), WORLD, BOUND).await.unwrap();
    load(&tab, &format!("{}/cookies", site.origin())).await;
    assert_eq!(evaluate(&tab, "document.cookie").await, json!("b=2"));
    let echo = "fetch('/echo').then(answer => answer.text())";
    let head = evaluate(&tab, echo).await;
    let head = head.as_str().unwrap().to_lowercase();
    assert!(head.contains("cookie: a=1; b=2"), "{head}");
    assert!(head.contains("accept-encoding: "), "{head}");
    assert!(head.contains("user-agent: mozilla"), "{head}");
    assert!(!head.contains("proxy"), "{head}");

    load(&other, &format!("{}/", site.origin())).await;
    let head = evaluate(&other, echo).await;
    assert!(!head.as_str().unwrap().to_lowercase().contains("cookie:"));
    browser.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_fetched_as_the_policy_says() {
    let site = site().await;
    let browser = launch(Preference::Shell).await;
    let seen = |target: &str| {
        site.asked()
            .iter()
            .filter(|asked| asked.target == target)
            .count()
    };
    let tab = browser.new_tab(policy(&site), WORLD, BOUND).await.unwrap();
    load(&tab, &format!("{}/resources", site.origin())).await;
    assert_eq!(evaluate(&tab, "document.title").await, json!("scripted"));
    let mut in_flight = tab.in_flight();
    timeout(BOUND, in_flight.wait_for(|count| *count == 0))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            seen("/s.css"),
            seen("/s.js"),
            seen("/i.png"),
            seen("/f.woff")
        ),
        (1, 1, 1, 0)
    );
    assert_eq!(tab.counters().counts().refused_kinds, 1);

    let lean = TabPolicy {
        images: Want::Refuse,
        fonts: Want::Fetch,
        scripts: PageScripts::Off,
        ..policy(&site)
    };
    let tab = browser.new_tab(lean, WORLD, BOUND).await.unwrap();
    load(&tab, &format!("{}/resources", site.origin())).await;
    let world = call(
        &tab,
        "Page.createIsolatedWorld",
        json!({"frameId": tab.main_frame(), "worldName": "test"}),
    )
    .await;
    let params = json!({
        "expression": "[document.title, 1]", "returnByValue": true,
        "contextId": world["executionContextId"],
    });
    let answer = call(&tab, "Runtime.evaluate", params).await;
    assert_eq!(
        answer.pointer("/result/value"),
        Some(&json!(["x", 1])),
        "{answer}"
    );
    assert_eq!(seen("/i.png"), 1);
    browser.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_without_a_policy_gets_nothing_and_one_that_has_spent_its_share_neither() {
    let site = site().await;
    let browser = launch(Preference::Shell).await;
    let blank = browser.blank_tab(WORLD, BOUND).await.unwrap();
    let news = go(&blank, &format!("{}/", site.origin())).await;
    assert!(matches!(news.fate, DocumentFate::Refused(_)));
    assert_eq!(site.connections(), 0);
    // A list may name it, and still it is no web server's address.
    let mut metadata = policy(&site);
    metadata.access = AccessList::parse(["http://169.254.169.254"]).unwrap();
    let tab = browser.new_tab(metadata, WORLD, BOUND).await.unwrap();
    let news = go(&tab, "http://169.254.169.254/latest").await;
    assert_eq!(news.fate, DocumentFate::Failed(FetchFault::Boundary));
    blank.allow(policy(&site)).unwrap();
    assert!(blank.allow(policy(&site)).is_err());
    load(&blank, &format!("{}/", site.origin())).await;

    let mut short = policy(&site);
    short.caps.requests = 2;
    let tab = browser.new_tab(short, WORLD, BOUND).await.unwrap();
    load(&tab, &format!("{}/", site.origin())).await;
    load(&tab, &format!("{}/next", site.origin())).await;
    let news = go(&tab, &format!("{}/", site.origin())).await;
    assert_eq!(news.fate, DocumentFate::Refused(Refusal::Spent));

    let mut small = policy(&site);
    small.caps.total_bytes = 2 << 20;
    let tab = browser.new_tab(small, WORLD, BOUND).await.unwrap();
    load(&tab, &format!("{}/", site.origin())).await;
    // What is cut off counts from its first byte.
    let news = go(&tab, &format!("{}/endless", site.origin())).await;
    assert_eq!(news.fate, DocumentFate::Failed(FetchFault::TooLarge));
    let bytes = tab.counters().counts().bytes;
    assert!((2 << 20..3 << 20).contains(&bytes), "{bytes}");
    let news = go(&tab, &format!("{}/next", site.origin())).await;
    assert_eq!(news.fate, DocumentFate::Refused(Refusal::Spent));
    browser.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_windows_files_and_downloads_end_at_once() {
    let site = site().await;
    for preference in BOTH {
        let browser = launch(preference).await;
        // Without our policy in the page, so that the walls behind it are seen.
        let open = TabPolicy {
            csp: OwnCsp::Off,
            ..policy(&site)
        };
        let tab = browser.new_tab(open, WORLD, BOUND).await.unwrap();
        load(&tab, &format!("{}/dialogs", site.origin())).await;
        assert_eq!(evaluate(&tab, "document.title").await, json!("false,"));
        assert_eq!(tab.counters().counts().dismissed_dialogs, 3);
        // With a user's activation the page may ask whether to leave; it can't keep us.
        evaluate(&tab, "0").await;
        load(&tab, &format!("{}/popups", site.origin())).await;
        evaluate(
            &tab,
            "window.open('/next'); document.getElementById('a').click()",
        )
        .await;
        let windows = || tab.counters().counts().refused_windows;
        let deadline = tokio::time::Instant::now() + BOUND;
        while windows() < 1 {
            assert!(tokio::time::Instant::now() < deadline);
            evaluate(&tab, "0").await;
        }
        load(&tab, &format!("{}/file", site.origin())).await;
        evaluate(&tab, "document.getElementById('f').click()").await;
        evaluate(&tab, "location = '/octets'; 0").await;
        let downloads = || tab.counters().counts().refused_downloads;
        while downloads() < 1 {
            assert!(tokio::time::Instant::now() < deadline);
            evaluate(&tab, "0").await;
        }
        while pages_of(&browser, &tab).await > 1 {
            assert!(tokio::time::Instant::now() < deadline);
        }
        browser.close(BOUND).await;
    }
}

async fn pages_of(browser: &Browser, tab: &Tab) -> usize {
    let targets = browser
        .connection()
        .call(None, "Target.getTargets", json!({}), BOUND)
        .await
        .unwrap();
    let infos = targets["targetInfos"].as_array().unwrap().iter();
    infos
        .filter(|info| info["type"] == "page" && info["browserContextId"] == tab.context())
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_verified() {
    let key = include_bytes!("tls/self-signed.key.der").to_vec();
    let certificate = include_bytes!("tls/self-signed.der").to_vec();
    let config = tokio_rustls::rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.into()],
            tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer::from(key).into(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")
                    .await;
            }
        }
    });
    let plain = Server::start(|_| Reply::status(200)).await.unwrap();
    let not_tls = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls_port = not_tls.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = not_tls.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").await;
        }
    });
    let browser = launch(Preference::Shell).await;
    for url in [
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://127.0.0.1:{not_tls_port}/"),
    ] {
        let access = AccessList::parse([url.as_str()]).unwrap();
        let tab = browser
            .new_tab(TabPolicy::new(access), WORLD, BOUND)
            .await
            .unwrap();
        let news = go(&tab, &url).await;
        assert_eq!(news.fate, DocumentFate::Failed(FetchFault::Tls), "{url}");
    }
    drop(plain);
    browser.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_counted_exactly() {
    let (release, held) = tokio::sync::watch::channel(false);
    let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", gate.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = gate.accept().await {
            let mut held = held.clone();
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let count = stream.read(&mut head).await.unwrap();
                let page = head.starts_with(b"GET / ");
                assert!(count > 0);
                if !page {
                    held.wait_for(|open| *open).await.unwrap();
                }
                let _ = stream
                    .write_all(
                        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx",
                    )
                    .await;
            });
        }
    });
    let browser = launch(Preference::Shell).await;
    let access = AccessList::parse([origin.as_str()]).unwrap();
    let tab = browser
        .new_tab(TabPolicy::new(access), WORLD, BOUND)
        .await
        .unwrap();
    load(&tab, &format!("{origin}/")).await;
    let mut in_flight = tab.in_flight();
    let idle = in_flight.wait_for(|count| *count == 0);
    timeout(BOUND, idle).await.unwrap().unwrap();
    evaluate(&tab, "for (let i = 0; i < 5; i++) fetch('/' + i); 0").await;
    let five = in_flight.wait_for(|count| *count == 5);
    timeout(BOUND, five).await.unwrap().unwrap();
    release.send_replace(true);
    let idle = in_flight.wait_for(|count| *count == 0);
    timeout(BOUND, idle).await.unwrap().unwrap();

    // A closed tab ends what is still on its way.
    release.send_replace(false);
    evaluate(&tab, "fetch('/x'); 0").await;
    let one = in_flight.wait_for(|count| *count == 1);
    timeout(BOUND, one).await.unwrap().unwrap();
    tab.close(BOUND).await;
    let none = in_flight.wait_for(|count| *count == 0);
    timeout(BOUND, none).await.unwrap().unwrap();
    browser.close(BOUND).await;
}
