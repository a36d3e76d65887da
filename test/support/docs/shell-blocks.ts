/** The shell blocks of a Markdown file, as steps: commands, and what they are said to print. */

export interface Step {
  /** Of the first command, 1-based. */
  readonly line: number
  readonly commands: string
  /** What the commands print, see `printed.ts`; absent where nothing is said of it. */
  readonly printed?: string
}

/** What a comment above a block says: `<!-- not run: why -->`, `<!-- server: stopped -->`, `<!-- server: NAME=value … -->`. */
export interface Directive {
  readonly kind: 'not run' | 'server'
  readonly value: string
}

export interface ShellBlock {
  /** Of the opening fence, 1-based. */
  readonly line: number
  readonly directives: readonly Directive[]
  readonly steps: readonly Step[]
}

const PRINTED = /^# → ?(.*)$/
const PRINTED_ON = /^# {4,}(.*)$/
const DIRECTIVE = /^<!-- (not run|server): (.*) -->$/

const directivesAbove = (lines: readonly string[], fence: number): Directive[] => {
  const directives: Directive[] = []
  for (let at = fence - 1; at >= 0; at--) {
    const [, kind, value] = DIRECTIVE.exec(lines[at] ?? '') ?? []
    if (value === undefined || (kind !== 'not run' && kind !== 'server')) break
    directives.unshift({ kind, value })
  }
  return directives
}

const stepsOf = (lines: readonly string[], firstLine: number): Step[] => {
  const steps: { line: number; commands: string[]; printed?: string[] }[] = []
  for (const [at, line] of lines.entries()) {
    const last = steps.at(-1)
    const first = PRINTED.exec(line)?.[1]
    const more = last?.printed && PRINTED_ON.exec(line)?.[1]
    if (first !== undefined && last) last.printed = [first]
    else if (more !== undefined) last?.printed?.push(more)
    else if (last && last.printed === undefined) last.commands.push(line)
    else if (line.trim() !== '') steps.push({ line: firstLine + at, commands: [line] })
  }
  return steps.map(({ line, commands, printed }) => ({
    line,
    commands: commands.join('\n'),
    ...(printed && { printed: printed.join('\n') }),
  }))
}

export const shellBlocks = (markdown: string): ShellBlock[] => {
  const lines = markdown.split('\n')
  const blocks: ShellBlock[] = []
  for (let fence = lines.indexOf('```sh'); fence >= 0; fence = lines.indexOf('```sh', fence + 1)) {
    const end = lines.indexOf('```', fence + 1)
    const steps = stepsOf(lines.slice(fence + 1, end), fence + 2)
    blocks.push({ line: fence + 1, directives: directivesAbove(lines, fence), steps })
  }
  return blocks
}
