  // The host's own hand: the one field or control of a role and a name, filled or pressed.
  const focusOn = HTMLElement.prototype.focus;
  const blurOff = HTMLElement.prototype.blur;
  const editableOf = read(HTMLElement.prototype, "isContentEditable");
  const selectInput = HTMLInputElement.prototype.select;
  const selectArea = HTMLTextAreaElement.prototype.select;
  const labelsOfInput = read(HTMLInputElement.prototype, "labels");
  const labelsOfArea = read(HTMLTextAreaElement.prototype, "labels");
  const selectionOf = D.getSelection;
  const selectChildren = Selection.prototype.selectAllChildren;

  /** Most elements that are looked at in search of one. */
  const HOST_MOST = 200_000;

  const FIELDS = "input,textarea,[contenteditable],[role=textbox],[role=searchbox],[role=combobox]";
  const CONTROLS = "a[href],button,summary,input,[role]";
  const FIELD_ROLES = { __proto__: null, textbox: "text_box", searchbox: "search_box", combobox: "combo_box" };
  const NO_TEXT = new Set([
    "hidden", "checkbox", "radio", "file", "submit", "button", "reset", "image", "color", "range",
  ]);

  /** The document, its open shadow roots and the documents of its frames that can be read. */
  const allRoots = () => {
    const roots = [doc];
    let seen = 0;
    for (let at = 0; at < roots.length && at < 500; at += 1) {
      const root = roots[at];
      const inside = nodeTypeOf.call(root) === 9 ? documentQuery.call(root, "*") : fragmentQuery.call(root, "*");
      for (const el of inside) {
        if ((seen += 1) > HOST_MOST) return roots;
        const shadow = shadowRootOf.call(el);
        if (shadow !== null) roots.push(shadow);
        const tag = localNameOf.call(el);
        if (tag === "iframe" || tag === "frame") {
          const inner = tag === "iframe" ? frameDocumentOf.call(el) : oldFrameDocumentOf.call(el);
          if (inner !== null) roots.push(inner);
        }
      }
    }
    return roots;
  };
  const fragmentQuery = DocumentFragment.prototype.querySelectorAll;

  const drawn = (el) => {
    if (!checkVisibility.call(el, { checkOpacity: true, checkVisibilityCSS: true })) return false;
    return partsOf(el).length > 0;
  };

  const fieldRoleOf = (el, tag) => {
    const given = getAttribute.call(el, "role");
    const role = given === null ? undefined : FIELD_ROLES[cut(given, 60).trim().split(/\s+/)[0].toLowerCase()];
    const html = namespaceOf.call(el) === HTML;
    if (html && tag === "input") {
      const type = inputTypeOf.call(el);
      if (NO_TEXT.has(type)) return null;
      return role ?? (hasAttribute.call(el, "list") ? "combo_box" : type === "search" ? "search_box" : "text_box");
    }
    if (html && tag === "textarea") return role ?? "text_box";
    if (!(el instanceof HTMLElement) || !editableOf.call(el)) return null;
    const parent = parentElementOf.call(el);
    // The outermost editable element is the field.
    return parent !== null && parent instanceof HTMLElement && editableOf.call(parent) ? null : (role ?? "text_box");
  };

  const INSIDE_LABELS = new Set(["input", "textarea", "select", "button", "datalist", "script", "style"]);

  /** The words of a label, without the field that stands in it and what is written there. */
  const labelWords = (node, words, depth) => {
    if (depth > 40) return;
    for (let child = firstChildOf.call(node); child !== null; child = nextSiblingOf.call(child)) {
      const type = nodeTypeOf.call(child);
      if (type === 3) words.push(dataOf.call(child));
      else if (type === 1 && !INSIDE_LABELS.has(localNameOf.call(child)) && checkVisibility.call(child)) {
        labelWords(child, words, depth + 1);
      }
    }
  };

  const fieldNameOf = (el, tag) => {
    const given = labelledBy(el) || attributeLine(el, "aria-label", LABEL_MOST);
    if (given !== "") return given;
    const labels = tag === "input" ? labelsOfInput.call(el) : tag === "textarea" ? labelsOfArea.call(el) : null;
    for (const label of labels ?? []) {
      const words = [];
      labelWords(label, words, 0);
      const name = line(words.join(""), LABEL_MOST);
      if (name !== "") return name;
    }
    return (
      attributeLine(el, "title", LABEL_MOST) ||
      attributeLine(el, "placeholder", LABEL_MOST) ||
      attributeLine(el, "aria-placeholder", LABEL_MOST)
    );
  };

  /** The one element of a role and a name: itself, or why there is none. */
  const onlyOne = (selector, wanted) => {
    let found = null;
    for (const root of allRoots()) {
      const inside = nodeTypeOf.call(root) === 9 ? documentQuery.call(root, selector) : fragmentQuery.call(root, selector);
      for (const el of inside) {
        try {
          if (!wanted(el, localNameOf.call(el)) || !drawn(el)) continue;
        } catch {
          continue;
        }
        if (found !== null) return { refused: "ambiguous" };
        found = el;
      }
    }
    return found === null ? { refused: "not_found" } : { el: found };
  };

  const locked = (el, tag) =>
    disabled(el, tag) || closest.call(el, "[inert]") !== null ||
    hasAttribute.call(el, "readonly") || getAttribute.call(el, "aria-readonly") === "true";

  const valueOf = (el, tag) =>
    tag === "input" ? inputValueOf.call(el) : tag === "textarea" ? areaValueOf.call(el) : textContentOf.call(el);

  /** The field that is being filled. */
  let filling = null;

  const refuse = (refused) => JSON.stringify({ refused, epoch });

  /** Finds a field and puts the cursor over all that stands in it. */
  const begin_fill = ({ role, name, allow }) => {
    const { el, refused } = onlyOne(FIELDS, (one, tag) => fieldRoleOf(one, tag) === role && fieldNameOf(one, tag) === name);
    if (el === undefined) return refuse(refused);
    const tag = localNameOf.call(el);
    if (locked(el, tag)) return refuse("disabled");
    const why = reach(el, null);
    if (why !== "") return refuse(why.split(" ")[0]);
    focusOn.call(el);
    if (tag === "input") selectInput.call(el);
    else if (tag === "textarea") selectArea.call(el);
    else selectChildren.call(selectionOf.call(ownerDocumentOf.call(el)), el);
    // Typing sends nothing: a form or a page that would is stopped.
    armed = expecting({});
    filling = { el, tag, before: valueOf(el, tag), role, mine: armed };
    return JSON.stringify({ epoch });
  };

  /** Says what came of the typing, and leaves the field as a person does. */
  const end_fill = ({ text }) => {
    if (filling === null) return refuse("not_found");
    const { el, tag, before, role, mine } = filling;
    filling = null;
    try {
      const after = valueOf(el, tag);
      // The field keeps the cursor while its suggestions are open.
      if (role !== "combo_box") blurOff.call(el);
      if (mine.vetoed) return refuse("diverted");
      return JSON.stringify({ epoch, done: after === text || after !== before ? "changed" : "nothing" });
    } finally {
      if (armed === mine) armed = null;
    }
  };

  const controlRoleOf = (el, tag) => (addressOf(el, tag) === null ? roleOf(el, tag) : LINK);

  /** Presses the one control of a role and a name, whatever it is. */
  const press = async ({ role, name, allow, patience, off }) => {
    const { el, refused } = onlyOne(CONTROLS, (one, tag) =>
      controlRoleOf(one, tag) === role && labelOf(one, tag, addressOf(one, tag)) === name);
    if (el === undefined) return refuse(refused);
    const tag = localNameOf.call(el);
    const href = addressOf(el, tag);
    if (disabled(el, tag) || closest.call(el, "[inert]") !== null) return refuse("disabled");
    if (href !== null && !permitted(href, allow)) return refuse("off_list");
    const why = reach(el, href);
    if (why !== "") return refuse(why.split(" ")[0]);
    const came = await clickOn(el, tag, { href, allow, host: true, patience, off });
    return JSON.stringify({ epoch, ...came });
  };

