  // What of a style hides things from a reader.
  const css = (node) => styleOf.call(globalThis, node);

  /** The least opacity, after multiplying all ancestors', that counts as seen. */
  const LEAST_OPACITY = 0.1;
  /** The least font size in CSS pixels that counts as readable. */
  const LEAST_FONT = 3;
  /** Greatest difference of a colour channel at which text and ground count as the same colour. */
  const SAME_COLOUR = 10;

  const OPAQUE = /^rgb\((\d+), (\d+), (\d+)\)$/;
  const WITH_ALPHA = /^rgba\((\d+), (\d+), (\d+), ([\d.e-]+)\)$/;
  /** Colours in other notations that are remembered. */
  const DOTS_MOST = 500;
  const dots = new Map();
  let easel = null;
  /** A colour of another notation, such as oklch(), as one dot of it looks: red, green, blue, alpha. */
  const dotOf = (text) => {
    let dot = dots.get(text);
    if (dot !== undefined) return dot;
    easel ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    easel.clearRect(0, 0, 1, 1);
    easel.fillStyle = "rgb(1, 2, 3)";
    easel.fillStyle = text;
    easel.fillRect(0, 0, 1, 1);
    const [red, green, blue, seen] = easel.getImageData(0, 0, 1, 1).data;
    dot = { value: (red << 16) | (green << 8) | blue, alpha: seen / 255 };
    if (dots.size >= DOTS_MOST) dots.clear();
    dots.set(text, dot);
    return dot;
  };
  /** A colour as one number; -1 when it is not opaque. */
  const colour = (text) => {
    const parts = OPAQUE.exec(text);
    if (parts !== null) return (+parts[1] << 16) | (+parts[2] << 8) | +parts[3];
    if (WITH_ALPHA.test(text)) return -1;
    const dot = dotOf(text);
    return dot.alpha === 1 ? dot.value : -1;
  };
  const alpha = (text) => {
    const parts = WITH_ALPHA.exec(text);
    if (parts !== null) return +parts[4];
    return OPAQUE.test(text) ? 1 : dotOf(text).alpha;
  };
  const alike = (a, b) =>
    Math.abs((a >> 16) - (b >> 16)) <= SAME_COLOUR &&
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)) <= SAME_COLOUR &&
    Math.abs((a & 255) - (b & 255)) <= SAME_COLOUR;

  const share = (text, whole) =>
    text.endsWith("%") ? (parseFloat(text) / 100) * whole : parseFloat(text) || 0;

  /** Whether a clip path of this value leaves nothing of a box of this size. */
  const clippedAway = (path, w, h) => {
    const inset = /^inset\(([^)]*)\)/.exec(path);
    if (inset !== null) {
      const sides = inset[1].split(" round ")[0].trim().split(/\s+/);
      const top = share(sides[0], h);
      const right = share(sides[1] ?? sides[0], w);
      const bottom = share(sides[2] ?? sides[0], h);
      const left = share(sides[3] ?? sides[1] ?? sides[0], w);
      return top + bottom > h - 2 || left + right > w - 2;
    }
    const round = /^(?:circle|ellipse)\(([^)]*)\)/.exec(path);
    if (round !== null) {
      const radius = round[1].trim().split(/\s+/)[0];
      return radius.endsWith("%") || radius.endsWith("px") ? parseFloat(radius) < 1 : false;
    }
    const polygon = /^polygon\(([^)]*)\)/.exec(path);
    if (polygon !== null) {
      const points = polygon[1].split(",").map((point) => point.trim());
      return points.length < 3 || points.every((point) => point === points[0]);
    }
    return false;
  };

  /** Whether `clip: rect(...)`, which works on positioned boxes only, leaves nothing. */
  const oldClipHides = (clip) => {
    const parts = /^rect\(([^)]*)\)$/.exec(clip);
    if (parts === null) return false;
    const [top, right, bottom, left] = parts[1].split(/[\s,]+/).map((side) => parseFloat(side));
    return bottom - top < 2 || right - left < 2;
  };

  /** Whether a clip path or a filter hides a box and all in it. */
  const hidesAll = (style, node) => {
    const path = style.clipPath;
    if (path !== "none") {
      const size = boxOf.call(node);
      if (clippedAway(path, size.width, size.height)) return true;
    }
    const filter = style.filter;
    if (filter !== "none") {
      const faint = /opacity\(([\d.e-]+)\)/.exec(filter);
      if (faint !== null && +faint[1] < LEAST_OPACITY) return true;
    }
    return false;
  };

  /** Whether a box with this style holds absolutely positioned descendants. */
  const holdsAbsolute = (style) =>
    style.position !== "static" ||
    style.transform !== "none" ||
    style.translate !== "none" ||
    style.scale !== "none" ||
    style.rotate !== "none" ||
    style.perspective !== "none" ||
    style.filter !== "none" ||
    style.backdropFilter !== "none" ||
    style.contain !== "none" ||
    style.containerType !== "normal" ||
    style.willChange !== "auto";

  /** Whether text of this style, on this ground, can be told from it. */
  const inkShows = (node, style, ground) => {
    const ink = style.webkitTextFillColor;
    if (alpha(ink) < LEAST_OPACITY) {
      // Transparent letters show a shadow, an outline or a clipped background.
      return (
        style.textShadow !== "none" ||
        style.webkitTextStrokeWidth !== "0px" ||
        paintsThroughText(node, style)
      );
    }
    if (ground < 0) return true;
    const value = colour(ink);
    if (value < 0 || !alike(value, ground) || style.textShadow !== "none") return true;
    return somethingBeneath(node);
  };

  const paintsThroughText = (node, style) => {
    let at = node;
    let its = style;
    for (let up = 0; up < 3 && at !== null; up += 1) {
      if (its.webkitBackgroundClip.includes("text")) return its.backgroundImage !== "none" || alpha(its.backgroundColor) >= LEAST_OPACITY;
      at = parentElementOf.call(at);
      if (at !== null) its = css(at);
    }
    return false;
  };

  /**
   * Whether a picture or a painted box that is no ancestor lies under text that has its ancestors'
   * colour. Looked for among the neighbours only; asked rarely, so it may cost something.
   */
  const somethingBeneath = (node) => {
    const mine = box(boxOf.call(node), 0, 0);
    let at = node;
    for (let up = 0; up < 4 && at !== null; up += 1) {
      const parent = parentElementOf.call(at);
      if (parent === null) return false;
      let seen = 0;
      for (const other of queryIn.call(parent, "img,video,canvas,svg,picture,object,iframe,embed")) {
        if ((seen += 1) > 40) break;
        if (!contains.call(node, other) && shows(mine, box(boxOf.call(other), 0, 0))) return true;
      }
      seen = 0;
      for (let next = firstChildOf.call(parent); next !== null; next = nextSiblingOf.call(next)) {
        if (nodeTypeOf.call(next) !== 1 || next === at) continue;
        if ((seen += 1) > 40) break;
        const its = css(next);
        const painted = its.backgroundImage !== "none" || alpha(its.backgroundColor) >= 0.5;
        if (painted && its.display !== "none" && shows(mine, box(boxOf.call(next), 0, 0))) return true;
      }
      at = parent;
    }
    return false;
  };
