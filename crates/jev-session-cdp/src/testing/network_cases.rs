//! The table of hostile network pages: what each does, what the boundary must count, and whether
//! it would reach the network without a boundary.

/// How a page's attack is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// By loading it.
    Load,
    /// By a click, with a user's activation, on the element of the id `go`.
    Click,
}

/// A count of the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Documents.
    Documents,
    /// Sub-resources.
    Resources,
    /// Methods other than GET.
    Methods,
    /// Kinds and schemes.
    Kinds,
    /// Windows.
    Windows,
    /// Downloads.
    Downloads,
}

/// What happens without a boundary, in at least one of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The forbidden server is reached: the page is a live attack.
    Reaches,
    /// It is not: this build refuses by itself, or the page shows something else. Kept against
    /// later builds.
    Silent,
}

/// One hostile page.
#[derive(Clone, Copy, Debug)]
pub struct NetworkCase {
    /// Its name; the page is `<name>.html`.
    pub name: &'static str,
    /// How it is set off.
    pub trigger: Trigger,
    /// Headers of its own; placeholders are filled in.
    pub headers: &'static [(&'static str, &'static str)],
    /// What must have been counted at least once. Empty: the browser itself never asks.
    pub refused: &'static [Refused],
    /// What happens without a boundary.
    pub control: Control,
    /// Path of the page the tab stands on afterwards; none: it stays.
    pub ends_on: Option<&'static str>,
}

const fn case(name: &'static str, refused: &'static [Refused]) -> NetworkCase {
    NetworkCase {
        name,
        trigger: Trigger::Load,
        headers: &[],
        refused,
        control: Control::Reaches,
        ends_on: None,
    }
}

impl NetworkCase {
    const fn clicked(self) -> Self {
        Self {
            trigger: Trigger::Click,
            ..self
        }
    }

    const fn silent(self) -> Self {
        Self {
            control: Control::Silent,
            ..self
        }
    }

    const fn with(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }

    const fn ending_on(self, path: &'static str) -> Self {
        Self {
            ends_on: Some(path),
            ..self
        }
    }
}

