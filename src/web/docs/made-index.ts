/** What the search looks in. Empty in the sources: the build puts the places of all pages here. @module */
import type { Place } from './finding.ts'

export const INDEX: readonly Place[] = []
