  // What lies under text that has its ancestors' colour: pictures and boxes painted in another one.
  // Asked rarely, so it may cost something. Text that stands in its place is looked for among its
  // neighbours only. Positioned text may lie over anything: what a page paints is then noted once for
  // all such text.
  const PICTURES_BENEATH = "img,video,canvas,svg,picture,object,iframe,embed";
  const PICTURE_TAGS = new Set(PICTURES_BENEATH.split(","));
  /** Levels above text that stands in its place, and neighbours looked at on each. */
  const NEAR_UP = 4;
  const NEIGHBOURS_MOST = 40;
  /** Levels above positioned text. */
  const FAR_UP = 60;
  /** Nodes that are looked into in one survey; with none left, anything may lie anywhere. */
  const SURVEYED_MOST = 50_000;

  /** What was found painted in nodes, for as long as nothing moves. */
  const newSurvey = () => ({ left: SURVEYED_MOST, within: new Map(), inside: new Map(), generated: new Map() });

  /** Whether something else than `ground` lies under the text of a node. */
  const somethingBeneath = (node, ground, far, survey) => {
    const mine = box(boxOf.call(node), 0, 0);
    if (altersColours(css(node)) || generatedBeneath(node, ground, survey)) return true;
    // Whether an ancestor that made the ground does not lie under the text at all.
    let escaped = false;
    let at = node;
    for (let up = 0; up < (far ? FAR_UP : NEAR_UP); up += 1) {
      const around = parentNodeOf.call(at);
      const parent = drawnParent(at);
      if (around === null || parent === null) break;
      const beside = far ? surveyedBeneath(node, at, around, mine, ground, survey) : neighbourBeneath(node, at, around, mine, ground);
      if (beside || generatedBeneath(parent, ground, survey)) return true;
      const tag = localNameOf.call(parent);
      if (tag === "html") break;
      const its = css(parent);
      if (altersColours(its)) return true;
      const image = its.backgroundImage !== "none";
      const paint = colourOf(its.backgroundColor);
      if (image || paint.alpha >= LEAST_OPACITY) {
        if (tag !== "body" && its.display !== "contents" && !holds(box(boxOf.call(parent), 0, 0), mine)) {
          escaped = true;
          far = true;
        } else if (image || paint.alpha >= 1) {
          return escaped && (image || !alike(paint.value, ground));
        }
      }
      at = parent;
    }
    if (!far) return false;
    const of = ownerDocumentOf.call(node);
    const view = viewOf.call(of);
    const outer = view === null || of === doc ? null : view.frameElement;
    if (outer !== null) return somethingBeneath(outer, ground, far, survey);
    return escaped && !alike(canvasOf(of), ground);
  };

  /** Whether what a box shows has other colours than its style says. */
  const altersColours = (its) =>
    its.mixBlendMode !== "normal" || its.backdropFilter !== "none" || !/^(?:none|opacity\([^)]*\))$/.test(its.filter);

  const differs = (its, ground) => {
    const painted = paintedGround(its, its.backgroundImage, its.backgroundColor, ground);
    return painted < 0 || !alike(painted, ground);
  };
  const paintsBox = (its) => its.visibility === "visible" && (its.backgroundImage !== "none" || its.backgroundColor !== CLEAR);

  /** Whether a box that only the style sheet makes paints something else than `ground` in a node. */
  const generatedBeneath = (el, ground, survey) => {
    let found = survey.generated.get(el);
    if (found === undefined) {
      found = [];
      for (const which of ["::before", "::after"]) {
        const its = styleOf.call(globalThis, el, which);
        if (its.content === "none" || its.content === "normal" || its.display === "none") continue;
        // Where it lies can't be asked; what is smaller than a word lies under none.
        if (!(parseFloat(its.width) >= 24 && parseFloat(its.height) >= 8)) continue;
        if (+its.opacity >= LEAST_OPACITY && paintsBox(its)) found.push(its);
      }
      survey.generated.set(el, found);
    }
    return found.some((its) => differs(its, ground));
  };

  const neighbourBeneath = (node, at, around, mine, ground) => {
    let seen = 0;
    const inside = nodeTypeOf.call(around) === 1 ? queryIn.call(around, PICTURES_BENEATH) : [];
    for (const other of inside) {
      if ((seen += 1) > NEIGHBOURS_MOST) break;
      if (isApart(node, other) && shows(mine, box(boxOf.call(other), 0, 0))) return true;
    }
    seen = 0;
    for (let next = firstChildOf.call(around); next !== null; next = nextSiblingOf.call(next)) {
      if (nodeTypeOf.call(next) !== 1 || next === at) continue;
      if ((seen += 1) > NEIGHBOURS_MOST) break;
      const its = css(next);
      if (its.display !== "none" && paintsBox(its) && shows(mine, box(boxOf.call(next), 0, 0)) && differs(its, ground)) return true;
    }
    return false;
  };
  const isApart = (a, b) => !contains.call(a, b) && !contains.call(b, a);

  /** The same for all that the neighbours hold. */
  const surveyedBeneath = (node, at, around, mine, ground, survey) => {
    let found = survey.within.get(around);
    if (found === undefined) {
      found = [];
      for (let child = firstChildOf.call(around); child !== null; child = nextSiblingOf.call(child)) {
        if (nodeTypeOf.call(child) !== 1) continue;
        const painted = paintedIn(child, survey, 0);
        if (painted.length > 0) found.push([child, painted]);
      }
      survey.within.set(around, found);
    }
    if (survey.left <= 0) return true;
    for (const [child, painted] of found) {
      if (child === at) continue;
      for (const one of painted) {
        if (shows(mine, one.box) && (one.picture || differs(one.its, ground)) && isApart(node, one.el)) return true;
      }
    }
    return false;
  };

  /** Pictures and painted boxes in a node and below. */
  const paintedIn = (el, survey, depth) => {
    const known = survey.inside.get(el);
    if (known !== undefined) return known;
    let found = [];
    if (survey.left <= 0 || depth > MAX_DEPTH) return found;
    survey.left -= 1;
    const its = css(el);
    if (its.display !== "none") {
      const picture = PICTURE_TAGS.has(localNameOf.call(el));
      if (picture || paintsBox(its)) found.push({ el, its, picture, box: box(boxOf.call(el), 0, 0) });
      for (let child = firstChildOf.call(el); child !== null; child = nextSiblingOf.call(child)) {
        if (nodeTypeOf.call(child) === 1) found = found.concat(paintedIn(child, survey, depth + 1));
      }
    }
    survey.inside.set(el, found);
    return found;
  };
