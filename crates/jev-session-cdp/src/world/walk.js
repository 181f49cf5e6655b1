  // One walk over the page as it is drawn. It writes text into a sink and, when asked, collects
  // candidates. A node that can't be read is dropped and counted.
  const MAX_DEPTH = 600;
  const MAX_FRAMES_DEEP = 4;
  const EVERYWHERE = { l: -1e7, t: -1e7, r: 1e7, b: 1e7 };
  const SKIPPED = new Set([
    "script", "style", "template", "head", "meta", "link", "title", "base", "desc",
    "defs", "symbol", "clippath", "clipPath", "mask", "metadata", "datalist", "optgroup", "option",
    "source", "track", "param", "map", "area", "audio", "colgroup", "col", "noframes",
  ]);

  const newJob = (sink, more) => ({
    sink,
    /** Text and candidates of the window only. */
    windowOnly: false,
    collect: null,
    /** The candidates whose contents are being walked. */
    open: [],
    nodes: 250_000,
    until: now() + 1500,
    bad: 0,
    frames: 0,
    closedHosts: new Set(),
    covers: [],
    survey: more.survey ?? newSurvey(),
    /** Which node each piece of text came from; kept only when candidates are collected. */
    written: [],
    ...more,
  });

  const newContext = (of, ox, oy) => {
    const win = windowBox(of, ox, oy);
    const clip = documentBox(of, ox, oy);
    return {
      ox, oy, clip, win, absClip: clip, absWin: win, frame: win,
      ground: canvasOf(of), unsure: false, opacity: 1, deep: 0, layer: ROOT_LAYER,
    };
  };
  const NEUTRAL = {
    ox: 0, oy: 0, clip: EVERYWHERE, win: EVERYWHERE, absClip: EVERYWHERE, absWin: EVERYWHERE,
    frame: EVERYWHERE, ground: UNKNOWN_GROUND, unsure: false, opacity: 1, deep: 0, layer: ROOT_LAYER,
  };

  /** Whether the walk has to stop; what is left then counts as one bad node. */
  const spent = (job) => {
    if (job.nodes <= 0) return true;
    job.nodes -= 1;
    if ((job.nodes & 511) === 0 && now() > job.until) job.nodes = 0;
    return false;
  };

  const visit = (el, ctx, job, depth) => {
    if (spent(job)) return;
    if (depth > MAX_DEPTH) {
      job.bad += 1;
      return;
    }
    const tag = localNameOf.call(el);
    if (SKIPPED.has(tag)) return;
    const style = css(el);
    const display = style.display;
    if (display === "none") return;
    if (display === "") {
      // A child of a host whose shadow tree has no place for it.
      const host = parentElementOf.call(el);
      if (host !== null && shadowRootOf.call(host) === null) job.closedHosts.add(host);
      return;
    }
    if (hidesAll(style, el)) return;
    const inner = descend(el, tag, style, display, ctx);
    if (inner === null) return;
    if (job.collect !== null && inner.layer !== ctx.layer) noteCover(el, style, style.position, inner, job);

    const { sink, collect } = job;
    const layout = LAYOUTS[display] ?? BLOCK;
    if (layout === BLOCK) breakLine(sink);
    else if (layout === ATOM) sink.edge = true;
    else if (layout === TABLE_CELL) beginCell(sink, el);
    const entry = collect === null ? null : begin(el, tag, style, inner, job);
    const place = collect === null ? null : enterRegion(el, tag, job);

    const draw = REPLACED[tag];
    if (draw !== undefined) draw(el, style, inner, job, depth);
    else if (layout === INLINE || style.contentVisibility !== "hidden") children(el, tag, style, display, inner, job, depth);

    if (place !== null) leaveRegion(el, place, job);
    if (collect !== null) noteHeading(el, tag, inner, job);
    if (entry !== null) end(entry, el, style, inner, job);
    if (layout === BLOCK) breakLine(sink);
    else if (layout === ATOM) sink.edge = true;
    else if (layout === TABLE_CELL) sink.gap = Math.max(sink.gap, CELL);
  };

  const INLINE = 0;
  const ATOM = 1;
  const TABLE_CELL = 2;
  const BLOCK = 3;
  const LAYOUTS = {
    inline: INLINE, contents: INLINE, ruby: INLINE, "ruby-text": ATOM, math: INLINE,
    "inline-block": ATOM, "inline-flex": ATOM, "inline-grid": ATOM, "inline-table": ATOM,
    "table-cell": TABLE_CELL,
  };

  /** A cell begins with a tab instead of a line, unless it is the first of its row. */
  const beginCell = (sink, el) => {
    let before = el;
    do before = previousSiblingOf.call(before);
    while (before !== null && nodeTypeOf.call(before) !== 1);
    if (before !== null && sink.parts.length > 0) sink.gap = CELL;
    sink.last = null;
    sink.fresh = true;
  };
  const previousSiblingOf = read(N, "previousSibling");

  /** The context inside a node; null when nothing in it can be seen. */
  const descend = (el, tag, style, display, ctx) => {
    const position = style.position;
    let { clip, win, absClip, absWin, ground, unsure, opacity, layer } = ctx;
    if (position === "absolute") {
      if (style.clip !== "auto" && oldClipHides(style.clip)) return null;
      clip = absClip;
      win = absWin;
      // It may have been moved from its ancestors' ground to another.
      unsure = true;
    } else if (position === "fixed") {
      if (style.clip !== "auto" && oldClipHides(style.clip)) return null;
      clip = ctx.frame;
      win = ctx.frame;
      unsure = true;
    }
    const own = style.opacity;
    if (own !== "1") {
      opacity *= +own;
      if (opacity < LEAST_OPACITY) return null;
    }
    // None of these works on an inline box.
    const boxed = display !== "inline" && display !== "contents";
    if (boxed && style.backfaceVisibility === "hidden" && turnedAway(style, el)) return null;
    const x = boxed ? style.overflowX : "visible";
    const y = boxed ? style.overflowY : "visible";
    let clips = false;
    if ((x !== "visible" || y !== "visible") && !isRootLike(el, tag)) {
      clips = true;
      const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
      const reach = scrolledBox(el, mine, x, y);
      const hard = { l: x === "visible" ? -1e7 : mine.l, r: x === "visible" ? 1e7 : mine.r, t: y === "visible" ? -1e7 : mine.t, b: y === "visible" ? 1e7 : mine.b };
      win = meet(win, hard);
      // What a visible scroller can bring into view is as good as what lies in the page, if it is
      // large enough to be read there.
      const through = reach !== null && readable(meet(mine, clip)) && clientHeightOf.call(el) >= 12 && clientWidthOf.call(el) >= 24;
      clip = through ? reach : meet(clip, hard);
    }
    const image = style.backgroundImage;
    const paint = style.backgroundColor;
    if (image !== "none" || paint !== CLEAR) {
      ground = paintedGround(style, image, paint, ground);
      if (unsure && alpha(paint) >= 1) unsure = false;
    }
    let contained = false;
    if (position !== "static") contained = true;
    else if (clips || absClip !== clip || absWin !== win) contained = holdsAbsolute(style);
    if (position !== "static" || own !== "1") layer = newLayer(layer, style, position);
    if (contained) {
      absClip = clip;
      absWin = win;
    }
    if (
      clip === ctx.clip && win === ctx.win && absClip === ctx.absClip && absWin === ctx.absWin &&
      ground === ctx.ground && unsure === ctx.unsure && opacity === ctx.opacity && layer === ctx.layer
    ) {
      return ctx;
    }
    return {
      ox: ctx.ox, oy: ctx.oy, clip, win, absClip, absWin, frame: ctx.frame,
      ground, unsure, opacity, deep: ctx.deep, layer,
    };
  };

  /**
   * The context inside a node without a walk down to it, the same as a walk would find; null when
   * nothing in it can be seen. `known` keeps those of ancestors, for as long as nothing moves.
   */
  const contextOf = (el, known = new Map()) => {
    const chain = [];
    let ctx;
    for (let at = el; ; ) {
      ctx = known.get(at);
      if (ctx !== undefined) break;
      if (chain.push(at) > MAX_DEPTH) return null;
      const parent = drawnParent(at);
      if (parent === null) {
        ctx = documentContext(ownerDocumentOf.call(at), known);
        break;
      }
      at = parent;
    }
    while (chain.length > 0 && ctx !== null) {
      const node = chain.pop();
      const style = css(node);
      const { display } = style;
      const gone = display === "none" || display === "" || hidesAll(style, node);
      ctx = gone ? null : descend(node, localNameOf.call(node), style, display, ctx);
      known.set(node, ctx);
    }
    return ctx;
  };

  const documentContext = (of, known) => {
    if (of === doc) return newContext(doc, 0, 0);
    const around = viewOf.call(of)?.frameElement ?? null;
    const ctx = around === null ? null : contextOf(around, known);
    if (ctx === null) return null;
    return frameContext(around, css(around), ctx, of, box(boxOf.call(around), ctx.ox, ctx.oy));
  };

  /** The root's and the body's overflow is the window's own. */
  const isRootLike = (el, tag) => {
    if (tag !== "html" && tag !== "body") return false;
    const of = ownerDocumentOf.call(el);
    const root = rootOf.call(of);
    if (el === root) return true;
    return el === bodyOf.call(of) && css(root).overflowX === "visible";
  };

  /** All that a scroller can bring into its box; null when it does not scroll. */
  const scrolledBox = (el, mine, x, y) => {
    const across = x === "auto" || x === "scroll";
    const along = y === "auto" || y === "scroll";
    if (!across && !along) return null;
    const l = mine.l - scrollLeftOf.call(el);
    const t = mine.t - scrollTopOf.call(el);
    return {
      l: across ? l : mine.l,
      t: along ? t : mine.t,
      r: across ? l + Math.max(scrollWidthOf.call(el), width(mine)) : mine.r,
      b: along ? t + Math.max(scrollHeightOf.call(el), height(mine)) : mine.b,
    };
  };

  const children = (el, tag, style, display, ctx, job, depth) => {
    const texts = { el, style, display, ctx, state: UNKNOWN, in: null };
    const shadow = shadowRootOf.call(el);
    if (shadow !== null) {
      attendRoot(shadow);
      each(firstChildOf.call(shadow), texts, job, depth);
    } else if (tag === "slot") {
      const assigned = assignedNodes.call(el);
      if (assigned.length === 0) each(firstChildOf.call(el), texts, job, depth);
      else for (const node of assigned) one(node, texts, job, depth);
    } else if (tag === "details" && !hasAttribute.call(el, "open")) {
      let child = firstChildOf.call(el);
      while (child !== null && !(nodeTypeOf.call(child) === 1 && localNameOf.call(child) === "summary")) {
        child = nextSiblingOf.call(child);
      }
      if (child !== null) one(child, texts, job, depth);
    } else {
      const first = firstChildOf.call(el);
      if (first === null && job.collect !== null && tag.includes("-")) noteEmptyHost(el, ctx, job);
      each(first, texts, job, depth);
    }
  };

  /** An element of the page's own kind that takes room and has no children hides its tree. */
  const noteEmptyHost = (el, ctx, job) => {
    const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
    if (width(mine) >= 8 && height(mine) >= 8 && shows(mine, ctx.clip)) job.closedHosts.add(el);
  };

  const each = (first, texts, job, depth) => {
    for (let node = first; node !== null; node = nextSiblingOf.call(node)) {
      if (job.nodes <= 0) return;
      one(node, texts, job, depth);
    }
  };

  const one = (node, texts, job, depth) => {
    try {
      const type = nodeTypeOf.call(node);
      if (type === 1) visit(node, texts.ctx, job, depth + 1);
      else if (type === 3) text(node, texts, job);
    } catch {
      job.bad += 1;
    }
  };
