  // What may be clicked: found during the walk, named, placed, and made unique after it.
  const RAW_MOST = 3000;

  const LINK = "link";
  const ROLES = {
    __proto__: null,
    button: "button", tab: "tab", switch: "switch", checkbox: "switch", menuitem: "menu_item",
    menuitemradio: "menu_item", menuitemcheckbox: "menu_item",
  };

  /** What candidates stand under: a heading and the context inside it, or a region's name. */
  const NO_HEADING = { words: "", el: null, ctx: null };

  const newCollection = (options) => ({
    options,
    found: [],
    refused: 0,
    omitted: 0,
    heading: NO_HEADING,
  });

  /** The address of a link; null when the node is none. */
  const addressOf = (el, tag) => {
    if (tag !== "a") return null;
    if (namespaceOf.call(el) === HTML) return hasAttribute.call(el, "href") ? hrefOf.call(el) : null;
    const raw = getAttribute.call(el, "href") ?? getAttribute.call(el, "xlink:href");
    if (raw === null) return null;
    try {
      return new URL(raw, baseUriOf.call(el)).href;
    } catch {
      return "";
    }
  };

  const roleOf = (el, tag) => {
    const given = getAttribute.call(el, "role");
    if (given !== null) {
      const role = ROLES[cut(given, 60).trim().split(/\s+/)[0].toLowerCase()];
      if (role !== undefined) return role;
    }
    if (tag === "button" || tag === "summary") return "button";
    if (tag === "input") {
      const type = inputTypeOf.call(el);
      if (type === "button" || type === "submit" || type === "reset" || type === "image") return "button";
      if (type === "checkbox") return "switch";
    }
    return null;
  };

  /** Whether a click would hand a form over, whatever its method. */
  const submits = (el, tag) => {
    if (tag === "button") {
      const type = buttonTypeOf.call(el);
      return type !== "button" && buttonFormOf.call(el) !== null;
    }
    if (tag === "input") {
      const type = inputTypeOf.call(el);
      return (type === "submit" || type === "image" || type === "reset") && inputFormOf.call(el) !== null;
    }
    return false;
  };

  const begin = (el, tag, style, ctx, job) => {
    const { collect } = job;
    const href = addressOf(el, tag);
    let role = href === null ? null : LINK;
    if (role === null && collect.options.controls) {
      role = roleOf(el, tag);
      if (role === null) return null;
    } else if (role === null) {
      return null;
    }
    const entry = { el, tag, role, href, box: null, seen: false, text: false, inWindow: false };
    if (style.backgroundImage !== "none" || role !== LINK) {
      job.open.push(entry);
      seenPicture(el, style, ctx, job);
    } else job.open.push(entry);
    return entry;
  };

  const end = (entry, el, style, ctx, job) => {
    job.open.pop();
    const { collect } = job;
    const { tag, role, href } = entry;
    if (!entry.seen) {
      const mine = role === LINK ? emptyLinkBox(el, style, ctx) : null;
      if (mine === null) return;
      if (givenName(el) === "" && attributeLine(el, "title", LABEL_MOST) === "" && titleInside(el) === "") {
        collect.omitted += 1;
        return;
      }
      entry.box = mine;
      entry.inWindow = shows(mine, ctx.win);
    }
    if (role === LINK ? !linkOffered(el, href, collect.options) : submits(el, tag)) {
      collect.refused += 1;
      return;
    }
    if (role === LINK && isJump(el, href, job, ctx)) return;
    const off = disabled(el, tag) || closest.call(el, "[inert]") !== null || behindModal(el, collect.options);
    if (off || (job.windowOnly && !entry.inWindow) || collect.found.length >= RAW_MOST) {
      collect.omitted += 1;
      return;
    }
    const label = labelOf(el, tag, href, { ctx, text: entry.text, survey: job.survey });
    if (label === "") {
      collect.omitted += 1;
      return;
    }
    let place = "in_view";
    if (!entry.inWindow) {
      const mine = entry.box ?? box(wholeBox(el), ctx.ox, ctx.oy);
      const middle = (mine.t + mine.b) / 2;
      place = middle <= (ctx.win.t + ctx.win.b) / 2 ? "above" : "below";
    }
    const { heading } = collect;
    collect.found.push({ el, tag, role, label, href, place, heading, context: heading.words, ctx, box: entry.box });
  };

  /** The least size of a link that shows no text or picture of its own, each way in CSS pixels. */
  const LEAST_LINK = 4;
  /**
   * Where a link lies that shows nothing we can read: one drawn by the style sheet, such as an icon,
   * or laid over a whole card; null when a reader can't point at it.
   */
  const emptyLinkBox = (el, style, ctx) => {
    if (style.visibility !== "visible") return null;
    const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
    return width(mine) >= LEAST_LINK && height(mine) >= LEAST_LINK && shows(mine, ctx.clip) ? mine : null;
  };

  const wholeBox = (el) => {
    const rect = boxOf.call(el);
    if (rect.width > 0 || rect.height > 0) return rect;
    selectContents.call(range, el);
    return rangeBox.call(range);
  };

  const labelOf = (el, tag, href, walked) => nameOf(el, tag, walked) || (href === null ? "" : addressName(href));

  const linkOffered = (el, href, options) => {
    if (hasAttribute.call(el, "download") || hasAttribute.call(el, "ping")) return false;
    if (!href.startsWith("http://") && !href.startsWith("https://")) return false;
    for (const origin of options.origins) if (href.startsWith(origin + "/")) return true;
    return false;
  };

  /**
   * A link to a place within its own document. It changes nothing that a look at the whole
   * document would not show already; a look at the window keeps it while its goal is not in view.
   * A fragment that names no element may be a page's own way to tell its views apart: kept.
   */
  const isJump = (el, href, job, ctx) => {
    const hash = href.indexOf("#");
    if (hash < 0) return false;
    const of = ownerDocumentOf.call(el);
    const own = addressOfDocument(of);
    const ownHash = own.indexOf("#");
    if (href.slice(0, hash) !== (ownHash < 0 ? own : own.slice(0, ownHash))) return false;
    const name = href.slice(hash + 1);
    if (name === "" || name.toLowerCase() === "top") return !job.windowOnly || ctx.win.t <= ctx.clip.t + 4;
    const goal = goalOf(of, name);
    if (goal === null) return false;
    return !job.windowOnly || shows(box(boxOf.call(goal), ctx.ox, ctx.oy), ctx.win);
  };
  const documentUrlOf = read(D, "URL");
  const addressOfDocument = (of) => documentUrlOf.call(of);
  const byNameOf = D.getElementsByName;
  const goalOf = (of, name) => {
    let plain = name;
    try {
      plain = decodeURIComponent(name);
    } catch {
      // Not encoded text: taken as it stands.
    }
    const found = documentById.call(of, name) ?? documentById.call(of, plain);
    if (found !== null) return found;
    for (const named of byNameOf.call(of, plain)) if (localNameOf.call(named) === "a") return named;
    return null;
  };

  const disabled = (el, tag) =>
    getAttribute.call(el, "aria-disabled") === "true" ||
    (tag !== "a" && matches.call(el, ":disabled"));

  const behindModal = (el, options) => options.modal !== null && !contains.call(options.modal, el);

  /** What stands for the name of a link that has none: the end of its address. */
  const addressName = (href) => {
    try {
      const url = new URL(href);
      const parts = url.pathname.split("/").filter((part) => part !== "");
      return line(parts.length === 0 ? url.host : decodeURIComponent(parts[parts.length - 1]), LABEL_MOST);
    } catch {
      return "";
    }
  };

  const LANDMARKS = { __proto__: null, nav: "navigation", footer: "footer", aside: "aside" };
  const SECTIONS = new Set(["section", "article", "dialog", "details", "form", "fieldset"]);
  const HEADINGS = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "summary", "caption", "legend"]);

  const enterRegion = (el, tag, job) => {
    const { collect } = job;
    const mark = LANDMARKS[tag];
    if (mark !== undefined) {
      const before = collect.heading;
      collect.heading = { ...NO_HEADING, words: attributeLine(el, "aria-label", 80) || mark };
      return before;
    }
    return SECTIONS.has(tag) ? collect.heading : null;
  };

  const leaveRegion = (_el, before, job) => {
    job.collect.heading = before;
  };

  /** A heading that shows no text leaves candidates under the last one that does. */
  const noteHeading = (el, tag, ctx, job) => {
    if (!HEADINGS.has(tag) && getAttribute.call(el, "role") !== "heading") return;
    const words = seenText(el, ctx, 120, job.survey);
    if (words !== "") job.collect.heading = { words, el, ctx };
  };

  const headingCovered = ({ el, ctx }, job) => {
    if (el === null) return false;
    // The letters take less room than the box they stand in.
    selectContents.call(range, el);
    return covered(el, box(rangeBox.call(range), ctx.ox, ctx.oy), ctx.layer, ctx.frame, job);
  };

  /** Links of an image map that is in use are not offered; they are counted. */
  const countAreaLinks = (image, job) => {
    const name = getAttribute.call(image, "usemap").trim();
    if (!name.startsWith("#")) return;
    const root = getRootNode.call(image);
    const maps = nodeTypeOf.call(root) === 9 ? documentQuery.call(root, "map[name]") : fragmentQuery.call(root, "map[name]");
    for (const map of maps) {
      if (getAttribute.call(map, "name") !== name.slice(1)) continue;
      job.collect.omitted += queryIn.call(map, "area[href]").length;
      return;
    }
  };

  /** One entry for each label and address, the first seen; twins are told apart by their rows. */
  const unique = (collect, job) => {
    const kept = [];
    const known = new Map();
    const labels = new Map();
    for (const entry of collect.found) {
      if (job.covers.length > 0) {
        const mine = entry.box ?? box(wholeBox(entry.el), entry.ctx.ox, entry.ctx.oy);
        if (covered(entry.el, mine, entry.ctx.layer, entry.ctx.frame, job)) {
          collect.omitted += 1;
          continue;
        }
        if (headingCovered(entry.heading, job)) entry.context = "";
      }
      const key = entry.role + "\n" + entry.label + "\n" + (entry.href ?? known.size);
      const first = known.get(key);
      if (first !== undefined) {
        collect.omitted += 1;
        if (first.place !== "in_view" && entry.place === "in_view") Object.assign(first, entry);
        continue;
      }
      known.set(key, entry);
      labels.set(entry.label, (labels.get(entry.label) ?? 0) + 1);
      kept.push(entry);
    }
    let looked = 0;
    const contexts = new Map();
    for (const entry of kept) {
      if (labels.get(entry.label) < 2 || (looked += 1) > 200) continue;
      const row = closest.call(entry.el, "tr,li,dd,[role=row],[role=listitem],article,p,figure");
      const around = row === null ? "" : seenText(row, contextOf(row, contexts), 160, job.survey);
      if (around !== "" && around !== entry.label) {
        entry.context = line(entry.context === "" ? around : entry.context + ": " + around, 240);
      }
    }
    return kept;
  };
