  // Acting: the check of a permit, the click with its destination known before it leaves, scrolling.

  /** What is expected while an action runs; null otherwise. */
  let armed = null;
  /** How long in milliseconds an action of which nothing has come yet may still lead somewhere. */
  const LATE_MOST = 3000;

  const expecting = (more) => ({
    href: null, allow: [], host: false, navigation: null, moved: () => false,
    accepted: null, vetoed: false, loose: false, late: false, until: 0, news: 0, ...more,
  });

  /**
   * An action that came to nothing yet may still lead only where it may. So may the click of a link,
   * whatever came of it: what was stopped once is tried again, and a first change says nothing of
   * what follows. Any other is over.
   */
  const release = (mine, came) => {
    if (armed !== mine) return;
    if (came?.done === "nothing" || mine.href !== null) {
      mine.late = true;
      mine.until = now() + LATE_MOST;
      mine.news = news;
    } else {
      armed = null;
    }
  };

  const withoutHash = (url) => {
    const at = url.indexOf("#");
    return at < 0 ? url : url.slice(0, at);
  };

  /** Whether the list of documents allows an address. Stricter than the list where escapes differ. */
  const permitted = (url, allow) => {
    if (!url.startsWith("http://") && !url.startsWith("https://")) return false;
    const plain = withoutHash(url);
    return allow.some(([kind, text]) => (kind === "exact" ? plain === text : plain.startsWith(text)));
  };

  const placeOf = (url) => url.split(/[?#]/, 1)[0];

  /** Whether a navigation hands a form over, also one that only asks: its fields stand in the address. */
  const handsOver = (event) => {
    if (event.formData !== null) return true;
    const from = event.sourceElement;
    if (from instanceof Element) {
      const tag = localNameOf.call(from);
      if (tag === "form" || tag === "button" || tag === "input") return true;
    }
    if (from !== undefined || armed.href !== null) return false;
    // A browser that does not say from where it came.
    const to = placeOf(event.destination.url);
    const leads = (form) => {
      const action = getAttribute.call(form, "action") ?? "";
      return URL.canParse(action, baseUriOf.call(form)) && placeOf(new URL(action, baseUriOf.call(form)).href) === to;
    };
    return [...documentQuery.call(doc, "form")].some(leads);
  };

  const onNavigate = (event) => {
    // An event that the page made itself leads nowhere and says nothing.
    if (!event.isTrusted) return;
    wake("navigate");
    if (armed === null) return;
    if (armed.late) {
      if (now() > armed.until) armed = null;
      // By then other frames may go about their own business.
      if (armed === null || (event.target !== globalThis.navigation && event.target !== armed.navigation)) return;
    }
    const url = event.destination.url;
    const same = event.destination.sameDocument || event.hashChange;
    const wanted = armed.href !== null && withoutHash(url) === withoutHash(armed.href);
    const ok =
      event.downloadRequest === null && (armed.host ? event.formData === null : !handsOver(event)) &&
      (wanted || ((same || armed.href === null) && permitted(url, armed.allow)));
    // Such as the place scrolled to, kept in the history before a link is followed: not where it leads.
    if (ok && same && !wanted && armed.href !== null && placeOf(url) === placeOf(location.href) && placeOf(url) !== placeOf(armed.href)) return;
    if (ok || !event.cancelable) {
      armed.accepted = { event, same, own: event.target === globalThis.navigation };
      if (!ok) armed.loose = true;
    } else {
      event.preventDefault();
      armed.vetoed = true;
    }
    wake("decided");
  };

  const onSubmit = (event) => {
    if (!event.isTrusted) return;
    // The host may send a form by its own hand; where it goes is checked when it leaves.
    if (armed === null || armed.host || (armed.late && now() > armed.until)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    armed.vetoed = true;
    wake("decided");
  };

  /** Why a permit's page is no longer the one that stands here; null while it is. */
  const staleGround = (permit) => {
    if (permit.epoch !== epoch || document !== doc) return { stale: "document" };
    if (permit.url !== cut(clean(location.href), 20_000)) return { stale: "url" };
    return null;
  };

  /** The node that a permit's guard was made of, `record` of which is now as then; or why it is none. */
  const guarded = (permit, id, record) => {
    const stale = staleGround(permit);
    if (stale !== null) return stale;
    const el = nodes.get(id)?.deref();
    if (el === undefined || !isConnectedOf.call(el)) return { stale: "target_gone" };
    if (viewOf.call(ownerDocumentOf.call(el)) === null) return { stale: "target_gone" };
    const known = guards.get(permit.id);
    if (known === undefined || known.name !== permit.guard) return { stale: "target_changed" };
    return known.record === record(el) ? { el } : { stale: "target_changed" };
  };

  /** The node of a permit; or why the permit no longer holds. */
  const check = (permit) => {
    let tag;
    let href;
    const found = guarded(permit, permit.id, (el) => {
      tag = localNameOf.call(el);
      href = addressOf(el, tag);
      return recordOf(el, tag, href, labelOf(el, tag, href));
    });
    const { el } = found;
    if (el === undefined) return found;
    if (disabled(el, tag) || closest.call(el, "[inert]") !== null) return { rejected: "disabled" };
    if (submits(el, tag)) return { rejected: "unsupported" };
    return { el, tag, href };
  };

  const toWindow = { block: "center", inline: "center", behavior: "instant" };

  /** Brings a node under the pointer: "" or why that can't be. */
  const reach = (el, href) => {
    let why = whyNot(el, href);
    for (const block of ["center", "start", "end"]) {
      if (why === "") break;
      scrollIntoView.call(el, { ...toWindow, block });
      why = whyNot(el, href);
    }
    return why;
  };

  /** Where a link opens: true when it is not the frame it stands in. */
  const opensElsewhere = (el) => {
    const of = ownerDocumentOf.call(el);
    let target = getAttribute.call(el, "target");
    if (target === null) {
      const base = queryOne.call(of, "base[target]");
      target = base === null ? "" : getAttribute.call(base, "target");
    }
    target = target.trim().toLowerCase();
    if (target === "" || target === "_self") return false;
    return !(of === doc && (target === "_top" || target === "_parent"));
  };

  const places = () => {
    const at = mainScroller();
    return at === null ? 0 : scrollTopOf.call(at);
  };

  const click = async (permit) => {
    const checked = check(permit);
    const { el, tag, href } = checked;
    if (el === undefined) return JSON.stringify(checked);
    const why = reach(el, href);
    if (why !== "") {
      const [rejected, ...by] = why.split(" ");
      return JSON.stringify({ rejected, by: by.join(" ") });
    }
    return JSON.stringify(await clickOn(el, tag, { ...permit, href, host: false }));
  };

  /** Clicks a node that leads to `href` or nowhere; what came of it. */
  const clickOn = async (el, tag, { href, allow, host, patience, off }) => {
    const before = changes;
    const record = recordOf(el, tag, addressOf(el, tag), "");
    const place = places();
    const mine = expecting({
      href, allow, host, navigation: viewOf.call(ownerDocumentOf.call(el)).navigation,
      moved: () => places() !== place || !isConnectedOf.call(el) || recordOf(el, tag, addressOf(el, tag), "") !== record,
    });
    attendDocument(doc);
    attendDocument(ownerDocumentOf.call(el));
    armed = mine;
    let came = null;
    try {
      if (href !== null && opensElsewhere(el)) globalThis.location.assign(href);
      else if (el instanceof HTMLElement || namespaceOf.call(el) === HTML) nativeClick.call(el);
      else dispatchTo.call(el, new MouseEvent("click", { bubbles: true, cancelable: true, composed: true }));
      if (off) return { done: href === null ? "changed" : "navigating", url: href ?? "", own: true, href };
      came = await outcome(mine, patience, () => changes !== before || mine.moved());
      return came;
    } finally {
      release(mine, came);
    }
  };

  /** What came of an action: its navigation as soon as it is known, else what changed. */
  const outcome = async (mine, patience, has_changed) => {
    const { href } = mine;
    const decided = () => {
      if (mine.accepted !== null && !mine.accepted.event.defaultPrevented) {
        const { event, same, own } = mine.accepted;
        return { done: same ? "same_document" : "navigating", url: event.destination.url, own, loose: mine.loose, href };
      }
      return mine.vetoed ? { done: "vetoed" } : null;
    };
    const end = now() + patience;
    for (;;) {
      const known = decided();
      if (known !== null) return known;
      const left = end - now();
      const changed = has_changed();
      if (left <= 0) return { done: changed ? "changed" : "nothing", href };
      const wait = changed ? Math.max(0, 30 - (now() - lastFresh)) : left;
      if (changed && wait <= 0) return { done: "changed", href };
      await hear(Math.min(wait + 1, left), (what) => (what === "decided" || (what === "changed" && !changed) ? true : undefined));
    }
  };

  /** Expects an action that comes from outside of this world, such as a key. */
  const arm = (permit) => {
    const stale = staleGround(permit);
    if (stale !== null) return JSON.stringify(stale);
    const place = places();
    const before = changes;
    attendDocument(doc);
    armed = expecting({ allow: permit.allow, moved: () => places() !== place, before });
    return JSON.stringify({ done: "armed" });
  };
  /** Says what came of an action that was expected, or of one that had come to nothing before. */
  const disarm = async (options) => {
    const mine = armed;
    if (mine === null || options.off) return JSON.stringify({ done: "nothing" });
    const late = mine.late;
    let came = null;
    try {
      const changed = () => (late ? news !== mine.news : changes !== mine.before) || mine.moved();
      came = await outcome(mine, options.patience, changed);
      return JSON.stringify(came);
    } finally {
      if (!late) release(mine, came);
    }
  };

  /** Whether the page is the one that was judged. What comes next is an action from outside. */
  const ground = (permit) => {
    const stale = staleGround(permit);
    if (stale === null) armed = null;
    return JSON.stringify(stale ?? { done: "armed" });
  };

  const scroll = (permit) => {
    const stale = staleGround(permit);
    if (stale !== null) return JSON.stringify(stale);
    const at = mainScroller();
    if (at === null) return JSON.stringify({ moved: false });
    return scrollBy(at, at === scrollerOf.call(doc) ? innerHeight : clientHeightOf.call(at), permit.pages, permit.down);
  };

  /** Scrolls by so many of these heights. */
  const scrollBy = (at, height, pages, down) => {
    const before = scrollTopOf.call(at);
    // A tenth of what is seen stays in view, so that no line is lost between two views.
    const step = Math.round(height * 0.9) * pages * (down ? 1 : -1);
    scrollElementBy.call(at, { top: step, behavior: "instant" });
    return JSON.stringify({ moved: Math.abs(scrollTopOf.call(at) - before) >= 1 });
  };
