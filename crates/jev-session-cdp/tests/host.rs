//! The host's own acts in a real Chromium: going to an address, filling fields, pressing controls.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::host::{
    AccessibleName, Control, Field, FieldRole, HostActs, HostReceipt, HostRefusal, TypedText,
};
use jev_core::ids::Scope;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{OpenRequest, Session, SessionFactory};
use jev_core::receipt::AppliedEffect;
use jev_core::snapshot::Role;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};

const BOUND: Duration = Duration::from_secs(20);

const PAGE: &str = r#"<!doctype html><title>Form</title>
<p id=echo>nothing</p>
<label>Full name <input id=name value="old name" oninput="echo.textContent = 'typed ' + value"
 onchange="echo.textContent += ', left'"></label>
<label for=mail>E-mail</label><input id=mail type=email>
<input type=search aria-label="Find a kettle">
<label>Age <input type=number></label>
<label>Secret <input type=password oninput="document.title = 'length ' + value.length"></label>
<label>City <input list=cities onblur="echo.textContent = 'city left'"></label><datalist id=cities><option>Ulm</datalist>
<textarea placeholder="Your message"></textarea>
<div contenteditable aria-label="Note" oninput="echo.textContent = 'note ' + textContent">before</div>
<label>Twice <input></label><label>Twice <input></label>
<label>Off <input disabled></label><label>Fixed <input readonly></label>
<label style="display:none">Hidden <input></label>
<div style="position:relative"><label>Under <input></label><div style="position:absolute;inset:0;background:white"></div></div>
<label>Sends <input oninput="form2.requestSubmit()" form=form2></label><form id=form2 method=get action=/sent></form>
<label>Leaves <input oninput="location.href='/left'"></label>
<div id=host></div>
<form method=get action=/results><label>Query <input name=q></label><button>Search</button></form>
<form method=post action=/posted><button>Order now</button></form>
<button type=button onclick="echo.textContent='pressed'">Plain</button>
<button type=button disabled>Greyed</button>
<button type=button onclick="location.href='http://localhost:1/x'">Out</button>
<div role=tab tabindex=0 aria-selected=false onclick="setAttribute('aria-selected', 'true')">Second tab</div>
<a href=/other>Other page</a> <a href=http://localhost:1/>Off list</a>
<script>
  const root = host.attachShadow({mode: 'open'});
  root.innerHTML = '<label>Inside <input></label>';
  root.querySelector('input').oninput = (event) => { echo.textContent = 'shadow ' + event.target.value; };
</script>"#;

struct World {
    server: Server,
    session: Arc<dyn Session>,
}

impl World {
    async fn open() -> Self {
        let server = Server::start(|asked| match asked.target.as_str() {
            "/" => Reply::of("text/html", PAGE),
            "/other" => Reply::of("text/html", "<title>Other</title><p>The other page."),
            "/gone" => Reply::status(404),
            path if path.starts_with("/results") => {
                Reply::of("text/html", "<title>Results</title><p>Results.")
            }
            _ => Reply::of("text/html", "<title>Elsewhere</title><p>Elsewhere."),
        })
        .await
        .unwrap();
        let origin = server.origin();
        let factory = CdpSessionFactory::new(SessionOptions::default());
        let request = OpenRequest {
            scope: Scope::new("user", "session", "tab").unwrap(),
            start: CanonicalUrl::parse(&origin).unwrap(),
            access: AccessList::parse([origin.as_str()]).unwrap(),
            actions: ActionPolicy::read_only(),
            reach: Reach::Document,
        };
        let session = factory.open(request, BOUND).await.unwrap();
        Self { server, session }
    }

    fn acts(&self) -> &dyn HostActs {
        self.session.host_acts().unwrap()
    }

    async fn fill(&self, role: FieldRole, name: &str, text: &str) -> HostReceipt {
        let field = Field {
            role,
            name: AccessibleName::new(name).unwrap(),
        };
        let text = TypedText::new(text).unwrap();
        self.acts().fill(&field, &text, BOUND).await.unwrap()
    }

    async fn press(&self, role: Role, name: &str) -> HostReceipt {
        let control = Control {
            role,
            name: AccessibleName::new(name).unwrap(),
        };
        self.acts().press(&control, BOUND).await.unwrap()
    }

    async fn navigate(&self, to: &str) -> HostReceipt {
        let to = CanonicalUrl::parse(to).unwrap();
        self.acts().navigate(&to, BOUND).await.unwrap()
    }

    async fn text(&self) -> String {
        self.session.observe(BOUND).await.unwrap().text.clone()
    }

    async fn title(&self) -> String {
        self.session.observe(BOUND).await.unwrap().title.clone()
    }

    async fn close(self) {
        self.session.close(Duration::from_secs(2)).await;
    }
}

