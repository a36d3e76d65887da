/** The shell blocks of a Markdown file, as steps: commands, and what they are said to print. */
import { type CodeBlock, codeBlocks } from './code-blocks.ts'

export interface Step {
  /** Of the first command, 1-based. */
  readonly line: number
  readonly commands: string
  /** What the commands print, see `printed.ts`; absent where nothing is said of it. */
  readonly printed?: string
}

export interface ShellBlock extends CodeBlock {
  readonly steps: readonly Step[]
}

const PRINTED = /^# → ?(.*)$/
const PRINTED_ON = /^# {4,}(.*)$/

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

export const shellBlocks = (markdown: string): ShellBlock[] =>
  codeBlocks(markdown, 'sh').map((block) => ({ ...block, steps: stepsOf(block.lines, block.line + 1) }))
