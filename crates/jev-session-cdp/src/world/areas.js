  // Parts of the page that scroll by themselves and have a name: offered only when the host names them.
  const AREAS_MOST = 5_000;
  const NAMED = "[aria-label],[aria-labelledby],[title]";
  const UP = "u";
  const DOWN = "d";

  /** How far a part can still be scrolled, up and down; null when it does not scroll. */
  const roomIn = (el) => {
    const over = scrollHeightOf.call(el) - clientHeightOf.call(el);
    if (over <= 4 || clientHeightOf.call(el) < 20) return null;
    const flow = css(el).overflowY;
    if (flow !== "auto" && flow !== "scroll") return null;
    const top = scrollTopOf.call(el);
    return { up: top, down: over - top };
  };

  const areaName = (el) =>
    labelledBy(el) || attributeLine(el, "aria-label", LABEL_MOST) || attributeLine(el, "title", LABEL_MOST);

  /** The named areas that can be scrolled now, as candidates: one for each way that is open. */
  const areas = (options, modal) => {
    const found = [];
    if (options.areas !== true) return found;
    const main = mainScroller();
    let seen = 0;
    for (const el of documentQuery.call(doc, NAMED)) {
      if ((seen += 1) > AREAS_MOST) break;
      const room = roomIn(el);
      if (room === null || el === main || !drawn(el)) continue;
      if (closest.call(el, "[inert],[aria-hidden=true]") !== null || (modal !== null && !contains.call(modal, el))) continue;
      const label = areaName(el);
      if (label === "") continue;
      const rect = boxOf.call(el);
      const place = rect.bottom <= 0 ? "above" : rect.top >= innerHeight ? "below" : "in_view";
      if (options.reach === "viewport" && place !== "in_view") continue;
      for (const way of [DOWN, UP]) {
        const open = way === DOWN ? room.down : room.up;
        if (open < 1) continue;
        const id = idOf(el) + way;
        const guard = guardOf(el, localNameOf.call(el), null, id, label);
        // How far it is scrolled is no part of the guard: only what is scrolled is judged.
        const where = Math.round(room.up) + " px above, " + Math.round(room.down) + " px below";
        found.push([id, way === DOWN ? "scroll_area_down" : "scroll_area_up", label, null, where, place, guard]);
      }
    }
    return found;
  };

  /** Scrolls a named area, if it is still the one that was judged. */
  const scroll_area = (permit) => {
    const found = guarded(permit, permit.id.slice(0, -1), (el) => recordOf(el, localNameOf.call(el), null, areaName(el)));
    const { el } = found;
    if (el === undefined) return JSON.stringify(found);
    return scrollBy(el, clientHeightOf.call(el), permit.pages, permit.id.endsWith(DOWN));
  };
