/** The name that an author gives is known to this browser alone. */
const field = /** @type {HTMLInputElement | null} */ (document.querySelector('input[name="author"]'))

// Storage may throw in private windows.
const attempt = (/** @type {() => void} */ use) => { try { use() } catch {} }

if (field !== null) {
  attempt(() => { field.value ||= localStorage.author ?? '' })
  field.form?.addEventListener('submit', () => attempt(() => {
    if (field.value === '') localStorage.removeItem('author')
    else localStorage.author = field.value
  }))
}
