  // Elements that draw something other than their children.
  const seenPicture = (el, style, ctx, job) => {
    const mapped = job.collect !== null && hasAttribute.call(el, "usemap");
    if ((job.open.length === 0 && !mapped) || style.visibility !== "visible") return;
    const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
    if (width(mine) < 4 || height(mine) < 4 || !shows(mine, ctx.clip)) return;
    if (mapped) countAreaLinks(el, job);
    const inWindow = shows(mine, ctx.win);
    for (const entry of job.open) {
      entry.seen = true;
      if (inWindow) entry.inWindow = true;
    }
  };

  const picture = (el, style, ctx, job) => {
    job.sink.edge = true;
    seenPicture(el, style, ctx, job);
  };

  const drawing = (el, style, ctx, job, depth) => {
    seenPicture(el, style, ctx, job);
    // A drawing inside a drawing has no box of its own to speak of; its text has.
    children(el, "svg", style, style.display, ctx, job, depth);
  };

  const lineBreak = (_el, _style, _ctx, job) => {
    breakLine(job.sink);
  };

  const nothing = () => {};

  /** Where a control draws its value. */
  const valueBox = (el, style, ctx) => {
    const whole = boxOf.call(el);
    const pad = (side) => parseFloat(style["padding" + side]) || 0;
    const l = whole.left + clientLeftOf.call(el) + pad("Left");
    const t = whole.top + clientTopOf.call(el) + pad("Top");
    const r = whole.left + clientLeftOf.call(el) + clientWidthOf.call(el) - pad("Right");
    const b = whole.top + clientTopOf.call(el) + clientHeightOf.call(el) - pad("Bottom");
    return { l: l + ctx.ox, t: t + ctx.oy, r: r + ctx.ox, b: b + ctx.oy };
  };

  /** A value drawn by the control itself. */
  const value = (el, style, ctx, job, raw) => {
    const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
    const ok =
      style.visibility === "visible" && parseFloat(style.fontSize) >= LEAST_FONT &&
      width(mine) >= 4 && height(mine) >= 4 && shows(mine, ctx.clip);
    if (!ok) return;
    const shown = line(raw, 2000);
    if (shown !== "" && (style.webkitTextSecurity !== "none" || !inkShows(el, style, ctx, job))) return;
    const inWindow = shows(mine, ctx.win);
    for (const entry of job.open) {
      entry.seen = true;
      if (inWindow) entry.inWindow = true;
    }
    if (shown === "" || (job.windowOnly && !inWindow)) return;
    const { sink } = job;
    if (sink.gap < SPACE && !sink.fresh) sink.gap = SPACE;
    const before = sink.parts.length;
    put(sink, shown);
    if (job.collect !== null && sink.parts.length > before) {
      job.written.push({ part: before, node: null, el, box: valueBox(el, style, ctx), ctx });
    }
    sink.gap = SPACE;
    sink.last = null;
  };

  const UNSHOWN_INPUTS = new Set(["hidden", "password", "file", "checkbox", "radio", "range", "color", "image"]);
  const input = (el, style, ctx, job) => {
    const type = inputTypeOf.call(el);
    if (type === "image") picture(el, style, ctx, job);
    value(el, style, ctx, job, UNSHOWN_INPUTS.has(type) ? "" : inputValueOf.call(el));
  };
  const textarea = (el, style, ctx, job) => value(el, style, ctx, job, areaValueOf.call(el));
  const select = (el, style, ctx, job) => {
    const chosen = [];
    for (const option of selectedOf.call(el)) {
      if (chosen.length === 10) break;
      chosen.push(optionTextOf.call(option));
    }
    value(el, style, ctx, job, chosen.join(", "));
  };

  /** The context of the document `inner` of a frame, which lies in `mine`. */
  const frameContext = (el, style, ctx, inner, mine) => {
    const pad = (side) => parseFloat(style[side]) || 0;
    const ox = mine.l + clientLeftOf.call(el) + pad("paddingLeft");
    const oy = mine.t + clientTopOf.call(el) + pad("paddingTop");
    const its = newContext(inner, ox, oy);
    its.win = meet(its.win, ctx.win);
    its.absWin = its.win;
    its.frame = meet(its.frame, ctx.clip);
    // A frame too small to be read shows what it shows and no more.
    if (!readable(meet(windowBox(inner, ox, oy), meet(mine, ctx.clip)))) its.clip = its.absClip = its.frame;
    // What a frame does not paint lets the page around it through, unless their colour schemes differ.
    const around = style.colorScheme === "normal" ? canvasOf(ownerDocumentOf.call(el)) : canvasIn(style.colorScheme);
    if (its.ground === around) {
      its.ground = ctx.ground;
      its.unsure = ctx.unsure;
    }
    its.opacity = ctx.opacity;
    its.layer = ctx.layer;
    its.deep = ctx.deep + 1;
    return its;
  };

  /** A frame of the same origin is read in its place; another is counted. */
  const frame = (el, style, ctx, job, depth) => {
    if (style.visibility !== "visible") return;
    const mine = box(boxOf.call(el), ctx.ox, ctx.oy);
    if (width(mine) < 8 || height(mine) < 8 || !shows(mine, ctx.clip)) return;
    let inner = null;
    try {
      inner = localNameOf.call(el) === "frame" ? oldFrameDocumentOf.call(el) : frameDocumentOf.call(el);
    } catch {
      inner = null;
    }
    if (inner === null || ctx.deep >= MAX_FRAMES_DEEP) {
      job.frames += 1;
      return;
    }
    const root = rootOf.call(inner);
    if (root === null) return;
    attendDocument(inner);
    const its = frameContext(el, style, ctx, inner, mine);
    breakLine(job.sink);
    const before = job.sink.length;
    visit(root, its, job, depth + 1);
    if (job.sink.length !== before) breakLine(job.sink);
  };

  const REPLACED = {
    __proto__: null,
    img: picture, video: picture, canvas: picture, embed: picture, object: picture,
    svg: drawing, br: lineBreak, wbr: nothing, hr: nothing, input, textarea, select,
    progress: nothing, meter: nothing, iframe: frame, frame, fencedframe: nothing, portal: nothing,
  };
