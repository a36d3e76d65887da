/** What the service publishes for whoever checks something: its log, and the keys of its circuits. @module */
import { askFile } from '../http.ts'
import type { PublishedLog } from './inclusion.ts'
import type { Published } from './result-checks.ts'

/** Below which address a log is published. @param log its number */
export const pathOfLog = (log: number): string => (log === 0 ? '' : `/log/${log}`)

/** @param log its number */
export const publishedLog = (log: number): PublishedLog => {
  const path = pathOfLog(log)
  return {
    checkpoint: async () => (await askFile(`${path}/checkpoint`)).text(),
    keys: async () => (await askFile(`${path}/checkpoint/keys`)).text(),
    tile: async (tile) => new Uint8Array(await (await askFile(`${path}/tile/${tile}`)).arrayBuffer()),
  }
}

export const published: Published = {
  verificationKey: async (circuitId) =>
    (await askFile(`/api/circuits/${encodeURIComponent(circuitId)}/vkey`)).json(),
  logAt: publishedLog,
}
