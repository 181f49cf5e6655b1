  // Colours, the ground that lies behind text, and whether text can be told from it.

  /** The least opacity, after multiplying all ancestors', that counts as seen. */
  const LEAST_OPACITY = 0.1;
  /** Greatest difference of a colour channel at which text and ground count as the same colour. */
  const SAME_COLOUR = 10;
  /** What an element without a ground of its own has. */
  const CLEAR = "rgba(0, 0, 0, 0)";
  /** What can't be known, such as a picture. */
  const UNKNOWN_GROUND = -1;

  const PLAIN = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.e-]+))?\)$/;
  /** Colours that are remembered. */
  const COLOURS_MOST = 500;
  const colours = new Map();
  let easel = null;
  /** A colour of another notation, such as oklch(), as one dot of it looks. */
  const dotOf = (text) => {
    easel ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    easel.clearRect(0, 0, 1, 1);
    easel.fillStyle = "rgb(1, 2, 3)";
    easel.fillStyle = text;
    easel.fillRect(0, 0, 1, 1);
    const [red, green, blue, seen] = easel.getImageData(0, 0, 1, 1).data;
    return { value: (red << 16) | (green << 8) | blue, alpha: seen / 255 };
  };
  /** A colour of a style: red, green and blue as one number, and how opaque it is. */
  const colourOf = (text) => {
    let known = colours.get(text);
    if (known !== undefined) return known;
    const parts = PLAIN.exec(text);
    known =
      parts === null
        ? dotOf(text)
        : { value: (+parts[1] << 16) | (+parts[2] << 8) | +parts[3], alpha: parts[4] === undefined ? 1 : +parts[4] };
    if (colours.size >= COLOURS_MOST) colours.clear();
    colours.set(text, known);
    return known;
  };
  const alpha = (text) => colourOf(text).alpha;

  const alike = (a, b) =>
    Math.abs((a >> 16) - (b >> 16)) <= SAME_COLOUR &&
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)) <= SAME_COLOUR &&
    Math.abs((a & 255) - (b & 255)) <= SAME_COLOUR;

  /** How a colour looks on a ground. */
  const laidOn = (ground, { value, alpha: seen }) => {
    if (seen >= 1) return value;
    if (seen <= 0) return ground;
    // Nearly opaque: what lies beneath changes it by less than what counts as the same.
    if (ground < 0) return seen > 1 - SAME_COLOUR / 255 ? value : UNKNOWN_GROUND;
    const mix = (shift) => {
      const low = (ground >> shift) & 255;
      return Math.round(low + (((value >> shift) & 255) - low) * seen) << shift;
    };
    return mix(16) | mix(8) | mix(0);
  };

  /** Longer ones are not looked into; addresses of pictures can be of any length. */
  const IMAGE_MOST = 2000;
  const COLOUR_IN_IMAGE = /\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\([^()]*\)|\bcurrentcolor\b/gi;
  const FUNCTION_IN_IMAGE = /([\w-]+)\(/g;
  /** All colours of a background that is made of gradients only; null for any other. */
  const gradientColours = (image, style) => {
    if (image.length > IMAGE_MOST || !image.includes("gradient(")) return null;
    const found = [];
    const rest = image.replace(COLOUR_IN_IMAGE, (text) => {
      found.push(colourOf(text.toLowerCase() === "currentcolor" ? style.color : text));
      return "";
    });
    for (const [, name] of rest.matchAll(FUNCTION_IN_IMAGE)) {
      if (!name.endsWith("-gradient") && name !== "calc") return null;
    }
    return found.length === 0 ? null : found;
  };

  /** Whether a background image surely leaves nothing of its box free. */
  const fillsBox = (style) => {
    const size = style.backgroundSize;
    if (style.backgroundRepeat === "repeat") return !/^0|e-/.test(size);
    return (size === "auto" || size === "cover" || size === "100% 100%") && style.backgroundPosition === "0% 0%";
  };

  /** The ground inside a box that paints something on `ground`. */
  const paintedGround = (style, image, paint, ground) => {
    const clip = style.webkitBackgroundClip;
    // What is painted through the letters is no ground for them.
    if (clip.includes("text")) return clip === "text" ? ground : UNKNOWN_GROUND;
    const plain = paint === CLEAR ? ground : laidOn(ground, colourOf(paint));
    if (image === "none") return plain;
    const found = gradientColours(image, style);
    if (found === null) return UNKNOWN_GROUND;
    const seen = found.map((one) => laidOn(plain, one));
    if (!fillsBox(style)) seen.push(plain);
    if (seen.includes(UNKNOWN_GROUND)) return UNKNOWN_GROUND;
    let middle = 0;
    for (const shift of [16, 8, 0]) {
      const channel = seen.map((value) => (value >> shift) & 255);
      const least = Math.min(...channel);
      const most = Math.max(...channel);
      if (most - least > 2 * SAME_COLOUR) return UNKNOWN_GROUND;
      middle |= ((least + most) >> 1) << shift;
    }
    return middle;
  };

  /** What a document without any colour shows: white, or nearly black in the browser's dark colours. */
  const canvasOf = (of) => {
    const root = rootOf.call(of);
    let scheme = root === null ? "normal" : css(root).colorScheme;
    if (scheme === "normal") {
      const meta = queryOne.call(of, "meta[name=color-scheme i][content]");
      if (meta !== null) scheme = cut(getAttribute.call(meta, "content"), 100);
    }
    return canvasIn(scheme);
  };
  const canvasIn = (scheme) => (/\bdark\b/i.test(scheme) && !/\blight\b/i.test(scheme) ? 0x121212 : 0xffffff);

  const SHADOW = /([\w-]+\([^()]*\)) (-?[\d.e-]+)px (-?[\d.e-]+)px/g;
  /** Farther away in CSS pixels a shadow shows no letters where they stand. */
  const SHADOW_FAR = 100;
  /** The colours that letters are drawn with beside their own: shadows and outlines. */
  const besideInk = (style) => {
    const found = [];
    const shadow = style.textShadow;
    if (shadow !== "none") {
      for (const [, text, x, y] of cut(shadow, IMAGE_MOST).matchAll(SHADOW)) {
        if (Math.abs(+x) < SHADOW_FAR && Math.abs(+y) < SHADOW_FAR) found.push(colourOf(text));
      }
    }
    if (parseFloat(style.webkitTextStrokeWidth) > 0) found.push(colourOf(style.webkitTextStrokeColor));
    return found;
  };

  /** Whether letters of a drawing are painted at all; what shapes of it lie beneath is not known. */
  const paintShows = (paint, opacity) => {
    if (paint === "none" || +opacity < LEAST_OPACITY) return false;
    return paint.startsWith("url(") || paint.startsWith("context-") || alpha(paint) * +opacity >= LEAST_OPACITY;
  };

  /** Whether text of this style can be told from what it stands on. */
  const inkShows = (node, style, { ground, unsure }, job) => {
    if (namespaceOf.call(node) === SVG) return paintShows(style.fill, style.fillOpacity) || paintShows(style.stroke, style.strokeOpacity);
    const ink = colourOf(style.webkitTextFillColor);
    const inked = ink.alpha >= LEAST_OPACITY;
    if (inked && (ground < 0 || !alike(laidOn(ground, ink), ground))) return true;
    const drawn = besideInk(style).filter((one) => one.alpha >= LEAST_OPACITY);
    if (drawn.some((one) => ground < 0 || !alike(laidOn(ground, one), ground))) return true;
    if (ink.alpha < 1 && paintsThroughText(node, style, ground)) return true;
    return (inked || drawn.length > 0) && somethingBeneath(node, ground, unsure, job.survey);
  };

  /** Whether letters show a background of their own or of a box around them. */
  const paintsThroughText = (node, style, ground) => {
    let at = node;
    let its = style;
    for (let up = 0; up < 3 && at !== null; up += 1) {
      if (its.webkitBackgroundClip.includes("text")) {
        const shown = (one) => one.alpha >= LEAST_OPACITY && (ground < 0 || !alike(laidOn(ground, one), ground));
        const image = its.backgroundImage;
        if (image === "none") return shown(colourOf(its.backgroundColor));
        const found = gradientColours(image, its);
        return found === null || found.some(shown) || shown(colourOf(its.backgroundColor));
      }
      at = parentElementOf.call(at);
      if (at !== null) its = css(at);
    }
    return false;
  };
