  // The text of nodes: whether it is seen, and how much of it the window shows.
  const UNKNOWN = 0;
  const HIDDEN = 1;
  const WHOLE = 2;
  const EACH = 3;

  const BLANK = /^[ \t\n\r\f]*$/;
  /** Longer text that the window cuts is cut too. */
  const CUT_FROM = 200;

  const text = (node, texts, job) => {
    if (spent(job)) return;
    const raw = dataOf.call(node);
    const { sink } = job;
    const { style } = texts;
    if (raw === "") return;
    if (BLANK.test(raw)) {
      const kept = raw.includes("\n") && style.whiteSpaceCollapse.startsWith("preserve");
      if (kept && sink.gap < LINE && sink.parts.length > 0) sink.gap = LINE;
      else if (sink.gap < SPACE && !sink.fresh) sink.gap = SPACE;
      return;
    }
    if (texts.state === UNKNOWN) texts.state = judgeText(texts, job);
    if (texts.state === HIDDEN) return;
    const { ctx } = texts;
    let shown = raw;
    let inWindow = true;
    if (texts.state === EACH) {
      const seen = seenBoxes(node, ctx);
      if (seen === 0) return;
      inWindow = (seen & 2) !== 0;
    } else if (!inside(texts.in, ctx.win)) {
      inWindow = shows(texts.in, ctx.win) && (raw.length < 2 || (seenBoxes(node, ctx) & 2) !== 0);
    }
    for (const entry of job.open) {
      if (entry.el === texts.el) {
        entry.box = texts.in;
        entry.text = true;
      }
      entry.seen = true;
      if (inWindow) entry.inWindow = true;
    }
    if (job.windowOnly) {
      if (!inWindow) {
        sink.last = null;
        return;
      }
      if (raw.length > CUT_FROM && (texts.in === null || !inside(texts.in, ctx.win))) {
        shown = cutToWindow(node, raw, ctx);
      }
    }
    const keep = NEEDS_COLLAPSE.test(shown) ? style.whiteSpaceCollapse : "collapse";
    const before = sink.parts.length;
    write(sink, shown, shown === raw ? node : null, keep);
    if (job.collect !== null && sink.parts.length > before) {
      job.written.push({ part: before, node, el: texts.el, box: texts.in, ctx });
    }
  };

  /** Whether the text right inside an element is seen, as far as the element's own box tells. */
  const judgeText = (texts, job) => {
    const { el, style, ctx } = texts;
    if (style.visibility !== "visible") return HIDDEN;
    const size = parseFloat(style.fontSize);
    if (size < LEAST_FONT || style.webkitTextSecurity !== "none") return HIDDEN;
    if (!inkShows(el, style, ctx, job)) return HIDDEN;
    const boxed = texts.display !== "inline";
    if (texts.display === "contents" || (boxed && style.textIndent !== "0px")) return EACH;
    const rect = boxOf.call(el);
    const mine = box(rect, ctx.ox, ctx.oy);
    texts.in = mine;
    if (rect.width < 2 || rect.height < size * 0.5) return EACH;
    if (boxed && (style.overflowX !== "visible" || style.overflowY !== "visible")) return EACH;
    return inside(mine, ctx.clip) ? WHOLE : EACH;
  };

  /** 0: nothing of the text is seen; 1: something is; 3: something is, in the window. */
  const seenBoxes = (node, ctx) => {
    let seen = 0;
    let looked = 0;
    // Through a hole too small to read through, only what fits into it is seen.
    const narrow = !readable(ctx.clip);
    for (const rect of contentBoxes(node)) {
      if (rect.width < 0.5 || rect.height < LEAST_FONT) continue;
      const mine = box(rect, ctx.ox, ctx.oy);
      if (narrow && !halfIn(mine, ctx.clip)) continue;
      if (shows(mine, ctx.win) && shows(mine, ctx.clip)) return 3;
      if (seen === 0 && shows(mine, ctx.clip)) seen = 1;
      if ((looked += 1) > 2000) break;
    }
    return seen;
  };

  /** The part of a long text whose lines lie in the window, whole words. */
  const cutToWindow = (node, raw, ctx) => {
    const { win, oy } = ctx;
    const first = search(raw.length, (at) => characterBox(node, at).bottom + oy > win.t + 1);
    const last = search(raw.length, (at) => characterBox(node, at).top + oy >= win.b - 1);
    let from = first;
    while (from > 0 && !/\s/.test(raw[from - 1]) && first - from < 60) from -= 1;
    let to = last;
    while (to < raw.length && !/\s/.test(raw[to]) && to - last < 60) to += 1;
    return raw.slice(from, Math.max(from, to));
  };

  /** The first index at which a test that stays true begins to hold. White space without a box is passed over. */
  const search = (length, test) => {
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (test(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  /** The text of an element that is drawn, wherever it lies, on one line. */
  const plainText = (el, most) => {
    const sink = newSink(most * 4);
    visit(el, NEUTRAL, newJob(sink, { nodes: 600 }), 0);
    return line(sinkText(sink), most);
  };

  /**
   * The text that a reader sees in an element, on one line; `inner` is the context inside it. A survey
   * of the walk that asks saves another.
   */
  const seenText = (el, inner, most, survey = newSurvey()) => {
    if (inner === null) return "";
    const sink = newSink(most * 4);
    const style = css(el);
    children(el, localNameOf.call(el), style, style.display, inner, newJob(sink, { nodes: 600, survey }), 0);
    return line(sinkText(sink), most);
  };
