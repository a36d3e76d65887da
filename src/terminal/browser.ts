/** The terminal for browsers: all of `assay/terminal`, and a journal in IndexedDB. @module */
export * from './index.ts'
export { indexedDbStorage, recoverIndexedDb } from './storage/indexed-db.ts'
