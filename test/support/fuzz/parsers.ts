/** THE TABLE of what reads input from outside. Whatever is added to it is fuzzed. @module */
import type { Parser } from './parser.ts'
import { CHECKS } from './parsers/checks.ts'
import { EVIDENCE } from './parsers/evidence.ts'
import { LISTS } from './parsers/lists.ts'
import { PROTOCOL } from './parsers/protocol.ts'
import { REQUESTS } from './parsers/requests.ts'
import { TERMINAL } from './parsers/terminal.ts'

export const PARSERS: readonly Parser[] = [
  ...REQUESTS,
  ...PROTOCOL,
  ...EVIDENCE,
  ...TERMINAL,
  ...LISTS,
  ...CHECKS,
]
