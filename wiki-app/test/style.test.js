import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'

const css = ['style', 'markdown']
  .map((name) => readFileSync(new URL(`../src/assets/${name}.css`, import.meta.url), 'utf8'))
  .join('')
const [light, dark] = [0, 1].map((which) => Object.fromEntries([...css.matchAll(/:root \{([^}]*)\}/g)]
  .filter((_, index) => index % 2 === which)
  .flatMap(([, block]) => [...block.matchAll(/--([\w-]+): (#[0-9a-f]{3,6});/g)]
    .map(([, name, colour]) => [name, colour]))))

for (const [scheme, colours] of Object.entries({ light, dark })) {
  test(`text has enough contrast in ${scheme} colours (WCAG 2.2, success criterion 1.4.3)`, () => {
    for (const [text, ground] of [
      ['ink', 'paper'], ['soft', 'paper'], ['accent', 'paper'], ['bad', 'paper'], ['ink', 'good'], ['accent', 'good'],
      ['ink', 'mark'], ['ink', 'warn'], ['accent', 'warn'], ['bad', 'warn'],
      ...['word', 'value', 'name'].map((name) => [name, 'paper']),
      ...['word', 'value', 'name', 'soft', 'bad', 'ink'].map((name) => [name, 'tint'])
    ]) {
      assert.ok(contrast(colours[text], colours[ground]) >= 4.5, `${text} on ${ground}: ${contrast(colours[text], colours[ground])}`)
    }
  })
}

/**
 * Returns the contrast ratio: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
 * @param {string} one
 * @param {string} other
 */
function contrast (one, other) {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** @param {string} colour  #rrggbb */
function luminance (colour) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
