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
      if (name !== "") return name;
    }
    return "";
  };

  /** The text of an element that holds nothing else; it is asked of elements that are seen. */
  const onlyText = (el) => {
    const only = firstChildOf.call(el);
    if (only === null || nodeTypeOf.call(only) !== 3 || nextSiblingOf.call(only) !== null) return "";
    return shadowRootOf.call(el) !== null || parseFloat(css(el).fontSize) < LEAST_FONT ? "" : line(dataOf.call(only), LABEL_MOST);
  };

  /** The name of a link or control; empty when it has none. */
  const nameOf = (el, tag) => {
    const given = labelledBy(el) || attributeLine(el, "aria-label", LABEL_MOST);
    if (given !== "") return given;
    if (tag === "input") {
      const type = inputTypeOf.call(el);
      if (type === "button" || type === "submit" || type === "reset") return line(inputValueOf.call(el), LABEL_MOST);
      return labelOfInput(el) || attributeLine(el, "alt", LABEL_MOST) || attributeLine(el, "title", LABEL_MOST);
    }
    return (
      onlyText(el) ||
      plainText(el, LABEL_MOST) ||
      pictureName(el) ||
      attributeLine(el, "title", LABEL_MOST) ||
      titleInside(el) ||
      // Text for screen readers only, for example beside an icon.
      line(textContentOf.call(el), LABEL_MOST)
    );
  };

  const labelOfInput = (el) => {
    const around = closest.call(el, "label");
    if (around !== null) return plainText(around, LABEL_MOST);
    const id = getAttribute.call(el, "id");
    if (id === null || id === "") return "";
    const root = getRootNode.call(el);
    const found = nodeTypeOf.call(root) === 9 ? documentQuery.call(root, "label[for]") : [];
    for (const label of found) if (getAttribute.call(label, "for") === id) return plainText(label, LABEL_MOST);
    return "";
  };
