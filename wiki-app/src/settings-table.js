import { SETTINGS } from './settings.js'

/** @returns {string} the table of all settings in Markdown */
export function settingsTable () {
  const rows = Object.entries(SETTINGS).map(([name, { default: value, shown = value ?? '', does }]) =>
    `| \`${name}\` | ${shown} | ${does} |`)
  return ['| setting | default | what it does |', '|---|---|---|', ...rows].join('\n')
}
