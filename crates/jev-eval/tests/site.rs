//! The static server as a client sees it: types, indexes, links, and everything it must refuse.
#![expect(
    clippy::unwrap_used,
    reason = "a test panics where it fails; helpers outside of test functions too"
)]

use std::fs;
use std::os::unix::fs::symlink;

use jev_eval::site::Site;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One request over a connection of its own, sent byte for byte as written.
async fn ask(site: &Site, method: &str, target: &str) -> (u16, String, String) {
    let port = site.base().url().port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

#[tokio::test]
async fn pages_are_served_and_nothing_outside_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("sub dir")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join("index.html"), "<p>start é").unwrap();
    fs::write(root.join("sub dir/index.html"), "sub").unwrap();
    fs::write(root.join("a.css"), "p{}").unwrap();
    fs::write(folder.path().join("secret.html"), "secret").unwrap();
    symlink(folder.path().join("secret.html"), root.join("out.html")).unwrap();
    symlink("/etc/passwd", root.join("passwd.txt")).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    symlink("index.html", root.join("inner.html")).unwrap();
    symlink("nowhere", root.join("dangling.html")).unwrap();
    let site = Site::serve(&root).await.unwrap();

    let cases = [
        ("/", 200, "start"),
        ("/index.html?x=1", 200, "start"),
        ("/inner.html", 200, "start"),
        ("/a.css", 200, "p{}"),
        ("/sub%20dir/", 200, "sub"),
        ("/sub%20dir", 301, ""),
        ("/./a.css", 200, "p{}"),
        ("/index.html/", 404, "404 Not Found"),
        ("/empty/", 404, "404 Not Found"),
        ("/missing.html", 404, "404 Not Found"),
        ("/dangling.html", 404, "404 Not Found"),
        ("/out.html", 404, "404 Not Found"),
        ("/passwd.txt", 404, "404 Not Found"),
        ("/etc/passwd", 404, "404 Not Found"),
        ("/../secret.html", 404, "404 Not Found"),
        ("/%2e%2e/secret.html", 404, "404 Not Found"),
        ("/sub%20dir/..%2f..%2fsecret.html", 404, "404 Not Found"),
        ("//etc/passwd", 404, "404 Not Found"),
        ("/a%00.css", 404, "404 Not Found"),
        ("/%ff", 404, "404 Not Found"),
    ];
    for (target, status, body) in cases {
        let (got, _, text) = ask(&site, "GET", target).await;
        assert_eq!(got, status, "{target}");
        assert!(text.contains(body), "{target}: {text}");
        assert!(
            !text.contains("secret") && !text.contains("root:"),
            "{target}: {text}"
        );
    }
    let (_, head, _) = ask(&site, "GET", "/sub%20dir").await;
    assert!(head.contains("location: /sub%20dir/"), "{head}");
    let (_, head, _) = ask(&site, "GET", "/").await;
    assert!(
        head.contains("content-type: text/html; charset=utf-8"),
        "{head}"
    );
    let (status, head, _) = ask(&site, "POST", "/").await;
    assert_eq!(status, 405);
    assert!(head.contains("allow: get, head"), "{head}");

    assert_eq!(site.requests(), cases.len() as u64 + 3);
    let hits = site.hits();
    assert_eq!(hits.len(), cases.len() + 3);
    assert_eq!(
        (hits[1].target.as_str(), hits[1].status),
        ("/index.html?x=1", 200)
    );
    assert_eq!(hits[3].bytes, 3);
    assert_eq!(hits.last().unwrap().method, "POST");
}

#[tokio::test]
async fn links_into_the_shared_folder_are_followed_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let (root, shared) = (folder.path().join("root"), folder.path().join("shared"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(shared.join("js")).unwrap();
    fs::write(shared.join("js/lib.js"), "let shared").unwrap();
    fs::write(folder.path().join("secret.js"), "secret").unwrap();
    symlink("../shared/js", root.join("js")).unwrap();
    symlink("../../secret.js", shared.join("js/out.js")).unwrap();
    let site = Site::serve_with(&root, &shared).await.unwrap();
    let (status, head, body) = ask(&site, "GET", "/js/lib.js").await;
    assert_eq!((status, body.as_str()), (200, "let shared"));
    assert!(head.contains("content-type: text/javascript"), "{head}");
    assert_eq!(ask(&site, "GET", "/js/out.js").await.0, 404);
}

#[tokio::test]
async fn a_stopped_site_refuses_connections() {
    let root = tempfile::tempdir().unwrap();
    let site = Site::serve(root.path()).await.unwrap();
    let port = site.base().url().port().unwrap();
    // An idle connection must not hold the stop up for long.
    let _idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    site.stop().await;
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn a_missing_folder_is_a_typed_error() {
    let root = tempfile::tempdir().unwrap();
    let error = Site::serve(&root.path().join("gone")).await.unwrap_err();
    assert!(error.to_string().contains("can't be read"), "{error}");
}
