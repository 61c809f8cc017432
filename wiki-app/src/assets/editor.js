import './editor-draft.js'
import './editor-preview.js'
import './editor-toolbar.js'
import { differs, form, text } from './editor-form.js'

// A touch screen would open its keyboard over the page.
if (!differs() && window.matchMedia('(hover: hover) and (pointer: fine)').matches) text.focus({ preventScroll: true })

// The form works without it.
import('./editor-field.js').catch(() => {})

addEventListener('keydown', (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  if (event.key !== 's' && event.key !== 'Enter') return
  event.preventDefault()
  form.requestSubmit()
})
