/** The terminal for Node: all of `assay/terminal`, and a journal on disk. @module */
export * from './index.ts'
export { journalStorage, type Recovery, recoverJournal } from './storage/journal.ts'
