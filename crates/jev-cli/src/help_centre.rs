//! The pages of the demonstrations on a server of this machine, from the program itself, so that they
//! run wherever the program was put.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use jev_agent::runtime::demos::PAGES;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const INDEX: &str = include_str!("../../../fixtures/help-centre/index.html");
const WARRANTY: &str = include_str!("../../../fixtures/help-centre/policies/warranty.html");
const STYLE: &str = include_str!("../../../fixtures/help-centre/style.css");

/// The server. Stopped when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// The address of the help centre's folder.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

const HTML: &str = "text/html; charset=utf-8";

/// Serves the help centre on a free port of loopback.
pub(crate) async fn serve() -> io::Result<Server> {
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(CONTENT_TYPE, kind)], text) })
    };
    let app = Router::new()
        .route("/index.html", file(HTML, INDEX))
        .route("/policies/warranty.html", file(HTML, WARRANTY))
        .route("/style.css", file("text/css; charset=utf-8", STYLE));
    listen(app).await
}

/// Serves the pages of the runtime's tasks. Any other address answers with no page, as the old one
/// does in memory.
pub(crate) async fn serve_tasks() -> io::Result<Server> {
    let app = PAGES.iter().fold(Router::new(), |app, page| {
        let html = page.html();
        app.route(
            &format!("/{}", page.path),
            get(move || async move { ([(CONTENT_TYPE, HTML)], html) }),
        )
    });
    listen(app.fallback(|| async { StatusCode::NO_CONTENT })).await
}

async fn listen(app: Router) -> io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        // It ends with the program, or when it is dropped.
        let _ = axum::serve(listener, app).await;
    });
    Ok(Server { address, task })
}
