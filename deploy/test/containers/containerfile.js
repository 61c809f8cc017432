/**
 * @param {string} text  of a Containerfile
 * @returns {{name: string, args: string}[]} its instructions, continued lines joined
 */
export function instructions (text) {
  return text.split('\n').filter((line) => !line.startsWith('#')).join('\n').replaceAll(/\\\n\s*/g, '').split('\n')
    .flatMap((line) => {
      const [, name, args] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      return name === undefined ? [] : [{ name, args }]
    })
}
