//! `jev judge serve`: asked by our own client, with and without a key, and stopped.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{jev, said};

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let mut child = jev(&["judge", "serve", "--judge", "lexical"])
            .args(more)
            .env("JEV_TEST_SERVER_KEY", "sk-served-0123456789")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut address).unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self {
            child,
            address: address.trim().to_owned(),
        }
    }

    fn ask(&self, more: &[&str]) -> Option<i32> {
        let judge = format!("systemone:{}", self.address);
        let ask = ["judge", "ask", "--goal", "How long is the warranty?"];
        let mut command = jev(&ask);
        command
            .args(["--judge", &judge, "--gate", "share"])
            .args(["--option", "Careers", "--option", "Warranty policy"])
            .env("JEV_TEST_SERVER_KEY", "sk-served-0123456789")
            .env("JEV_TEST_WRONG_KEY", "sk-another-0123456789")
            .args(more);
        said(&mut command).code
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn our_own_client_is_answered_and_a_key_is_asked_for_when_it_is_wanted() {
    let open = Server::start(&[]);
    assert_eq!(open.ask(&[]), Some(0));
    let keyed = Server::start(&["--key-env", "JEV_TEST_SERVER_KEY"]);
    for (more, code) in [
        (&[][..], Some(5)),
        (&["--key-env", "JEV_TEST_WRONG_KEY"], Some(5)),
        (&["--key-env", "JEV_TEST_SERVER_KEY"], Some(0)),
    ] {
        assert_eq!(keyed.ask(more), code, "{more:?}");
    }
}

#[test]
#[cfg(unix)]
fn it_ends_when_it_is_told_to() {
    let mut server = Server::start(&[]);
    assert_eq!(server.ask(&[]), Some(0));
    let id = server.child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_can_not_be_served_is_one_line_and_exit_code_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (more, expected) in [
        (
            &["--judge", "typesafe"][..],
            "judge: only embedded and lexical are served",
        ),
        (&["--judge", "lexical", "--port", &port], "port: 127.0.0.1:"),
        (
            &["--judge", "lexical", "--key-env", "JEV_TEST_NOT_SET"],
            "judge: ",
        ),
    ] {
        let said = said(&mut jev(&[&["judge", "serve"], more].concat()));
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.lines().count()),
            (Some(2), "", 1),
            "{}",
            said.stderr
        );
        assert!(
            said.stderr.starts_with(&format!("jev: {expected}")),
            "{}",
            said.stderr
        );
    }
}
