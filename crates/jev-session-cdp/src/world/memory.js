  // What was read is kept for the next look at a document in which nothing can act: without a
  // script, a handler, a frame or a running animation, a change shows as a mutation, as another
  // scroll position or as another window. The first action of ours ends it for good, for a click may
  // change what no mutation tells, such as the state of a box or of a popover.
  const SILENT_MOST = 5000;
  const attributeNamesOf = E.getAttributeNames;

  let touched = false;
  const touching = (work) => (options) => {
    touched = true;
    return work(options);
  };

  /** Whether no attribute of the document holds a script and no shadow tree can hide one. */
  const isSilent = () => {
    const all = documentQuery.call(doc, "*");
    if (all.length > SILENT_MOST) return false;
    for (const el of all) {
      if (shadowRootOf.call(el) !== null) return false;
      for (const name of attributeNamesOf.call(el)) if (name.startsWith("on")) return false;
    }
    return true;
  };

  /** All that what is read depends on and no mutation tells. */
  const surroundings = ({ reach, controls, areas, origins }) =>
    JSON.stringify([
      changes, location.href, reach, controls, areas, origins, innerWidth, innerHeight,
      devicePixelRatio, scrollX, scrollY, scrollState(),
    ]);

  let kept = null;

  /** Reads the page, or says again what was read when nothing has changed. */
  const read_once = (options, still) => {
    const lasting =
      still && !touched && fontsOf.call(doc).status === "loaded" && animationsOf.call(doc).length === 0;
    if (!lasting) {
      kept = null;
      return read_page(options);
    }
    const around = surroundings(options);
    if (kept !== null && kept.around === around && (kept.silent ??= isSilent())) return kept.page;
    const page = read_page(options);
    kept = { around, page, silent: null };
    return page;
  };
  const fontsOf = read(D, "fonts");
