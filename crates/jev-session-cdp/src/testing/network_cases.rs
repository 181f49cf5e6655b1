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
    /// Attempts of the browser itself, which end at the tripwire. They are seen only while the
    /// browser has a network device.
    Breaches,
}

/// What happens without a boundary, in at least one of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The forbidden server is reached: the page is a live attack.
    Reaches,
    /// The same, in the whole browser alone: the headless shell lacks the feature.
    ReachesInWhole,
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
    /// What the address that the tab stands on afterwards begins with, the allowed origin left out;
    /// none: it stays on the page.
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

    const fn in_whole(self) -> Self {
        Self {
            control: Control::ReachesInWhole,
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
    case("ad-auction", &[]).silent(),
    case("base", &[Refused::Resources]),
    case("beacon", &[Refused::Methods]),
    case("beacon-unload", &[Refused::Methods]).ending_on("/plain"),
    case("click-handler-location", &[Refused::Documents]).clicked(),
    case("compression-dictionary", &[]).silent(),
    case("csp-report", &[Refused::Methods]).with(&[(
        "content-security-policy",
        "img-src 'none'; report-uri {{FORBIDDEN}}/hit",
    )]),
    case("csp-report-only", &[]).with(&[(
        "content-security-policy-report-only",
        "img-src 'none'; report-uri {{FORBIDDEN}}/hit",
    )]),
    case("css-attribute-leak", &[Refused::Resources]),
    case("css-background", &[Refused::Resources]),
    case("css-font", &[Refused::Kinds]),
    case("css-import", &[Refused::Resources]),
    case("css-references", &[Refused::Resources]),
    case("dns-prefetch", &[]).silent(),
    case("document-write", &[Refused::Resources]),
    case("download-attachment", &[Refused::Downloads])
        .clicked()
        .silent(),
    case("download-attribute", &[Refused::Documents]).clicked(),
    case("download-attribute-home", &[]).clicked().silent(),
    case("download-blob", &[]).clicked().silent(),
    case("download-octets", &[]).clicked().silent(),
    case("early-hints", &[])
        .clicked()
        .silent()
        .ending_on("/early-hints"),
    case("embed", &[Refused::Documents]),
    case("event-source", &[Refused::Kinds]),
    case("federated-sign-in", &[]),
    case("fenced-frame", &[]).silent(),
    case("fetch-get", &[Refused::Resources]),
    case("fetch-keepalive", &[Refused::Resources]).ending_on("/plain"),
    case("fetch-later", &[]).ending_on("/plain"),
    case("fetch-no-cors", &[Refused::Resources]),
    case("fetch-post", &[Refused::Methods]),
    case("fetch-post-home", &[Refused::Methods]).silent(),
    case("fetch-preflight", &[Refused::Methods]),
    case("fetch-private-network", &[Refused::Resources]),
    case("form-button", &[Refused::Methods]).clicked(),
    case("form-fields", &[])
        .clicked()
        .silent()
        .ending_on("/plain"),
    case("form-get", &[Refused::Documents]),
    case("form-post", &[Refused::Methods]),
    case("form-post-home", &[Refused::Methods]).silent(),
    case("form-target-blank", &[]).clicked(),
    case("form-target-frame", &[Refused::Methods]),
    case("frameset", &[Refused::Documents]),
    case("geolocation", &[]).silent(),
    case("icon", &[]).in_whole(),
    case("iframe", &[Refused::Documents]),
    case("iframe-blob", &[Refused::Resources]),
    case("iframe-credentialless", &[Refused::Documents]),
    case("iframe-data", &[Refused::Resources]),
    case("iframe-javascript", &[Refused::Resources]),
    case("iframe-nested", &[Refused::Documents]),
    case("iframe-redirect", &[Refused::Documents]),
    case(
        "iframe-sandboxed",
        &[Refused::Documents, Refused::Resources],
    ),
    case("iframe-sandboxed-fetch", &[Refused::Resources]),
    case("iframe-srcdoc", &[Refused::Documents, Refused::Resources]),
    case("iframe-top-navigation", &[]),
    case("image", &[Refused::Resources]),
    case("image-set", &[Refused::Resources]),
    case("import-map", &[Refused::Resources]),
    case("link-attribution", &[])
        .clicked()
        .silent()
        .ending_on("/plain"),
    case("link-click", &[Refused::Documents]).clicked(),
    case("link-header-preconnect", &[])
        .with(&[("link", "<{{FORBIDDEN}}>; rel=preconnect")])
        .silent(),
    case("link-header-preload", &[])
        .with(&[("link", "<{{FORBIDDEN}}/hit>; rel=preload; as=script")]),
    case("link-ping", &[]).clicked().ending_on("/plain"),
    case("link-search", &[]).silent(),
    case("manifest", &[]).silent(),
    case("media", &[Refused::Resources, Refused::Kinds]),
    case("meta-refresh", &[Refused::Documents]),
    case("modified-click", &[Refused::Documents]).clicked(),
    case("modulepreload", &[Refused::Resources]),
    case("navigate-about", &[])
        .clicked()
        .silent()
        .ending_on("about:blank"),
    case("navigate-blob", &[Refused::Resources]).ending_on("blob:"),
    case("navigate-chrome", &[]).clicked().silent(),
    case("navigate-data", &[]).silent(),
    case("navigate-external", &[]).clicked().silent(),
    case("navigate-file", &[]).clicked().silent(),
    case("navigate-javascript", &[Refused::Resources]).clicked(),
    case("navigate-view-source", &[]).clicked().silent(),
    case("payment-request", &[]).in_whole(),
    case("payment-request-click", &[]).clicked().in_whole(),
    case("picture-in-picture", &[]).clicked(),
    case("preconnect", &[]).silent(),
    case("prefetch", &[Refused::Kinds]),
    case("preload-fetch", &[Refused::Resources]),
    case("preload-font", &[Refused::Kinds]),
    case("preload-image", &[Refused::Resources]),
    case("preload-script", &[Refused::Resources]),
    case("preload-style", &[Refused::Resources]),
    case("preload-track", &[Refused::Kinds]),
    case("prerender", &[]).silent(),
    case("private-token", &[]).silent(),
    case("push", &[Refused::Resources]),
    case("redirect-301", &[Refused::Documents]).clicked(),
    case("redirect-302", &[Refused::Documents]).clicked(),
    case("redirect-303", &[Refused::Documents]).clicked(),
    case("redirect-307", &[Refused::Documents]).clicked(),
    case("redirect-308", &[Refused::Documents]).clicked(),
    case("redirect-chain", &[Refused::Documents]).clicked(),
    case("redirect-fetch", &[Refused::Resources]),
    case("redirect-resource", &[Refused::Resources]),
    case("refresh-header", &[Refused::Documents]).with(&[("refresh", "0;url={{FORBIDDEN}}/hit")]),
    case("reporting-api", &[])
        .with(&[
            ("reporting-endpoints", "r=\"{{FORBIDDEN}}/hit\""),
            ("content-security-policy", "img-src 'none'; report-to r"),
            (
                "nel",
                "{\"report_to\":\"r\",\"max_age\":60,\"success_fraction\":1}",
            ),
        ])
        .silent(),
    case("resource-file", &[]).silent(),
    case("script", &[Refused::Resources]),
    case("script-location", &[Refused::Documents]),
    case("script-location-late", &[Refused::Documents]),
    case("script-location-replace", &[Refused::Documents]),
    case("script-module", &[Refused::Resources]),
    case("service-worker", &[Refused::Resources]),
    case("shared-storage", &[]).silent(),
    case("speculation-header", &[])
        .with(&[("speculation-rules", "\"/network/assets/rules.json\"")]),
    case("speculation-prefetch", &[]),
    case("speculation-prefetch-home", &[]),
    case("speculation-prerender", &[]).silent(),
    case("speech", &[]).silent(),
    case("stylesheet", &[Refused::Resources]),
    case("svg", &[Refused::Resources]),
    case("target-blank", &[]).clicked(),
    case("target-blank-opener", &[]).clicked(),
    case("topics", &[Refused::Resources]),
    case("web-authn", &[]).silent(),
    case("web-bundle", &[Refused::Resources]),
    case("webrtc", &[Refused::Breaches]),
    case("websocket", &[]),
    case("websocket-blob-worker", &[]),
    case("websocket-data-frame", &[]),
    case("websocket-home", &[]).silent(),
    case("websocket-shared-worker", &[]),
    case("websocket-srcdoc", &[]),
    case("websocket-stream", &[]),
    case("websocket-worker", &[]),
    case("webtransport", &[]).silent(),
    case("window-open", &[]),
    case("window-open-click", &[]).clicked(),
    case("window-open-home", &[]).clicked(),
    case("window-open-javascript", &[]).clicked(),
    case("window-open-noopener", &[]).clicked(),
    case("window-open-write", &[]).clicked(),
    case("worker", &[Refused::Resources]),
    case("worker-blob", &[Refused::Resources]),
    case("worker-import", &[Refused::Resources]),
    case("worker-module", &[Refused::Resources]),
    case("worker-nested", &[Refused::Resources]),
    case("worker-shared", &[Refused::Resources]),
    case("worklet", &[Refused::Resources]),
    case("xhr", &[Refused::Resources]),
    case("xhr-sync", &[Refused::Resources]),
    case("xml-stylesheet", &[Refused::Resources]),
];
