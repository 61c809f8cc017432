// A lint rule for the import graph: packages import each other by name, and only those before them in PACKAGES.
import path from 'node:path'

/** From the foundation to the top. */
export const PACKAGES = ['harness', 'nginx', 'cdn', 'wiki-app', 'deploy', 'arm-image', 'loadgen']

/** Also finds `import('…')` in JSDoc, which the parser does not see. */
const SPECIFIER = /(?:from |import |import\()(['"])([^'"]+)\1/g

/**
 * @param {string} specifier
 * @param {string} here  the package of the file
 * @returns {string | null} what is wrong with the import, null if nothing
 */
export function directionProblem (specifier, here) {
  const [, up, folder] = /^((?:\.\.\/)+)([^./][^/]*)\//.exec(specifier) ?? []
  if (up !== undefined && PACKAGES.includes(folder) && folder !== here) {
    return `"${specifier}" leaves the package; import @stevec/${folder}/…`
  }
  const name = /^@stevec\/([^/]+)/.exec(specifier)?.[1]
  if (name !== undefined && PACKAGES.indexOf(name) > PACKAGES.indexOf(here)) {
    return `${here} may not import ${name}: packages go ${PACKAGES.join(' ← ')}`
  }
  return null
}

/** @type {import('eslint').Rule.RuleModule} */
export const packageDirection = {
  meta: { type: 'problem', schema: [] },
  create: ({ cwd, filename, sourceCode, report }) => ({
    Program () {
      const here = PACKAGES.find((name) => path.relative(cwd, filename).startsWith(`${name}/`))
      if (here === undefined) return
      for (const { 2: specifier, index } of sourceCode.text.matchAll(SPECIFIER)) {
        const message = directionProblem(specifier, here)
        if (message !== null) report({ loc: sourceCode.getLocFromIndex(index), message })
      }
    }
  })
}
