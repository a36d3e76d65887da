import { createTerminal, indexedDbStorage, recoverIndexedDb } from '/terminal-browser.js'

// What the tests call.
globalThis.openTill = async (options) => {
  const clock = { now: () => globalThis.now ?? Date.now() }
  const till = await createTerminal({ ...options, clock, storage: indexedDbStorage() })
  globalThis.till = till
  globalThis.events = []
  for (const event of ['online', 'offline', 'queued', 'synced', 'rejected', 'conflict']) {
    till.on(event, (detail) => globalThis.events.push([event, detail?.transactionId]))
  }
}
globalThis.recover = recoverIndexedDb
globalThis.isReady = true
