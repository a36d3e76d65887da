/** The search as it runs in a page: a part of its own, since most readers never ask. @module */
import { openIndex } from './finding.ts'
import { INDEX } from './made-index.ts'

export const find = openIndex(INDEX)
