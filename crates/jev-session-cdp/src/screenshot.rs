//! A picture of the window with the candidates of a snapshot outlined. The page itself is not
//! touched: the outlines are drawn over its picture.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jev_core::error::{SessionError, Stage};
use jev_core::ids::CandidateId;
use jev_core::snapshot::Snapshot;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::reader::{HUNG, Reader};
use crate::world::Method;

/// Largest picture taken, in bytes of PNG.
const PICTURE_MAX: usize = 16 * 1024 * 1024;
/// Most boxes of one picture.
const BOXES_MAX: usize = 2_000;

/// A candidate's box in the window, in CSS pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The candidate.
    pub id: CandidateId,
    /// Distance from the left of the window.
    pub left: f64,
    /// Distance from the top of the window.
    pub top: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// A picture of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Screenshot {
    /// The picture, PNG.
    pub png: Vec<u8>,
    /// The window's width in CSS pixels.
    pub width: f64,
    /// The window's height in CSS pixels.
    pub height: f64,
    /// The candidates that lie in the window, one entry a line box.
    pub outlines: Vec<Outline>,
}

impl Screenshot {
    /// The picture with its outlines and the candidates' ids, as one SVG file that refers to
    /// nothing else. Holds nothing of the page but the picture.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\
             <image width=\"{width}\" height=\"{height}\" href=\"data:image/png;base64,{}\"/>\
             <g fill=\"none\" stroke=\"#d0021b\" stroke-width=\"2\">",
            STANDARD.encode(&self.png)
        );
        for outline in &self.outlines {
            // Writing to a string can't fail.
            let _ = write!(
                svg,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                outline.left, outline.top, outline.width, outline.height
            );
        }
        svg.push_str("</g><g font-family=\"sans-serif\" font-size=\"11\" fill=\"#d0021b\">");
        let mut last = None;
        for outline in &self.outlines {
            if last != Some(&outline.id) {
                let id: String = outline
                    .id
                    .as_str()
                    .chars()
                    .filter(char::is_ascii_alphanumeric)
                    .collect();
                let (x, y) = (outline.left + 1.0, outline.top - 2.0);
                let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\">{id}</text>");
            }
            last = Some(&outline.id);
        }
        svg.push_str("</g></svg>");
        svg
    }
}

#[derive(Deserialize)]
struct Boxes {
    #[serde(default)]
    stale: Option<String>,
    #[serde(default)]
    window: (f64, f64),
    #[serde(default)]
    boxes: Vec<(String, f64, f64, f64, f64)>,
}

/// Takes a picture of the window as it is now; none when another document stands there.
pub(crate) async fn take(
    reader: &Reader,
    loader: &str,
    snapshot: &Snapshot,
    deadline: Duration,
) -> Result<Option<Screenshot>, SessionError> {
    let stage = Stage::Observe;
    let end = Instant::now() + deadline;
    let left = || end.saturating_duration_since(Instant::now()).min(HUNG);
    let ids: Vec<&str> = snapshot
        .candidates
        .iter()
        .map(|candidate| candidate.id.as_str())
        .collect();
    let options = json!({"epoch": snapshot.document.as_str(), "ids": ids});
    let text = reader
        .enter(loader, Method::Boxes, &options, left())
        .await
        .map_err(|lost| lost.at(stage))?;
    let broken = SessionError::Protocol { stage };
    let found: Boxes = serde_json::from_str(&text).map_err(|_| broken)?;
    let (width, height) = found.window;
    if found.stale.is_some() || reader.loader() != loader {
        return Ok(None);
    }
    if !(width.is_finite() && height.is_finite()) || found.boxes.len() > BOXES_MAX {
        return Err(broken);
    }
    let answer = reader
        .ask("Page.captureScreenshot", json!({"format": "png"}), left())
        .await
        .map_err(|error| error.at(stage))?;
    let data = answer.get("data").and_then(Value::as_str).ok_or(broken)?;
    if data.len() / 4 * 3 > PICTURE_MAX {
        return Err(broken);
    }
    let png = STANDARD.decode(data).map_err(|_| broken)?;
    let outlines = found
        .boxes
        .into_iter()
        .filter(|(_, left, top, width, height)| {
            [left, top, width, height]
                .iter()
                .all(|side| side.is_finite())
        })
        .map(|(id, left, top, width, height)| Outline {
            id: CandidateId::new(id),
            left,
            top,
            width,
            height,
        })
        .collect();
    Ok(Some(Screenshot {
        png,
        width,
        height,
        outlines,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_svg_holds_picture_outlines_and_ids_and_nothing_foreign() {
        let shot = Screenshot {
            png: vec![1, 2, 3],
            width: 100.0,
            height: 50.0,
            outlines: vec![Outline {
                id: CandidateId::new("c1<script>"),
                left: 1.0,
                top: 20.0,
                width: 30.0,
                height: 10.0,
            }],
        };
        let svg = shot.to_svg();
        assert!(svg.contains("base64,AQID"), "{svg}");
        assert!(svg.contains("<rect x=\"1\" y=\"20\" width=\"30\" height=\"10\"/>"));
        assert!(svg.contains(">c1script</text>"));
        assert!(svg.ends_with("</svg>"));
    }
}
