import { NAME, REVISION, strict } from './schemas.js'

export const DIFFERENCE_SCHEMA = {
  $id: 'Difference',
  ...strict({
    name: NAME,
    from: REVISION,
    to: REVISION,
    lines: {
      type: 'array',
      description: 'Empty when the texts are equal. Long parts that did not change are gaps, ' +
        'and what would be too long to read is cut.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['kind'],
        properties: {
          kind: { type: 'string', enum: ['same', 'added', 'removed', 'gap', 'cut'] },
          text: { type: 'string' },
          words: {
            type: 'array',
            description: 'The same text in pieces, with a removed line and the similar one that was added instead.',
            items: strict({
              text: { type: 'string' },
              changed: { type: 'boolean', description: 'Whether the similar line has other words there, or none.' }
            })
          },
          lines: { type: 'integer', description: 'With a gap or a cut: how many lines are left out.' }
        }
      }
    },
    truncated: {
      type: 'boolean',
      description: 'Whether anything of a change is left out: lines where a cut is, or the end of a long line.'
    }
  })
}
