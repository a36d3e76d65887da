/** What the service publishes for whoever checks something: its log, and the keys of its circuits. @module */
import { askFile } from '../http.ts'
import type { PublishedLog } from './inclusion.ts'
import type { Published } from './result-checks.ts'

export const publishedLog: PublishedLog = {
  checkpoint: async () => (await askFile('/checkpoint')).text(),
  keys: async () => (await askFile('/checkpoint/keys')).text(),
  tile: async (path) => new Uint8Array(await (await askFile(`/tile/${path}`)).arrayBuffer()),
}

export const published: Published = {
  verificationKey: async (circuitId) =>
    (await askFile(`/api/circuits/${encodeURIComponent(circuitId)}/vkey`)).json(),
  log: publishedLog,
}