/// Every case.
pub const NETWORK_CASES: &[NetworkCase] = &[
    case("ad-auction", &[]),
    case("base", &[]),
    case("beacon", &[]),
    case("beacon-unload", &[]),
    case("click-handler-location", &[]).clicked(),
    case("csp-report", &[]).with(&[(
        "content-security-policy",
        "img-src 'none'; report-uri {{FORBIDDEN}}/hit",
    )]),
    case("csp-report-only", &[]).with(&[(
        "content-security-policy-report-only",
        "img-src 'none'; report-uri {{FORBIDDEN}}/hit",
    )]),
    case("css-attribute-leak", &[]),
    case("css-background", &[]),
    case("css-font", &[]),
    case("css-import", &[]),
    case("dns-prefetch", &[]),
    case("document-write", &[]),
    case("download-attachment", &[]).clicked(),
    case("download-attribute", &[]).clicked(),
    case("download-attribute-home", &[]).clicked(),
    case("download-blob", &[]).clicked(),
    case("download-octets", &[]).clicked(),
    case("early-hints", &[]).clicked(),
    case("embed", &[]),
    case("event-source", &[]),
    case("federated-sign-in", &[]),
    case("fenced-frame", &[]),
    case("fetch-get", &[]),
    case("fetch-keepalive", &[]),
    case("fetch-later", &[]),
    case("fetch-no-cors", &[]),
    case("fetch-post", &[]),
    case("fetch-post-home", &[]),
    case("fetch-preflight", &[]),
    case("fetch-private-network", &[]),
    case("form-button", &[]).clicked(),
    case("form-fields", &[])
        .clicked()
        .silent()
        .ending_on("/plain"),
    case("form-get", &[]),
    case("form-post", &[]),
    case("form-post-home", &[]),
    case("form-target-blank", &[]).clicked(),
    case("form-target-frame", &[]),
    case("frameset", &[]),
    case("geolocation", &[]),
    case("icon", &[]),
    case("iframe", &[]),
    case("iframe-blob", &[]),
    case("iframe-data", &[]),
    case("iframe-javascript", &[]),
    case("iframe-nested", &[]),
    case("iframe-redirect", &[]),
    case("iframe-sandboxed", &[]),
    case("iframe-sandboxed-fetch", &[]),
    case("iframe-srcdoc", &[]),
    case("iframe-top-navigation", &[]),
    case("image", &[]),
    case("image-set", &[]),
    case("import-map", &[]),
    case("link-attribution", &[]).clicked(),
    case("link-click", &[]).clicked(),
    case("link-header-preconnect", &[]).with(&[("link", "<{{FORBIDDEN}}>; rel=preconnect")]),
    case("link-header-preload", &[])
        .with(&[("link", "<{{FORBIDDEN}}/hit>; rel=preload; as=script")]),
    case("link-ping", &[]).clicked(),
    case("link-search", &[]),
    case("manifest", &[]),
    case("media", &[]),
    case("meta-refresh", &[]),
    case("modified-click", &[]).clicked(),
    case("modulepreload", &[]),
    case("navigate-about", &[]).clicked(),
    case("navigate-blob", &[]),
    case("navigate-chrome", &[]).clicked(),
    case("navigate-data", &[]),
    case("navigate-external", &[]).clicked(),
    case("navigate-file", &[]).clicked(),
    case("navigate-javascript", &[]).clicked(),
    case("navigate-view-source", &[]).clicked(),
    case("payment-request", &[]),
    case("payment-request-click", &[]).clicked(),
    case("picture-in-picture", &[]).clicked(),
    case("preconnect", &[]),
    case("prefetch", &[]),
    case("preload-fetch", &[]),
    case("preload-font", &[]),
    case("preload-image", &[]),
    case("preload-script", &[]),
    case("preload-style", &[]),
    case("preload-track", &[]),
    case("prerender", &[]),
    case("private-token", &[]),
    case("push", &[]),
    case("redirect-301", &[]).clicked(),
    case("redirect-302", &[]).clicked(),
    case("redirect-303", &[]).clicked(),
    case("redirect-307", &[]).clicked(),
    case("redirect-308", &[]).clicked(),
    case("redirect-chain", &[]).clicked(),
    case("redirect-fetch", &[]),
    case("redirect-resource", &[]),
    case("refresh-header", &[]).with(&[("refresh", "0;url={{FORBIDDEN}}/hit")]),
    case("reporting-api", &[]).with(&[
        ("reporting-endpoints", "r=\"{{FORBIDDEN}}/hit\""),
        ("content-security-policy", "img-src 'none'; report-to r"),
        (
            "nel",
            "{\"report_to\":\"r\",\"max_age\":60,\"success_fraction\":1}",
        ),
    ]),
    case("resource-file", &[]),
    case("script", &[]),
    case("script-location", &[]),
    case("script-location-late", &[]),
    case("script-location-replace", &[]),
    case("script-module", &[]),
    case("service-worker", &[]),
    case("shared-storage", &[]),
    case("speculation-header", &[])
        .with(&[("speculation-rules", "\"/network/assets/rules.json\"")]),
    case("speculation-prefetch", &[]),
    case("speculation-prefetch-home", &[]),
    case("speculation-prerender", &[]),
    case("speech", &[]),
    case("stylesheet", &[]),
    case("svg", &[]),
    case("target-blank", &[]).clicked(),
    case("target-blank-opener", &[]).clicked(),
    case("topics", &[]),
    case("web-authn", &[]),
    case("web-bundle", &[]),
    case("webrtc", &[]),
    case("websocket", &[]),
    case("websocket-blob-worker", &[]),
    case("websocket-data-frame", &[]),
    case("websocket-home", &[]),
    case("websocket-shared-worker", &[]),
    case("websocket-srcdoc", &[]),
    case("websocket-stream", &[]),
    case("websocket-worker", &[]),
    case("webtransport", &[]),
    case("window-open", &[]),
    case("window-open-click", &[]).clicked(),
    case("window-open-home", &[]).clicked(),
    case("window-open-javascript", &[]).clicked(),
    case("window-open-noopener", &[]).clicked(),
    case("window-open-write", &[]).clicked(),
    case("worker", &[]),
    case("worker-blob", &[]),
    case("worker-import", &[]),
    case("worker-module", &[]),
    case("worker-nested", &[]),
    case("worker-shared", &[]),
    case("worklet", &[]),
    case("xhr", &[]),
    case("xhr-sync", &[]),
    case("xml-stylesheet", &[]),
];
