/**
 * @param {string} text @param {string} language
 * @returns {string} Markdown that shows the text as it is
 */
export function codeBlock (text, language) {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/(?<!\n)\n+$/, '')}\n${fence}\n`
}
