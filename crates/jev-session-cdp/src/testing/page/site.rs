//! The site of the hostile pages: the files, and the places their links lead to.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::testing::server::{Asked, Reply, Server};

/// How long the slow places take.
const SLOW: Duration = Duration::from_millis(150);

/// The size of a page that is too large.
const HUGE: usize = 50 * 1024 * 1024;

/// The site, and a server that must never see anything.
#[derive(Debug)]
pub struct PageSite {
    /// Serves the pages.
    pub allowed: Server,
    /// Is on no list.
    pub forbidden: Server,
}

impl PageSite {
    /// Serves the folder `fixtures/hostile/page`.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(folder: &Path) -> io::Result<Self> {
        let forbidden =
            Server::start(|_| Reply::of("text/html", "<title>forbidden</title>")).await?;
        // By name it is another site than the allowed one, which stands under its address.
        let elsewhere = format!("http://localhost:{}", forbidden.port());
        let folder = folder.to_path_buf();
        let allowed = Server::start(move |asked| answer(asked, &folder, &elsewhere)).await?;
        Ok(Self { allowed, forbidden })
    }
}

fn answer(asked: &Asked, folder: &Path, elsewhere: &str) -> Reply {
    let path = asked.target.split(['?', '#']).next().unwrap_or_default();
    match path {
        "/goal" => Reply::of("text/html", "<title>Goal</title><p>GOAL reached"),
        "/trap" => Reply::of("text/html", "<title>Trap</title><p>TRAP"),
        "/hop-in" => Reply::redirect(302, "/goal"),
        "/hop-out" => Reply::redirect(302, &format!("{elsewhere}/x")),
        "/nothing" => Reply::status(204),
        "/octets" => Reply::of("application/octet-stream", vec![0; 64]),
        "/attachment" => Reply::Whole {
            status: 200,
            headers: vec![("content-disposition".into(), "attachment".into())],
            body: b"file".to_vec(),
        },
        "/hang" => Reply::Silence,
        "/huge" => Reply::of("text/html", vec![b'x'; HUGE]),
        "/endless" => Reply::Endless,
        "/dribble" => Reply::Dribble(Duration::from_secs(1)),
        "/streamed" => Reply::Pieces(
            SLOW,
            &[
                "<p>SEEN one</p>",
                "<p>two</p><a href=/g",
                "oal>To the goal</a>",
            ],
        ),
        "/slow/one" => Reply::Later(SLOW, "one"),
        "/slow/two" => Reply::Later(SLOW, "two"),
        _ => page(path, folder, elsewhere),
    }
}

fn page(path: &str, folder: &Path, elsewhere: &str) -> Reply {
    let name = path.strip_prefix("/page/").unwrap_or_default();
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c == '_' || c == '.')
        && !name.contains("..");
    let file = plain.then(|| fs::read_to_string(folder.join(format!("{name}.html"))).ok());
    file.flatten().map_or(Reply::status(404), |text| {
        let text = text.replace("{{FORBIDDEN}}", elsewhere);
        let text = if text.contains(MANY) {
            text.replace(MANY, &many())
        } else {
            text
        };
        Reply::of("text/html", text)
    })
}

/// Stands in a page for what would be too large a file.
const MANY: &str = "{{HUNDRED_THOUSAND_LINKS}}";

fn many() -> String {
    (0..100_000)
        .map(|number| format!("<p><a href=/goal?{number}>L{number}</a>"))
        .collect()
}
