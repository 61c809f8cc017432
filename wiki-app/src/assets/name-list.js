import { make } from './make.js'

const OFFERED_MAX = 8

const MOVES = /** @type {Record<string, (at: number, count: number) => number>} */ ({
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at > 0 ? at : count) - 1
})

/**
 * The field keeps the focus. https://www.w3.org/WAI/ARIA/apg/patterns/listbox/
 * @param {() => HTMLElement} field  in the holder; another one may take its place
 * @param {object} parts
 * @param {string} parts.id  of the list
 * @param {HTMLElement} parts.holder  of the list and the field
 * @param {number} parts.first  the option that is marked at first; -1: none
 * @param {string[]} parts.keys  that choose the marked option
 * @param {(name: string) => void} parts.choose
 * @param {(message: string) => void} parts.say
 */
export function createNameList (field, { id, holder, first, keys, choose, say }) {
  // Neither a textarea nor a search field may be a combobox (https://www.w3.org/TR/html-aria/), but both may
  // have a list.
  const list = make('ul', { id, className: 'names', role: 'listbox', 'aria-label': t('Pages'), hidden: true })
  holder.append(list)
  for (const [name, value] of [['autocomplete', 'list'], ['controls', id]]) field().setAttribute(`aria-${name}`, value)
  let asking = new AbortController()
  let marked = -1

  /** @param {number} index */
  function mark (index) {
    marked = index
    for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === index))
    field().removeAttribute('aria-activedescendant')
    if (index < 0) return
    list.children[index].scrollIntoView({ block: 'nearest' })
    field().setAttribute('aria-activedescendant', list.children[index].id)
  }

  /** @param {string[]} names */
  function show (names) {
    if (names.length === 0 || document.activeElement !== field()) return close()
    list.replaceChildren(...names.map((name, index) => optionOf(`${id}-${index}`, name, () => take(name))))
    list.hidden = false
    mark(first)
    say(`${names.length === 1 ? t('One page') : `${names.length} ${t('pages')}`}${
      t(': choose with the arrow keys and Enter.')}`)
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

  // Before the field's own keys.
  holder.addEventListener('keydown', (/** @type {any} */ event) => {
    if (event.target !== field() || list.hidden) return
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    if (Object.hasOwn(MOVES, event.key)) mark(MOVES[event.key](marked, list.children.length))
    else if (marked >= 0 && keys.includes(event.key)) take(list.children[marked].textContent ?? '')
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
  }, true)
  holder.addEventListener('blur', close, true)
  // What is marked was found for what was written before.
  holder.addEventListener('input', () => { if (!list.hidden) mark(-1) }, true)

  return {
    list,
    close,

    /** @param {string} query @param {(names: string[]) => string[]} wanted  of the names found; none when it is late */
    async offer (query, wanted) {
      asking.abort()
      asking = new AbortController()
      const { signal } = asking
      try {
        show(wanted(await namesFor(query.trim(), signal)))
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

/** @param {string} q @param {AbortSignal} signal @returns {Promise<string[]>} @throws {Error} also for a refusal */
async function namesFor (q, signal) {
  const answer = await fetch(`/api/v1/pages?${new URLSearchParams({ q, limit: String(OFFERED_MAX) })}`, { signal })
  const { items } = await answer.json()
  return items.map((/** @type {{name: string}} */ { name }) => name)
}
