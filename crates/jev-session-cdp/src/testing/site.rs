//! The two origins of the hostile network pages: the allowed one serves them, the forbidden one
//! only counts.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::network_cases::NetworkCase;
use super::server::{Asked, Reply, Server};

/// Both servers.
#[derive(Debug)]
pub struct Site {
    /// Serves the pages.
    pub allowed: Server,
    /// Must never see anything.
    pub forbidden: Arc<Server>,
}

impl Site {
    /// Serves the folder `fixtures/hostile/network` for one case, with its headers on its page.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(folder: &Path, case: &'static NetworkCase) -> io::Result<Self> {
        let forbidden = Arc::new(Server::start(|_| forbidden_answer()).await?);
        let fill = Fill {
            port: forbidden.port(),
        };
        let folder = folder.to_path_buf();
        let allowed = Server::start(move |asked| answer(asked, &folder, case, fill)).await?;
        Ok(Self { allowed, forbidden })
    }
}

/// Whatever is asked, an answer that every kind of request would take.
fn forbidden_answer() -> Reply {
    Reply::Whole {
        status: 200,
        headers: vec![
            ("content-type".into(), "text/html".into()),
            ("access-control-allow-origin".into(), "*".into()),
            ("access-control-allow-headers".into(), "*".into()),
        ],
        body: b"<title>forbidden</title>".to_vec(),
    }
}

/// Fills the forbidden origin into the pages. By name it is another site than the allowed one,
/// which stands under its address.
#[derive(Clone, Copy)]
struct Fill {
    port: u16,
}

impl Fill {
    fn into(self, text: &str) -> String {
        let port = self.port;
        text.replace("{{FORBIDDEN}}", &format!("http://localhost:{port}"))
            .replace("{{FORBIDDEN_WS}}", &format!("ws://localhost:{port}"))
            .replace("{{FORBIDDEN_HOST}}", &format!("localhost:{port}"))
            .replace("{{FORBIDDEN_IP}}", &format!("127.0.0.1:{port}"))
            .replace("{{FORBIDDEN_NAME}}", "localhost")
    }
}

fn answer(asked: &Asked, folder: &Path, case: &NetworkCase, fill: Fill) -> Reply {
    let path = asked.target.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["plain"] => Reply::of("text/html", "<title>plain</title><p>plain"),
        ["hop", status, left] => hop(status, left, fill),
        ["attachment"] => Reply::Whole {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/html".into()),
                (
                    "content-disposition".into(),
                    "attachment; filename=a.html".into(),
                ),
            ],
            body: b"<title>attachment</title>".to_vec(),
        },
        ["octets"] => Reply::of("application/octet-stream", vec![0; 64]),
        ["early-hints"] => Reply::Raw(
            fill.into(
                "HTTP/1.1 103 Early Hints\r\n\
                 link: <{{FORBIDDEN}}/hit>; rel=preload; as=script\r\n\
                 link: <{{FORBIDDEN}}>; rel=preconnect\r\n\r\n\
                 HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\
                 connection: close\r\n\r\n<title>early-hints</title>",
            )
            .into_bytes(),
        ),
        ["network", rest @ ..] => file(folder, rest, case, fill),
        _ => Reply::status(404),
    }
}

/// So many hops more inside, then the one that leads out.
fn hop(status: &str, left: &str, fill: Fill) -> Reply {
    match (status.parse(), left.parse::<u32>()) {
        (Ok(code), Ok(0)) => Reply::redirect(code, &fill.into("{{FORBIDDEN}}/hit")),
        (Ok(code), Ok(left)) => Reply::redirect(code, &format!("/hop/{status}/{}", left - 1)),
        _ => Reply::status(404),
    }
}

fn file(folder: &Path, parts: &[&str], case: &NetworkCase, fill: Fill) -> Reply {
    let relative: PathBuf = parts.iter().collect();
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let text = if plain {
        fs::read_to_string(folder.join(&relative)).ok()
    } else {
        None
    };
    let Some(text) = text else {
        return Reply::status(404);
    };
    let kind = match relative
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some("js") => "text/javascript",
        Some("xml") => "text/xml",
        Some("json") => "application/speculationrules+json",
        _ => "text/html; charset=utf-8",
    };
    let mut headers = vec![("content-type".to_owned(), kind.to_owned())];
    let stem = relative.file_stem().and_then(|stem| stem.to_str());
    if stem == Some(case.name) {
        for (name, value) in case.headers {
            headers.push(((*name).to_owned(), fill.into(value)));
        }
    }
    Reply::Whole {
        status: 200,
        headers,
        body: fill.into(&text).into_bytes(),
    }
}
