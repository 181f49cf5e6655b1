  // Where text goes: pieces joined as a reader reads them. A gap is decided when the next piece comes.
  const NO_GAP = 0;
  const SPACE = 1;
  const CELL = 2;
  const LINE = 3;
  const GAPS = ["", " ", "\t", "\n"];

  const newSink = (limit) => ({
    parts: [],
    length: 0,
    limit,
    over: 0,
    gap: NO_GAP,
    /** Nothing was written since a cell began: a block there begins no line. */
    fresh: false,
    /** An inline box of its own was entered or left since the last piece. */
    edge: false,
    last: null,
  });

  const sinkText = (sink) => sink.parts.join("");

  const breakLine = (sink) => {
    if (!sink.fresh && sink.parts.length > 0) sink.gap = LINE;
    sink.last = null;
  };

  const put = (sink, text) => {
    if (sink.length >= sink.limit) {
      sink.over += text.length;
      return;
    }
    const kept = cut(text, sink.limit - sink.length);
    sink.over += text.length - kept.length;
    const gap = sink.parts.length === 0 ? "" : GAPS[sink.gap];
    sink.parts.push(gap === "" ? kept : gap + kept);
    sink.length += kept.length + gap.length;
    sink.gap = NO_GAP;
    sink.fresh = false;
    sink.edge = false;
  };

  const COLLAPSIBLE = /[ \t\n\r\f]+/g;
  const NEEDS_COLLAPSE = /[\t\n\r\f]|  /;

  /** Writes the text of one node. `keep` says how its white space is drawn. */
  const write = (sink, raw, node, keep) => {
    let text = clean(raw);
    if (keep === "preserve" || keep === "break-spaces") {
      text = text.replace(/\r\n?/g, "\n");
      if (text === "") return;
      joinTo(sink, text, node);
      put(sink, text);
    } else {
      if (keep === "preserve-breaks") {
        text = text.replace(/[ \t]*\r?\n[ \t]*/g, "\n").replace(/[ \t]+/g, " ");
      } else if (NEEDS_COLLAPSE.test(text)) {
        text = text.replace(COLLAPSIBLE, " ");
      }
      const before = text.startsWith(" ");
      const after = text.endsWith(" ");
      if (before || after) text = text.trim();
      if (before && sink.gap < SPACE && !sink.fresh) sink.gap = SPACE;
      if (text === "") return;
      joinTo(sink, text, node);
      put(sink, text);
      if (after) sink.gap = SPACE;
    }
    sink.last = node;
  };

  /**
   * Two pieces without white space between them, from different boxes: one word, unless there is
   * room between them on the screen.
   */
  const joinTo = (sink, text, node) => {
    const last = sink.last;
    if (sink.gap !== NO_GAP || last === null || sink.parts.length === 0 || sink.length >= sink.limit) return;
    if (!sink.edge && !/[\p{L}\p{N}]$/u.test(sink.parts[sink.parts.length - 1].slice(-2))) return;
    if (!sink.edge && !/^[\p{L}\p{N}]/u.test(text)) return;
    if (node === null) {
      sink.gap = SPACE;
      return;
    }
    const end = dataOf.call(last).trimEnd().length;
    const start = dataOf.call(node).search(/\S/);
    if (end < 1 || start < 0) return;
    const a = characterBox(last, end - 1);
    const b = characterBox(node, start);
    const sameLine = a.top < b.bottom - b.height / 3 && b.top < a.bottom - a.height / 3;
    const room = Math.max(b.left - a.right, a.left - b.right);
    if (sameLine ? room > a.height * 0.18 : sink.edge) sink.gap = SPACE;
  };