const CHANGED: HostReceipt = HostReceipt::Applied(AppliedEffect::Changed);

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_filled_as_a_person_fills_them() {
    let world = World::open().await;
    assert_eq!(
        world
            .fill(FieldRole::TextBox, "Full name", "Ada L\u{f6}we")
            .await,
        CHANGED
    );
    let text = world.text().await;
    assert!(text.contains("typed Ada L\u{f6}we, left"), "{text}");
    assert_eq!(
        world.fill(FieldRole::TextBox, "Full name", "").await,
        CHANGED
    );
    let text = world.text().await;
    assert!(text.contains("typed , left"), "{text}");
    for (role, name, typed) in [
        (FieldRole::TextBox, "E-mail", "ada@example.org"),
        (FieldRole::SearchBox, "Find a kettle", "9000"),
        (FieldRole::TextBox, "Age", "36"),
        (FieldRole::TextBox, "Your message", "two\nlines"),
        (FieldRole::ComboBox, "City", "Ulm"),
    ] {
        assert_eq!(world.fill(role, name, typed).await, CHANGED, "{name}");
    }
    let text = world.text().await;
    assert!(!text.contains("city left"), "suggestions stay open: {text}");
    assert_eq!(
        world.fill(FieldRole::TextBox, "Secret", "hunter2").await,
        CHANGED
    );
    assert_eq!(world.title().await, "length 7");
    assert_eq!(
        world.fill(FieldRole::TextBox, "Note", "after").await,
        CHANGED
    );
    assert!(world.text().await.contains("note after"));
    assert_eq!(
        world.fill(FieldRole::TextBox, "Inside", "deep").await,
        CHANGED
    );
    assert!(world.text().await.contains("shadow deep"));
    // A number field takes no letters: what stood there is gone, and no letter came.
    assert_eq!(world.fill(FieldRole::TextBox, "Age", "old").await, CHANGED);
    let again = world.fill(FieldRole::TextBox, "Age", "old").await;
    assert_eq!(again, HostReceipt::Applied(AppliedEffect::NoEffect));
    assert_eq!(
        world
            .server
            .asked()
            .iter()
            .filter(|asked| asked.target != "/")
            .count(),
        0
    );
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_one_free_field_is_refused() {
    let world = World::open().await;
    for (role, name, refusal) in [
        (FieldRole::TextBox, "Nowhere", HostRefusal::NotFound),
        (FieldRole::SearchBox, "Full name", HostRefusal::NotFound),
        (FieldRole::TextBox, "Hidden", HostRefusal::NotFound),
        (FieldRole::TextBox, "Twice", HostRefusal::Ambiguous),
        (FieldRole::TextBox, "Off", HostRefusal::Disabled),
        (FieldRole::TextBox, "Fixed", HostRefusal::Disabled),
        (FieldRole::TextBox, "Under", HostRefusal::Covered),
        (FieldRole::TextBox, "Sends", HostRefusal::Diverted),
        (FieldRole::TextBox, "Leaves", HostRefusal::Diverted),
    ] {
        let receipt = world.fill(role, name, "text").await;
        assert_eq!(receipt, HostReceipt::Refused(refusal), "{name}");
    }
    assert_eq!(world.title().await, "Form");
    assert_eq!(
        world
            .server
            .asked()
            .iter()
            .filter(|asked| asked.target != "/")
            .count(),
        0
    );
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controls_are_pressed_and_lead_where_they_may() {
    let world = World::open().await;
    assert_eq!(world.press(Role::Button, "Plain").await, CHANGED);
    assert!(world.text().await.contains("pressed"));
    assert_eq!(world.press(Role::Tab, "Second tab").await, CHANGED);
    for (role, name, refusal) in [
        (Role::Tab, "Plain", HostRefusal::NotFound),
        (Role::Button, "Greyed", HostRefusal::Disabled),
        (Role::Button, "Out", HostRefusal::Diverted),
        (Role::Button, "Order now", HostRefusal::Diverted),
        (Role::Link, "Off list", HostRefusal::OffList),
    ] {
        let receipt = world.press(role, name).await;
        assert_eq!(receipt, HostReceipt::Refused(refusal), "{name}");
    }
    assert_eq!(
        world.fill(FieldRole::TextBox, "Query", "a kettle").await,
        CHANGED
    );
    let receipt = world.press(Role::Button, "Search").await;
    assert_eq!(receipt, HostReceipt::Applied(AppliedEffect::Navigated));
    assert_eq!(world.title().await, "Results");
    let asked: Vec<String> = world
        .server
        .asked()
        .into_iter()
        .map(|asked| format!("{} {}", asked.method, asked.target))
        .collect();
    assert_eq!(asked, ["GET /", "GET /results?q=a+kettle"]);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_goes_where_the_list_allows() {
    let world = World::open().await;
    let origin = world.server.origin();
    let receipt = world.navigate(&format!("{origin}/other")).await;
    assert_eq!(receipt, HostReceipt::Applied(AppliedEffect::Navigated));
    assert_eq!(world.title().await, "Other");
    let receipt = world.navigate("http://localhost:1/").await;
    assert_eq!(receipt, HostReceipt::Refused(HostRefusal::OffList));
    assert_eq!(world.title().await, "Other");
    let receipt = world.navigate(&format!("{origin}/#part")).await;
    assert_eq!(receipt, HostReceipt::Applied(AppliedEffect::Navigated));
    world.session.close(Duration::from_secs(2)).await;
    let to = CanonicalUrl::parse(&origin).unwrap();
    let closed = world.acts().navigate(&to, BOUND).await;
    assert!(closed.is_err(), "{closed:?}");
}
