  // What of a style hides things from a reader.
  const css = (node) => styleOf.call(globalThis, node);

  /** The least font size in CSS pixels that counts as readable. */
  const LEAST_FONT = 3;
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

  const newMatrix = (text) => new DOMMatrix(text);
  /** How a box is turned: its own rotation and transform, one after the other. */
  const turnOf = (style) => {
    const turn = newMatrix();
    const parts = /^(?:(x|y|z|[-\d.e]+ [-\d.e]+ [-\d.e]+) )?(-?[\d.e-]+)deg$/.exec(style.rotate);
    if (parts !== null) {
      const axis = parts[1] ?? "z";
      const [x, y, z] = axis.length > 1 ? axis.split(" ").map(Number) : [+(axis === "x"), +(axis === "y"), +(axis === "z")];
      turn.rotateAxisAngleSelf(x, y, z, +parts[2]);
    }
    return style.transform === "none" ? turn : turn.multiply(newMatrix(style.transform));
  };
  /** Whether a box shares the space of its children instead of laying them flat. */
  const sharesSpace = (style) =>
    style.transformStyle === "preserve-3d" && style.overflowX === "visible" && style.overflowY === "visible" &&
    style.opacity === "1" && style.filter === "none" && style.clipPath === "none";

  /** Whether a box shows a reader its back, counting the turns of the boxes that it shares a space with. */
  const turnedAway = (style, node) => {
    let turn = turnOf(style);
    let at = drawnParent(node);
    for (let up = 0; up < 20 && at !== null; up += 1) {
      const its = css(at);
      if (!sharesSpace(its)) break;
      turn = turnOf(its).multiply(turn);
      at = drawnParent(at);
    }
    return turn.inverse().m33 < 0;
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
