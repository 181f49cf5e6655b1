  // What lies under something opaque. Positioned boxes with a ground of their own are noted in the
  // walk; at its end everything they contain and are painted over is taken out. Overlaps without
  // positioning (negative margins, transforms) are left to the hit test of a click.
  const COVERS_MOST = 200;
  const LEAST_COVER = 64;

  /**
   * Layers of painting, one for each positioned or see-through box. `up` is the nearest layer around
   * it that paints all in it at one place; in any other, a box with a z-index of its own is painted
   * as if it stood outside.
   */
  const ROOT_LAYER = { up: null, style: null, whole: true, depth: 0, z: 0, order: 0, pinned: false };
  let layers = 0;
  const newLayer = (around, style, position) => {
    layers += 1;
    const up = isWhole(around) ? around : around.up;
    const index = position === "static" ? "auto" : style.zIndex;
    return {
      up,
      style,
      // Asked only when something stands in it, for it takes many questions.
      whole: position === "relative" || position === "absolute" ? (index === "auto" ? null : true) : true,
      depth: up.depth + 1,
      z: index === "auto" ? 0 : +index || 0,
      order: layers,
      pinned: around.pinned || position === "fixed" || position === "sticky",
    };
  };
  const isWhole = (layer) => (layer.whole ??= paintsWhole(layer.style));

  /** Whether a box without a z-index keeps what stands in it together. */
  const paintsWhole = (style) =>
    style.opacity !== "1" || style.transform !== "none" || style.filter !== "none" || style.clipPath !== "none" ||
    style.isolation === "isolate" || style.mixBlendMode !== "normal" || style.perspective !== "none" ||
    style.translate !== "none" || style.scale !== "none" || style.rotate !== "none" ||
    style.backdropFilter !== "none" || style.maskImage !== "none" || style.transformStyle === "preserve-3d" ||
    /layout|paint|strict|content/.test(style.contain) || /\b(?:opacity|transform|filter|perspective|z-index|position)\b/.test(style.willChange);

  /** Notes a positioned box that hides what it lies on. */
  const noteCover = (el, style, position, ctx, job) => {
    if (position === "static") return;
    if (style.visibility !== "visible" || ctx.opacity < 0.95) return;
    if (alpha(style.backgroundColor) < 0.95) return;
    if (position === "relative" && style.top === "0px" && style.left === "0px" && style.transform === "none") return;
    const mine = meet(box(boxOf.call(el), ctx.ox, ctx.oy), ctx.clip);
    if (width(mine) < 4 || height(mine) < 4 || width(mine) * height(mine) < LEAST_COVER) return;
    job.covers.push({ el, box: mine, layer: ctx.layer, size: width(mine) * height(mine) });
    // Of many the largest count, so that a crowd of small ones hides none of them from us.
    if (job.covers.length < 2 * COVERS_MOST) return;
    job.covers.sort((a, b) => b.size - a.size);
    job.covers.length = COVERS_MOST;
  };

  /** Whether a box of one layer is painted over what stands in another. */
  const paintedOver = (over, under) => {
    let a = over;
    let b = under;
    let aChild = null;
    let bChild = null;
    while (a.depth > b.depth) {
      aChild = a;
      a = a.up;
    }
    while (b.depth > a.depth) {
      bChild = b;
      b = b.up;
    }
    while (a !== b) {
      aChild = a;
      bChild = b;
      a = a.up;
      b = b.up;
    }
    if (aChild === null) return false;
    if (bChild === null) return aChild.z >= 0;
    return aChild.z > bChild.z || (aChild.z === bChild.z && aChild.order > bChild.order);
  };

  const holds = (outer, inner) =>
    inner.l >= outer.l - 1 && inner.r <= outer.r + 1 && inner.t >= outer.t - 1 && inner.b <= outer.b + 1;

  /** Whether a box of an element is hidden under a cover, wherever the window is scrolled to. */
  const covered = (el, mine, layer, win, job) => {
    for (const cover of job.covers) {
      const drifts = cover.layer.pinned && !layer.pinned && !job.windowOnly;
      // What does not scroll with the page hides for good only when it fills the window.
      if (drifts ? !holds(cover.box, win) : !holds(cover.box, mine)) continue;
      if (contains.call(cover.el, el) || !paintedOver(cover.layer, layer)) continue;
      if (!liftedOver(el, layer, cover)) return true;
    }
    return false;
  };

  const comparePlace = N.compareDocumentPosition;
  const FOLLOWS = 4;
  /**
   * Whether a node is painted over a cover before it because a box around it that is not positioned
   * is moved or isolated, which paints it where positioned boxes are. Asked of what seems covered.
   */
  const liftedOver = (el, layer, cover) => {
    if ((comparePlace.call(cover.el, el) & FOLLOWS) === 0) return false;
    for (let at = el, up = 0; at !== null && up < 30 && !contains.call(at, cover.el); up += 1) {
      const style = css(at);
      if (style.position !== "static") return false;
      if (paintsWhole(style) && style.display !== "inline") {
        const whole = isWhole(layer) ? layer : layer.up;
        return !paintedOver(cover.layer, { up: whole, depth: whole.depth + 1, z: 0, order: Infinity });
      }
      at = drawnParent(at);
    }
    return false;
  };

  /** Takes covered text out of a sink. */
  const dropCovered = (job) => {
    if (job.covers.length === 0) return;
    const gone = new Set();
    for (const { part, node, el, box: whole, ctx } of job.written) {
      try {
        if (isCovered(node, el, whole, ctx, job)) gone.add(part);
      } catch {
        job.bad += 1;
      }
    }
    if (gone.size > 0) closeRanks(job.sink, gone);
  };

  const isCovered = (node, el, whole, ctx, job) => {
    if (whole !== null) {
      if (covered(el, whole, ctx.layer, ctx.frame, job)) return true;
      if (node === null || !job.covers.some((cover) => shows(whole, cover.box))) return false;
    }
    // The letters take less room than the box they stand in.
    selectContents.call(range, node);
    return covered(el, box(rangeBox.call(range), ctx.ox, ctx.oy), ctx.layer, ctx.frame, job);
  };

  /** Leaves parts out; of the gaps around them the widest stays. */
  const closeRanks = (sink, gone) => {
    const kept = [];
    let gap = NO_GAP;
    sink.parts.forEach((part, at) => {
      const own = Math.max(0, GAPS.indexOf(part[0], 1));
      gap = Math.max(gap, own);
      if (gone.has(at)) return;
      const bare = own > 0 ? part.slice(1) : part;
      kept.push(kept.length === 0 ? bare : GAPS[gap] + bare);
      gap = NO_GAP;
    });
    sink.parts = kept;
    sink.length = kept.reduce((sum, part) => sum + part.length, 0);
  };
