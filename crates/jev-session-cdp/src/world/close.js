  // The end of the world: what our own calls may use.
  const world = { document: doc, epoch, look, state, placed, change, click, arm, disarm, scroll, scroll_area, begin_fill, end_fill, press };
  Object.defineProperty(globalThis, KEY, { value: world, configurable: true });
  attendWindow(globalThis);
  if (readyStateOf.call(doc) !== "loading") attendDocument(doc);
})();
