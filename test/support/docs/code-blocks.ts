/** The code blocks of a Markdown file, and what comments above them say to the tests that run them. */
import { filesBelow, read } from '../sources.ts'

/**
 * `<!-- not run: why -->`; of commands `<!-- server: stopped -->` and `<!-- server: NAME=value … -->`; of programs
 * `<!-- program: continued -->`, where the block goes on with the program above it.
 */
export interface Directive {
  readonly kind: 'not run' | 'server' | 'program'
  readonly value: string
}

export interface CodeBlock {
  readonly language: string
  /** Of the opening fence, 1-based. */
  readonly line: number
  readonly directives: readonly Directive[]
  readonly lines: readonly string[]
}

const FENCE = /^```(\w+)$/
const DIRECTIVE = /^<!-- (not run|server|program): (.*) -->$/

const directivesAbove = (lines: readonly string[], fence: number): Directive[] => {
  const directives: Directive[] = []
  for (let at = fence - 1; at >= 0; at--) {
    const [, kind, value] = DIRECTIVE.exec(lines[at] ?? '') ?? []
    if (value === undefined) break
    directives.unshift({ kind: kind as Directive['kind'], value })
  }
  return directives
}

/** @param languages as the fences name them @throws Error for a block that doesn't end */
export const codeBlocks = (markdown: string, ...languages: readonly string[]): CodeBlock[] => {
  const lines = markdown.split('\n')
  return lines.flatMap((text, fence) => {
    const [, language = ''] = FENCE.exec(text) ?? []
    if (!languages.includes(language)) return []
    const end = lines.indexOf('```', fence + 1)
    if (end === -1) throw new Error(`the block of line ${fence + 1} has no end`)
    const directives = directivesAbove(lines, fence)
    return [{ language, line: fence + 1, directives, lines: lines.slice(fence + 1, end) }]
  })
}

export const valuesOf = ({ directives }: Pick<CodeBlock, 'directives'>, kind: Directive['kind']): string[] =>
  directives.filter((directive) => directive.kind === kind).map(({ value }) => value)

/** README.md and the files of docs/. */
export const readDocuments = (): { readonly name: string; readonly text: string }[] =>
  ['README.md', ...filesBelow('docs', '.md')].map((name) => ({ name, text: read(name) }))
