  // The end of the world: what our own calls may use.
  const world = {
    document: doc, epoch, look, state, placed, change,
    click: touching(click), arm: touching(arm), disarm: touching(disarm), ground: touching(ground), scroll: touching(scroll),
    scroll_area: touching(scroll_area),
    begin_fill: touching(begin_fill), end_fill: touching(end_fill), press: touching(press),
  };
  Object.defineProperty(globalThis, KEY, { value: world, configurable: true });
  attendWindow(globalThis);
  if (readyStateOf.call(doc) !== "loading") attendDocument(doc);
})();
