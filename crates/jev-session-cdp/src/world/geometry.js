  // Boxes: plain objects in the main window's coordinates, { l, t, r, b }.
  const box = (rect, ox, oy) => ({
    l: rect.left + ox,
    t: rect.top + oy,
    r: rect.right + ox,
    b: rect.bottom + oy,
  });
  const meet = (a, b) => ({
    l: a.l > b.l ? a.l : b.l,
    t: a.t > b.t ? a.t : b.t,
    r: a.r < b.r ? a.r : b.r,
    b: a.b < b.b ? a.b : b.b,
  });
  const width = (a) => a.r - a.l;
  const height = (a) => a.b - a.t;
  /** Whether enough of `a` lies in `b` to be seen: two pixels each way, or all of what is thinner. */
  const shows = (a, b) => {
    const w = (a.r < b.r ? a.r : b.r) - (a.l > b.l ? a.l : b.l);
    const h = (a.b < b.b ? a.b : b.b) - (a.t > b.t ? a.t : b.t);
    return w >= 1 && h >= 1 && (w >= 2 || a.r - a.l < 2.5) && (h >= 2 || a.b - a.t < 2.5);
  };
  /** Whether at least half of `a`, each way, lies in `b`. */
  const halfIn = (a, b) => {
    const both = meet(a, b);
    return width(both) * 2 >= width(a) && height(both) * 2 >= height(a);
  };
  /** Whether a scroller or a frame of this size lets a reader read what is scrolled through it. */
  const readable = (a) => width(a) >= 24 && height(a) >= 12;
  const inside = (a, b) => a.l >= b.l && a.r <= b.r && a.t >= b.t && a.b <= b.b;

  /** The window of a document, in the main window's coordinates. */
  const windowBox = (of, ox, oy) => {
    const root = rootOf.call(of);
    const view = viewOf.call(of);
    const w = view === null ? 0 : view.innerWidth;
    const h = view === null ? 0 : view.innerHeight;
    // Without the scroll bars.
    const cw = root === null ? w : Math.min(w, clientWidthOf.call(root) || w);
    return { l: ox, t: oy, r: ox + cw, b: oy + h };
  };

  /** All that scrolling can bring into a document's window. */
  const documentBox = (of, ox, oy) => {
    const shown = windowBox(of, ox, oy);
    const scroller = scrollerOf.call(of) ?? rootOf.call(of);
    if (scroller === null) return shown;
    const x = scrollLeftOf.call(scroller);
    const y = scrollTopOf.call(scroller);
    const w = Math.max(scrollWidthOf.call(scroller), shown.r - shown.l);
    const h = Math.max(scrollHeightOf.call(scroller), shown.b - shown.t);
    // A right-to-left document scrolls to the left of its origin.
    const left = x < 0 || isRightToLeft(of) ? shown.r - w - x : shown.l - x;
    return { l: left, t: shown.t - y, r: left + w, b: shown.t - y + h };
  };
  const isRightToLeft = (of) => {
    const root = rootOf.call(of);
    return root !== null && styleOf.call(globalThis, root).direction === "rtl";
  };

  /** The boxes of one text node or of an element's contents. */
  const contentBoxes = (node) => {
    selectContents.call(range, node);
    return rangeBoxes.call(range);
  };
  /** The box of one character of a text node. */
  const characterBox = (node, at) => {
    rangeStart.call(range, node, at);
    rangeEnd.call(range, node, at + 1);
    return rangeBox.call(range);
  };

  /** The parent in the tree as it is drawn. */
  const drawnParent = (node) => {
    const parent = parentNodeOf.call(node);
    if (parent === null) return null;
    const type = nodeTypeOf.call(parent);
    if (type === 1) {
      const slot = shadowRootOf.call(parent) === null ? null : slotOf(node);
      return slot ?? parent;
    }
    if (type === 11) return hostOf(parent);
    return null;
  };
  const shadowHostOf = read(ShadowRoot.prototype, "host");
  const hostOf = (root) => {
    try {
      return shadowHostOf.call(root);
    } catch {
      // A fragment that is no shadow tree.
      return null;
    }
  };
  const elementSlotOf = read(E, "assignedSlot");
  const textSlotOf = read(Text.prototype, "assignedSlot");
  const slotOf = (node) =>
    nodeTypeOf.call(node) === 1 ? elementSlotOf.call(node) : textSlotOf.call(node);
