import { make } from './make.js'

const KEYS = {
  '/': t('Search'),
  e: t('Edit'),
  h: t('History'),
  n: t('New page'),
  '?': t('These keys'),
  'Ctrl+S': t('Save, in the editor'),
  'Ctrl+Enter': t('Save, in the editor')
}

// Storage may throw in private windows.
const remember = (/** @type {Function} */ use) => { try { return use() } catch {} }

const used = make('input', { type: 'checkbox', checked: remember(() => localStorage.keys) !== 'off' })
used.onchange = () => remember(() => { localStorage.keys = used.checked ? 'on' : 'off' })
const dialog = make('dialog', { ariaLabel: t('Keys') },
  make('h2', {}, t('Keys')),
  make('dl', {}, ...Object.entries(KEYS).flatMap(([key, what]) =>
    [make('dt', {}, make('kbd', {}, key)), make('dd', {}, what)])),
  make('form', { method: 'dialog' },
    make('label', {}, used, ` ${t('Use these keys')}`), make('button', {}, t('Close'))))
document.body.append(dialog)

export const showKeys = () => dialog.showModal()
