  // What happens on the page: changes, navigations, forms about to be sent. Listeners are set before
  // any script of the page, on the window, so that the page can't stop what they hear.
  const WATCHED = [
    "href", "src", "class", "style", "hidden", "open", "inert", "disabled", "checked", "value", "alt",
    "title", "role", "aria-label", "aria-labelledby", "aria-hidden", "aria-expanded", "aria-checked",
    "aria-selected", "aria-pressed", "aria-disabled", "target", "download",
  ];
  /** A node that changed this often during one rest is taken for a ticker and no longer waited for. */
  const TICKS = 12;

  /** A node that changed this often in its life is no news when it changes again. */
  const OLD_NEWS = 40;

  let changes = 0;
  let news = 0;
  const life = new WeakMap();
  let lastFresh = 0;
  let ticks = new WeakMap();
  let ticking = false;
  const waiters = new Set();

  const wake = (what) => {
    for (const waiter of [...waiters]) waiter(what);
  };

  const observer = new MutationObserver((records) => {
    changes += 1;
    let fresh = false;
    let isNews = false;
    let last = null;
    for (const record of records) {
      const { target } = record;
      if (target === last) continue;
      last = target;
      const count = (ticks.get(target) ?? 0) + 1;
      ticks.set(target, count);
      if (count <= TICKS) fresh = true;
      const all = (life.get(target) ?? 0) + 1;
      life.set(target, all);
      if (all <= OLD_NEWS) isNews = true;
    }
    if (isNews) news += 1;
    if (fresh) lastFresh = now();
    else ticking = true;
    wake("changed");
    if (isNews) wake("news");
  });
  const observe = MutationObserver.prototype.observe;
  const observeNode = (node) =>
    observe.call(observer, node, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: WATCHED,
    });

  const attended = new WeakSet();
  const attendRoot = (root) => {
    if (attended.has(root)) return;
    attended.add(root);
    observeNode(root);
  };
  /** Again for one that is attended already: a page that opens its document anew ends all listening. */
  const attendDocument = (of) => {
    const view = viewOf.call(of);
    if (view !== null) attendWindow(view);
    if (attended.has(of)) return;
    attended.add(of);
    if (readyStateOf.call(of) !== "loading" || of === doc) observeNode(of);
    else listen.call(view ?? of, "DOMContentLoaded", () => observeNode(of), { capture: true, once: true });
  };
  const attendWindow = (view) => {
    listen.call(view.navigation, "navigate", onNavigate);
    listen.call(view, "submit", onSubmit, { capture: true });
    if (view !== globalThis) return;
    listen.call(view, "DOMContentLoaded", onParsed, { capture: true });
    listen.call(view, "load", onLoaded, { capture: true });
  };

  // Not a timer: those are numbered for all worlds together, so that a page can stop ours and count them.
  const ours = globalThis.scheduler;
  const later = Scheduler.prototype.postTask;

  /** Waits until `test` answers something for what is heard, or the time is over. */
  const hear = (ms, test) =>
    new Promise((resolve) => {
      const done = (answer) => {
        waiters.delete(waiter);
        resolve(answer);
      };
      const waiter = (what) => {
        const answer = test(what);
        if (answer !== undefined) done(answer);
      };
      waiters.add(waiter);
      later.call(ours, () => done(null), { delay: ms });
    });

  /** When the document was parsed, or when this world came to know it; 0 before. */
  let parsedAt = readyStateOf.call(doc) === "loading" ? 0 : now();
  const onParsed = (event) => {
    if (!event.isTrusted) return;
    parsedAt = now();
    attendDocument(doc);
    wake("parsed");
  };
  const onLoaded = (event) => {
    if (event.isTrusted) wake("loaded");
  };
