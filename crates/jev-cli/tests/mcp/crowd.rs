//! Seventeen calls at once on a server that holds sixteen: they are served in the order in which they
//! came, and the last one is told at once that it is too many.

use std::time::{Duration, Instant};

use jev_eval::site::Site;
use serde_json::json;

use super::raw::RawServer;
use super::{jev, repository};

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_calls_are_served_in_their_order_and_the_next_is_refused_at_once() {
    let site = Site::serve(&repository().join("fixtures/help-centre"))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script: Vec<String> = (0..16)
        .map(|_| json!({"operation": "CLICK", "target": "Warranty policy"}).to_string())
        .collect();
    std::fs::write(folder.path().join("script.jsonl"), script.join("\n")).unwrap();
    let config = folder.path().join("jev.toml");
    let base = site.base();
    let text = format!(
        "[judge]\nprovider = 'scripted'\npath = 'script.jsonl'\n\
         [[source]]\nname = 'help'\nstart = '{base}index.html'\nallow = ['{base}*']\n\
         expect = ['\\d+ months from the date of purchase']\n\
         [read]\nmode = 'enforce'\nthreshold = 0.8\nbudget = '30s'\n\
         [mcp]\nrunning = 1\nwaiting = 15\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut server = RawServer::start(
        jev()
            .args(["mcp", "--config"])
            .arg(&config)
            .env("JEV_LOG", "jev_agent=debug"),
    )
    .await;
    let began = Instant::now();
    let mut sent = Vec::new();
    for number in 1..=17 {
        let call = json!({
            "name": "read_browser",
            "arguments": {"goal": "How long does the warranty last?"}
        });
        sent.push(server.send("tools/call", call).await);
        if number <= 16 {
            // Requests are handled side by side: the order is that of their coming to the queue.
            server
                .logs("a call has its place in the queue", number)
                .await;
        }
    }
    let mut answered = Vec::new();
    let mut times: Vec<Duration> = Vec::new();
    while answered.len() < sent.len() {
        let message = server.next().await;
        let id = message["id"].as_u64().unwrap();
        if id == sent[16] {
            let result = &message["result"];
            assert_eq!(result["isError"], true, "{message}");
            assert_eq!(result["_meta"]["jev/code"], "BROWSER_BUSY", "{message}");
            let says = result["content"][0]["text"].as_str().unwrap();
            assert!(
                says.contains("1 calls are running and 15 are waiting"),
                "{says}"
            );
        } else {
            let status = &message["result"]["structuredContent"]["status"];
            assert_eq!(*status, "VERIFIED", "{message}");
        }
        answered.push(id);
        times.push(began.elapsed());
    }
    // The one that was too many is told first; the others come one by one, as they asked.
    let expected: Vec<u64> = std::iter::once(sent[16])
        .chain(sent[..16].iter().copied())
        .collect();
    assert_eq!(answered, expected);
    println!(
        "refused after {:?}, the first answered after {:?}, the sixteenth after {:?}",
        times[0], times[1], times[16]
    );
    server.leave().await;
}
