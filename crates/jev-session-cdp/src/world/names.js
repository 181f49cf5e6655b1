  // Accessible names, as far as a choice between controls needs them.
  const LABEL_MOST = 300;

  const attributeLine = (el, name, most) => {
    const found = getAttribute.call(el, name);
    return found === null ? "" : line(found, most);
  };

  const byId = (el, id) => {
    const root = getRootNode.call(el);
    const type = nodeTypeOf.call(root);
    if (type === 9) return documentById.call(root, id);
    return type === 11 ? fragmentById.call(root, id) : null;
  };

  const labelledBy = (el) => {
    const ids = getAttribute.call(el, "aria-labelledby");
    if (ids === null) return "";
    const found = [];
    for (const id of cut(ids, 500).trim().split(/\s+/).slice(0, 8)) {
      const other = id === "" ? null : byId(el, id);
      if (other === null) continue;
      const own = attributeLine(other, "aria-label", LABEL_MOST);
      // A label may be referred to although it is not drawn.
      found.push(own || plainText(other, LABEL_MOST) || line(textContentOf.call(other), LABEL_MOST));
    }
    return line(found.join(" "), LABEL_MOST);
  };

  const PICTURES = "img[alt],area[alt],input[type=image][alt],[role=img][aria-label],svg";
  const pictureName = (el) => {
    const found = [];
    for (const part of queryIn.call(el, PICTURES)) {
      if (found.length === 4) break;
      if (!checkVisibility.call(part)) continue;
      let name = attributeLine(part, "alt", LABEL_MOST) || attributeLine(part, "aria-label", LABEL_MOST);
      if (name === "" && localNameOf.call(part) === "svg") name = drawingTitle(part);
      if (name !== "") found.push(name);
    }
    return line(found.join(" "), LABEL_MOST);
  };
  const drawingTitle = (svg) => {
    for (let child = firstChildOf.call(svg); child !== null; child = nextSiblingOf.call(child)) {
      if (nodeTypeOf.call(child) === 1 && localNameOf.call(child) === "title") {
        return line(textContentOf.call(child), LABEL_MOST);
      }
    }
    return "";
  };

  const titleInside = (el) => {
    for (const part of queryIn.call(el, "[title],[aria-label]")) {
      const name = attributeLine(part, "aria-label", LABEL_MOST) || attributeLine(part, "title", LABEL_MOST);
      if (name !== "" && checkVisibility.call(part)) return name;
    }
    return "";
  };

  /** The text of an element that holds nothing else, seen or not. */
  const onlyText = (el) => {
    const only = firstChildOf.call(el);
    if (only === null || nodeTypeOf.call(only) !== 3 || nextSiblingOf.call(only) !== null) return "";
    return shadowRootOf.call(el) !== null || parseFloat(css(el).fontSize) < LEAST_FONT ? "" : line(dataOf.call(only), LABEL_MOST);
  };

  /**
   * The text that a reader sees in a link or control. `walked` is what a walk that has just left it
   * knows: the context inside, whether text right in it was seen, its survey. The same text is found
   * without.
   */
  const shownText = (el, walked) => {
    const only = onlyText(el);
    if (only !== "" && walked !== undefined) return walked.text ? only : "";
    const found = walked === undefined ? seenText(el, contextOf(el), LABEL_MOST) : seenText(el, walked.ctx, LABEL_MOST, walked.survey);
    return only !== "" && found !== "" ? only : found;
  };

  /** Texts taken together for the name of something that shows none. */
  const SPOKEN_MOST = 200;
  /** Text that is there for screen readers, for example beside an icon; what is not drawn at all is not. */
  const spokenText = (el) => {
    const words = [];
    const collectWords = (node, depth) => {
      for (let child = firstChildOf.call(node); child !== null; child = nextSiblingOf.call(child)) {
        if (words.length >= SPOKEN_MOST || depth > 40) return;
        const type = nodeTypeOf.call(child);
        if (type === 3) words.push(cut(dataOf.call(child), LABEL_MOST));
        else if (type === 1 && !SKIPPED.has(localNameOf.call(child)) && checkVisibility.call(child, { checkVisibilityCSS: true })) {
          collectWords(child, depth + 1);
        }
      }
    };
    collectWords(el, 0);
    return line(words.join(""), LABEL_MOST);
  };

  const SAYS_SOMETHING = /[\p{L}\p{N}]/u;
  /** A given name, after the text in plain sight when the name does not hold it. */
  const nameBeside = (shown, given) => {
    if (!SAYS_SOMETHING.test(shown) || given.toLowerCase().includes(shown.toLowerCase())) return given;
    return line(shown + " " + given, LABEL_MOST);
  };

  /** What a page calls something by attributes of its own. */
  const givenName = (el) => labelledBy(el) || attributeLine(el, "aria-label", LABEL_MOST);

  /** The name of a link or control; empty when it has none. `walked` as for shownText(). */
  const nameOf = (el, tag, walked) => {
    const given = givenName(el);
    if (tag === "input") {
      const type = inputTypeOf.call(el);
      if (type === "button" || type === "submit" || type === "reset") return nameBeside(line(inputValueOf.call(el), LABEL_MOST), given);
      return given || labelOfInput(el) || attributeLine(el, "alt", LABEL_MOST) || attributeLine(el, "title", LABEL_MOST);
    }
    const shown = shownText(el, walked);
    if (given !== "") return nameBeside(shown, given);
    return (
      shown ||
      pictureName(el) ||
      attributeLine(el, "title", LABEL_MOST) ||
      titleInside(el) ||
      spokenText(el)
    );
  };

  const textOfLabel = (label) => seenText(label, contextOf(label), LABEL_MOST) || plainText(label, LABEL_MOST);

  const labelOfInput = (el) => {
    const around = closest.call(el, "label");
    if (around !== null) return textOfLabel(around);
    const id = getAttribute.call(el, "id");
    if (id === null || id === "") return "";
    const root = getRootNode.call(el);
    const found = nodeTypeOf.call(root) === 9 ? documentQuery.call(root, "label[for]") : [];
    for (const label of found) if (getAttribute.call(label, "for") === id) return textOfLabel(label);
    return "";
  };
