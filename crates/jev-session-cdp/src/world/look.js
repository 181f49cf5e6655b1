  // One look: rest, walk, and everything found as one JSON text.
  const TEXT_MOST = 400_000;
  const TITLE_MOST = 1000;

  /** What the scroll actions move: the document, or its main scroller when it does not scroll. */
  const mainScroller = () => {
    const root = scrollerOf.call(doc) ?? rootOf.call(doc);
    if (root === null) return null;
    if (scrollHeightOf.call(root) > innerHeight + 1 && css(rootOf.call(doc)).overflowY !== "hidden") return root;
    let of = doc;
    let at = pointInDocument.call(doc, innerWidth / 2, innerHeight / 2);
    for (let steps = 0; at !== null && steps < 200; steps += 1) {
      const tag = localNameOf.call(at);
      if (tag === "iframe") {
        const inner = frameDocumentOf.call(at);
        const its = inner === null ? null : scrollerOf.call(inner);
        if (its !== null && scrollHeightOf.call(its) > clientHeightOf.call(its) + 4) return its;
      } else if (shadowRootOf.call(at) !== null && of === doc) {
        const deeper = pointInShadow.call(shadowRootOf.call(at), innerWidth / 2, innerHeight / 2);
        if (deeper !== null && deeper !== at) {
          at = deeper;
          of = null;
          continue;
        }
      }
      if (clientHeightOf.call(at) > 80 && scrollHeightOf.call(at) > clientHeightOf.call(at) + 4) {
        const flow = css(at).overflowY;
        if (flow === "auto" || flow === "scroll") return at;
      }
      at = drawnParent(at);
    }
    return root;
  };

  const scrollState = () => {
    const at = mainScroller();
    if (at === null) return [0, 0];
    const top = Math.max(0, Math.round(scrollTopOf.call(at)));
    const height = at === scrollerOf.call(doc) ? innerHeight : clientHeightOf.call(at);
    return [top, Math.max(0, Math.round(scrollHeightOf.call(at) - height - top))];
  };

  const read_page = (options) => {
    const root = rootOf.call(doc);
    // Lays the page out, so that the walk's own time is not spent on it.
    if (root !== null) boxOf.call(root);
    const sink = newSink(TEXT_MOST);
    const modals = documentQuery.call(doc, "dialog:modal");
    const modal = modals.length === 0 ? null : modals[modals.length - 1];
    const collect = newCollection({ controls: options.controls, origins: options.origins, modal });
    const job = newJob(sink, { collect, windowOnly: options.reach === "viewport" });
    if (root !== null) {
      try {
        visit(root, newContext(doc, 0, 0), job, 0);
      } catch {
        job.bad += 1;
      }
    }
    if (job.nodes <= 0) job.bad += 1;
    dropCovered(job);
    const found = [];
    for (const entry of unique(collect, job)) {
      try {
        const id = idOf(entry.el);
        const guard = guardOf(entry.el, entry.tag, entry.href, id, entry.label);
        found.push([id, entry.role, entry.label, entry.href, entry.context, entry.place, guard]);
      } catch {
        job.bad += 1;
      }
    }
    for (const area of areas(options, modal)) found.push(area);
    return {
      epoch,
      news,
      url: cut(clean(location.href), 20_000),
      title: line(titleOf.call(doc), TITLE_MOST),
      text: sinkText(sink),
      found,
      scroll: scrollState(),
      over: sink.over,
      refused: collect.refused,
      omitted: collect.omitted,
      frames: job.frames,
      closed: job.closedHosts.size,
      bad: job.bad,
    };
  };

  const look = async (options) => {
    const { settled, still } = await rest(options);
    const begun = now();
    const page = atWork(() => read_once(options, still));
    return JSON.stringify({ ...page, settled, still, took: now() - begun });
  };

  /** Waits for any change or navigation. */
  const change = async (options) => {
    // Something may have come while nobody waited.
    if (options.epoch !== epoch || (options.since !== null && options.since !== news)) return JSON.stringify({ changed: true });
    const seen = await hear(options.ms, (what) => (what === "news" || what === "navigate" ? true : undefined));
    return JSON.stringify({ changed: seen !== null });
  };
