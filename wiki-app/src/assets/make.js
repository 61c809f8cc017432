/**
 * @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {object} properties  with a dash: attributes
 * @param {(Node | string)[]} children
 */
export function make (tag, properties, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-') || name === 'role') element.setAttribute(name, value)
    else Object.assign(element, { [name]: value })
  }
  element.append(...children)
  return element
}
