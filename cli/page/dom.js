// Elements. Whatever comes from a job is text and never markup.

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [attributes]
 *   functions listen to events, `true` is an attribute without a value, `false` none at all
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      element.addEventListener(name, value);
    } else if (value !== false) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  element.append(...children);
  return element;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element;
}

/** Sets text only where it is another: what is read aloud or selected stays.
 * @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let choices = 0;

/**
 * A choice of one, with its label.
 * @param {string} label
 * @param {[string, string][]} options value and text of each
 * @param {(value: string) => void} chosen
 */
export function choice(label, options, chosen) {
  choices += 1;
  const id = `choice-${choices}`;
  const select = el('select', { id, change: () => chosen(select.value) });
  for (const [value, text] of options) select.append(el('option', { value }, text));
  return { node: el('span', {}, el('label', { for: id }, label), ' ', select), select };
}

/** What an answer says of its analyses, a line each.
 * @param {HTMLElement} element @param {object} answer */
export function showNotes(element, answer) {
  const { notes = [] } = /** @type {{notes?: string[]}} */ (answer);
  say(element, notes.map((note) => `note: ${note}`).join('\n'));
}
