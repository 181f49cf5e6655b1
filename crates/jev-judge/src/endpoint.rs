//! Addresses of judges: https, or http to this very machine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use jev_core::error::JudgeError;

/// Where requests go. Checked once: https unless loopback, no credentials inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Parses an address.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for anything but https (http to loopback), and for credentials.
    pub fn parse(text: &str) -> Result<Self, JudgeError> {
        let config = |what: String| JudgeError::Config { what };
        let mut url = Url::parse(text.trim()).map_err(|_| {
            config("the judge's address is not a URL; write it like https://host/path".to_owned())
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(config(
                "the judge's address must not carry credentials; name a key variable instead"
                    .to_owned(),
            ));
        }
        url.set_fragment(None);
        match url.scheme() {
            "https" if url.host().is_some() => {}
            "http" if is_loopback(&url) => {}
            "http" => {
                return Err(config(format!(
                    "{}: only https is used, except to loopback",
                    url.origin().ascii_serialization()
                )));
            }
            other => return Err(config(format!("`{other}:` is no address of a judge"))),
        }
        Ok(Self(url))
    }

    /// The address with `tail` under the versioned root: an address that ends in the tail is used
    /// as it is, one that ends in `/v1` gets the tail, any other gets `/v1` and the tail.
    #[must_use]
    pub fn with_tail(&self, tail: &str) -> Self {
        let mut url = self.0.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        let path = if path.ends_with(&format!("/{tail}")) {
            path
        } else if path.ends_with("/v1") {
            format!("{path}/{tail}")
        } else {
            format!("{path}/v1/{tail}")
        };
        url.set_path(&path);
        Self(url)
    }

    /// The address whose last path segment is another one.
    #[must_use]
    pub(crate) fn sibling(&self, name: &str) -> Self {
        let mut url = self.0.clone();
        let path = url.path();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = format!("{folder}/{name}");
        url.set_path(&path);
        Self(url)
    }

    /// The parsed address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Whether it is this very machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// The host's name could not be resolved. A type of its own, so that the client can tell it from
/// a refused connection.
#[derive(Debug)]
pub(crate) struct NameNotFound;

impl fmt::Display for NameNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("host name not found")
    }
}

impl std::error::Error for NameNotFound {}

/// How long a name may be looked up: less than a connection may take, so that name servers that do
/// not answer are told from a host that does not.
const LOOKUP: std::time::Duration = std::time::Duration::from_secs(2);

/// The system's resolver, with [`NameNotFound`] as its one error, and `localhost` held to
/// loopback addresses whatever the hosts file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let local = is_localhost(name.as_str());
            let asked = tokio::net::lookup_host((name.as_str(), 0));
            let found: Vec<SocketAddr> = tokio::time::timeout(LOOKUP, asked)
                .await
                .map_err(|_| NameNotFound)?
                .map_err(|_| NameNotFound)?
                .filter(|address| !local || IpAddr::is_loopback(&address.ip()))
                .collect();
            if found.is_empty() {
                return Err(NameNotFound.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_or_loopback() {
        for (text, fine) in [
            ("https://api.example.com/v1", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/x", true),
            ("http://localhost", true),
            ("http://api.example.com", false),
            ("http://127.0.0.1.example.com", false),
            ("http://localhost.example.com", false),
            ("https://user:hunter2@host/", false),
            ("ftp://127.0.0.1/", false),
            ("127.0.0.1:80", false),
            ("", false),
        ] {
            let parsed = Endpoint::parse(text);
            assert_eq!(parsed.is_ok(), fine, "{text}");
            if let Err(error) = parsed {
                assert!(!error.to_string().contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn the_path_is_completed_only_where_it_is_not_complete() {
        for (text, expected) in [
            ("http://[::1]:1/v1/systemone", "http://[::1]:1/v1/systemone"),
            ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/systemone"),
            ("http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1/systemone"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1/v1/systemone"),
            (
                "http://127.0.0.1:1/api/",
                "http://127.0.0.1:1/api/v1/systemone",
            ),
            ("https://h/a/v1?x=1", "https://h/a/v1/systemone?x=1"),
            ("https://h/api/v3/systemone", "https://h/api/v3/systemone"),
            ("https://h/d/systemone?v=2", "https://h/d/systemone?v=2"),
        ] {
            let endpoint = Endpoint::parse(text).unwrap().with_tail("systemone");
            assert_eq!(endpoint.to_string(), expected, "{text}");
            let models = expected.replace("/systemone", "/models");
            assert_eq!(endpoint.sibling("models").to_string(), models);
        }
    }
}
