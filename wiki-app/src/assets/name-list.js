import { make } from './make.js'

const OFFERED_MAX = 8

const MOVES = /** @type {Record<string, (at: number, count: number) => number>} */ ({
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at > 0 ? at : count) - 1
})

/**
 * The field keeps the focus. https://www.w3.org/WAI/ARIA/apg/patterns/listbox/
 * @param {HTMLInputElement | HTMLTextAreaElement} field
 * @param {object} parts
 * @param {string} parts.id  of the list
 * @param {Element} parts.holder  of the list
 * @param {number} parts.first  the option that is marked at first; -1: none
 * @param {(name: string) => void} parts.choose
 * @param {(message: string) => void} parts.say
 */
export function createNameList (field, { id, holder, first, choose, say }) {
  // Neither a textarea nor a search field may be a combobox (https://www.w3.org/TR/html-aria/), but both may
  // have a list.
  const list = make('ul', { id, className: 'names', role: 'listbox', 'aria-label': 'Pages', hidden: true })
  holder.append(list)
  field.setAttribute('aria-autocomplete', 'list')
  field.setAttribute('aria-controls', id)
  let asking = new AbortController()
  let marked = -1

  /** @param {number} index */
  function mark (index) {
    marked = index
    for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === index))
    field.removeAttribute('aria-activedescendant')
    if (index < 0) return
    list.children[index].scrollIntoView({ block: 'nearest' })
    field.setAttribute('aria-activedescendant', list.children[index].id)
  }

  /** @param {string[]} names */
  function show (names) {
    if (names.length === 0 || document.activeElement !== field) return close()
    list.replaceChildren(...names.map((name, index) => optionOf(`${id}-${index}`, name, () => take(name))))
    list.hidden = false
    mark(first)
    say(`${names.length === 1 ? 'One page' : `${names.length} pages`}: choose with the arrow keys and Enter.`)
  }

  function close () {
    asking.abort()
    if (list.hidden) return
    list.hidden = true
    list.replaceChildren()
    mark(-1)
    say('')
  }

  /** @param {string} name */
  function take (name) {
    close()
    choose(name)
  }

  field.addEventListener('keydown', (/** @type {any} */ event) => {
    if (list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    if (Object.hasOwn(MOVES, event.key)) mark(MOVES[event.key](marked, list.children.length))
    else if (['Enter', 'Tab'].includes(event.key) && marked >= 0) take(list.children[marked].textContent ?? '')
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
  })
  field.addEventListener('blur', close)

  return {
    list,
    close,

    /** @param {string} query @param {(names: string[]) => string[]} wanted  of the names found; none when it is late */
    async offer (query, wanted) {
      asking.abort()
      asking = new AbortController()
      const { signal } = asking
      try {
        const asked = new URLSearchParams({ q: query.trim(), limit: String(OFFERED_MAX) })
        const { items } = await (await fetch(`/api/v1/pages?${asked}`, { signal })).json()
        show(wanted(items.map((/** @type {{name: string}} */ { name }) => name)))
      } catch {
        if (!signal.aborted) close()
      }
    }
  }
}

/** @param {string} id @param {string} name @param {() => void} onclick */
function optionOf (id, name, onclick) {
  const onmousedown = (/** @type {Event} */ event) => event.preventDefault()
  return make('li', { id, role: 'option', dir: 'auto', textContent: name, onmousedown, onclick })
}
