// The button beside a short link or a token. Without scripts the text is there to be selected.
const copy = /** @type {HTMLButtonElement} */ (document.querySelector('[data-copies]'))
const shown = /** @type {HTMLInputElement} */ (document.getElementById(String(copy.dataset.copies)))
// The browser knows better than the wiki which scheme and host its reader uses.
if (shown.dataset.path !== undefined) shown.value = new URL(shown.dataset.path, location.href).href
shown.onfocus = () => shown.select()
copy.hidden = false
copy.onclick = async () => {
  shown.select()
  // Without https there is no clipboard for scripts.
  const copied = await navigator.clipboard?.writeText(shown.value).then(() => true, () => false)
  const status = /** @type {HTMLElement} */ (copy.nextElementSibling)
  status.textContent = copied ? t('Copied') : t('Press Ctrl+C to copy it')
}

export {}
