//! One step (read the page, click its link, read the new page) through `headless_chrome`: a number
//! to compare with, printed as JSON. Arguments: the browser, the start URL, how often.
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headless_chrome::{Browser, LaunchOptions};

const READ: &str = "JSON.stringify({text: document.body.innerText, links: [...document.links].map(a => [a.href, a.innerText])})";
const CLICK: &str = "document.links[0].click()";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: headless-chrome-baseline BROWSER URL REPEATS";
    let browser = PathBuf::from(arguments.next().ok_or(usage)?);
    let url = arguments.next().ok_or(usage)?;
    let repeats: u32 = arguments.next().ok_or(usage)?.parse()?;
    let options = LaunchOptions {
        path: Some(browser),
        // This program reads our own page on loopback, as root on the machines where it is used.
        sandbox: false,
        idle_browser_timeout: Duration::from_secs(120),
        ..LaunchOptions::default()
    };
    let browser = Browser::new(options)?;
    let tab = browser.new_tab()?;
    let mut micros = Vec::new();
    for _ in 0..repeats {
        tab.navigate_to(&url)?;
        tab.wait_until_navigated()?;
        let begun = Instant::now();
        tab.evaluate(READ, false)?;
        tab.evaluate(CLICK, false)?;
        tab.wait_until_navigated()?;
        tab.evaluate(READ, false)?;
        micros.push(u64::try_from(begun.elapsed().as_micros())?);
    }
    println!("{}", serde_json::json!({ "step_us": micros }));
    Ok(())
}
