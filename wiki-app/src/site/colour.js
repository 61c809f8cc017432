/** WCAG 2.2, 1.4.3: for text of ordinary size. */
const CONTRAST_LEAST = 4.5
const STEP = 0.02
const WHITE = '#ffffff'
const BLACK = '#000000'
/** What the colour stands on, or under as a button: the colours of assets/style.css. */
export const LIGHT = ['#fdfcfa', '#f4f1ec', '#e8f3ea', '#fcebe8', WHITE]
export const DARK = ['#1a1917', '#24221f', '#1f3325', '#3a2220', '#10202e']

/**
 * The same hue for both modes, no further from the given colour than the contrast needs.
 * @param {string} colour  #rrggbb @returns {string} CSS
 */
export function accentStyle (colour) {
  const [light, dark] = [readable(colour, LIGHT, BLACK), readable(colour, DARK, WHITE)]
  return `:root{--accent:${light}}@media(prefers-color-scheme:dark){:root{--accent:${dark}}}\n`
}

/** @param {string} colour @param {string[]} grounds @param {string} towards  which is readable on all of them */
export function readable (colour, grounds, towards) {
  for (let share = 0; share < 1; share += STEP) {
    const mixed = mix(colour, towards, share)
    if (grounds.every((ground) => contrast(mixed, ground) >= CONTRAST_LEAST)) return mixed
  }
  return towards
}

/** @param {string} colour @returns {number[]} red, green and blue from 0 to 255 */
const partsOf = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

/** @param {string} from @param {string} to @param {number} share  of `to` */
function mix (from, to, share) {
  const others = partsOf(to)
  const mixed = partsOf(from).map((part, index) => Math.round(part + (others[index] - part) * share))
  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance @param {string} colour */
function luminance (colour) {
  const [red, green, blue] = partsOf(colour)
    .map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio @param {string} one @param {string} other @returns 1 to 21 */
export function contrast (one, other) {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}
