  // Coming to rest: parsed, and no change for a while. A document that can't change by itself is at
  // rest once it is loaded.
  // The types that the standard takes for JavaScript, of which some browser once made a script.
  const SCRIPT_TYPES =
    /^(?:|module|importmap|(?:text|application)\/(?:x-)?(?:java|ecma)script|text\/(?:javascript1\.[0-5]|jscript|livescript))$/i;

  /** Something happened that no parser does: a script ran, wherever it is by now. */
  let acted = false;
  // Scripts take themselves away, and so does a handler: what stands there now tells nothing of them.
  // Only a script can take away a node for good, or change an attribute.
  const actors = new MutationObserver((records) => {
    acted ||= records.some(
      ({ type, removedNodes }) => type === "attributes" || [...removedNodes].some((node) => !isConnectedOf.call(node)),
    );
    if (acted) leave.call(actors);
  });
  const leave = MutationObserver.prototype.disconnect;
  observe.call(actors, doc, { subtree: true, childList: true, attributes: true });

  /** Whether nothing in the document can act by itself, or could. */
  const isStill = () => {
    if (acted) return false;
    let seen = 0;
    for (const script of documentQuery.call(doc, "script")) {
      if ((seen += 1) > 50) return false;
      if (SCRIPT_TYPES.test((getAttribute.call(script, "type") ?? "").trim())) return false;
    }
    return (
      queryOne.call(
        doc,
        "iframe,frame,object,embed,[onload],[onerror],[onpageshow],[onfocus],[onanimationend],[onbegin],meta[http-equiv=refresh i],animate,animateMotion,animateTransform,set,marquee",
      ) === null
    );
  };

  /** How long until no running transition or animation that ends will bring anything into sight. */
  const untilShown = () => {
    let most = 0;
    for (const animation of animationsOf.call(doc)) {
      if (animation.playState !== "running" || animation.effect === null) continue;
      const timing = animation.effect.getComputedTiming();
      const left = timing.endTime - (animation.currentTime ?? 0);
      if (!(left > 0 && left <= 1000)) continue;
      const frames = animation.effect.getKeyframes();
      if (frames.some((frame) => "opacity" in frame || "visibility" in frame || "clipPath" in frame)) {
        most = Math.max(most, left);
      }
    }
    return most;
  };

  /** Whether a frame that can be read is still being parsed. */
  const framesBusy = () => {
    let seen = 0;
    for (const el of documentQuery.call(doc, "iframe")) {
      if ((seen += 1) > 20) return false;
      const inner = frameDocumentOf.call(el);
      if (inner !== null && readyStateOf.call(inner) === "loading") return true;
    }
    return false;
  };

  /** Stays true when our own work is ended from outside: then it was that which took too long. */
  let working = false;
  const atWork = (work) => {
    working = true;
    const done = work();
    working = false;
    return done;
  };
  const state = () => {
    const answer = JSON.stringify({ working });
    working = false;
    return answer;
  };

  /** Rests within `cap` milliseconds. `afresh`: the quiet begins now, for something has just come. */
  const rest = async ({ quiet, cap, afresh, off, trees }) => {
    if (off) {
      const complete = readyStateOf.call(doc) === "complete";
      // What becomes of a frame is not told here.
      return { settled: complete, still: complete && queryOne.call(doc, "iframe,frame,object,embed") === null };
    }
    attendWindow(globalThis);
    const end = now() + cap;
    const left = () => Math.max(0, end - now());
    ticks = new WeakMap();
    ticking = false;
    if (readyStateOf.call(doc) === "loading") {
      const parsed = await hear(left(), (what) => (what === "parsed" ? true : undefined));
      if (parsed === null) return { settled: false, still: false };
    }
    // A closed tree that the document itself declares can't be searched for scripts.
    if (!trees && atWork(isStill)) {
      if (readyStateOf.call(doc) !== "complete") {
        await hear(left(), (what) => (what === "loaded" ? true : undefined));
      }
      const wait = atWork(untilShown);
      if (wait > 0) await hear(Math.min(left(), wait + 20), () => undefined);
      if (readyStateOf.call(doc) === "complete") return { settled: true, still: true };
      return { settled: false, still: false };
    }
    if (afresh) lastFresh = now();
    for (;;) {
      // Measured from the parse or the last change, not from when somebody asked.
      const quietFor = now() - Math.max(lastFresh, parsedAt);
      const wait = Math.max(quiet - quietFor, atWork(untilShown), framesBusy() ? 10 : 0);
      if (wait <= 0) return { settled: !ticking, still: false };
      if (left() <= 0) return { settled: false, still: false };
      await hear(Math.min(wait + 1, left()), () => undefined);
    }
  };
