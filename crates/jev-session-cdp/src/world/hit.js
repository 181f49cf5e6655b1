  // Whether a click at a node would reach it, as a hit test at several points of its boxes tells.
  const offsetOf = (of) => {
    let ox = 0;
    let oy = 0;
    const frames = [];
    for (let view = viewOf.call(of); view !== null && view !== globalThis; ) {
      const around = view.frameElement;
      if (around === null || frames.length >= MAX_FRAMES_DEEP + 1) return null;
      frames.push(around);
      const rect = boxOf.call(around);
      const its = css(around);
      ox += rect.left + clientLeftOf.call(around) + (parseFloat(its.paddingLeft) || 0);
      oy += rect.top + clientTopOf.call(around) + (parseFloat(its.paddingTop) || 0);
      view = viewOf.call(ownerDocumentOf.call(around));
    }
    return { ox, oy, frames };
  };

  const partsOf = (el) => {
    let parts = [...boxesOf.call(el)].filter((rect) => rect.width >= 2 && rect.height >= 2);
    if (parts.length === 0) parts = [...contentBoxes(el)].filter((rect) => rect.width >= 2 && rect.height >= 2);
    return parts.slice(0, 8);
  };

  const pointIn = (root, x, y) =>
    nodeTypeOf.call(root) === 9 ? pointInDocument.call(root, x, y) : pointInShadow.call(root, x, y);

  /** A hit on another link to the same place does no harm: both lead there. */
  const reaches = (el, href, hit) => {
    if (hit === null) return false;
    if (hit === el || contains.call(el, hit)) return true;
    if (href === null) return false;
    const link = closest.call(hit, "a");
    return link !== null && addressOf(link, "a") === href;
  };

  /** "" when a click would reach the node, else why not: `not_visible`, or `covered` and by what. */
  const whyNot = (el, href) => {
    const of = ownerDocumentOf.call(el);
    const root = getRootNode.call(el);
    const where = offsetOf(of);
    if (where === null) return "not_visible";
    let coverer = null;
    for (const rect of partsOf(el)) {
      for (const share of [0.5, 0.2, 0.8]) {
        const x = rect.left + rect.width * share;
        const y = rect.top + rect.height / 2;
        if (x + where.ox < 0 || y + where.oy < 0 || x + where.ox >= innerWidth || y + where.oy >= innerHeight) continue;
        const hit = pointIn(root, x, y);
        if (reaches(el, href, hit)) {
          const over = where.frames.length === 0 ? null : frameCoverer(where, x, y);
          if (over === null) return "";
          coverer ??= over;
        } else coverer ??= hit;
      }
    }
    return coverer === null ? "not_visible" : "covered " + describe(coverer);
  };

  /** What lies over a point of a frame, in the documents around it. */
  const frameCoverer = (where, x, y) => {
    let px = x;
    let py = y;
    for (const around of where.frames) {
      const rect = boxOf.call(around);
      const its = css(around);
      px += rect.left + clientLeftOf.call(around) + (parseFloat(its.paddingLeft) || 0);
      py += rect.top + clientTopOf.call(around) + (parseFloat(its.paddingTop) || 0);
      const hit = pointIn(getRootNode.call(around), px, py);
      if (hit !== around) return hit ?? around;
    }
    return null;
  };

  /** Where candidates lie in the window now; for pictures. */
  const placed = ({ epoch: meant, ids: wanted }) => {
    if (meant !== epoch || document !== doc) return JSON.stringify({ stale: "document" });
    const found = [];
    for (const id of wanted) {
      const el = nodes.get(id)?.deref();
      const where = el === undefined || !isConnectedOf.call(el) ? null : offsetOf(ownerDocumentOf.call(el));
      if (where === null) continue;
      for (const rect of partsOf(el)) {
        const l = rect.left + where.ox;
        const t = rect.top + where.oy;
        const seen = l < innerWidth && t < innerHeight && l + rect.width > 0 && t + rect.height > 0;
        if (seen && found.length < 2000) found.push([id, l, t, rect.width, rect.height]);
      }
    }
    return JSON.stringify({ window: [innerWidth, innerHeight], boxes: found });
  };

  const describe = (node) => {
    const id = getAttribute.call(node, "id");
    return line(localNameOf.call(node) + (id === null ? "" : "#" + id), 80);
  };
