/** What the log, its exports and the published keys said when everything had happened. @module */
import type { Head } from '../fixture.ts'
import type { Story } from '../story.ts'

const SHOWN_ENTRIES = 10

interface Page {
  readonly entries: readonly { readonly index: number }[]
}

/** Comes last: proofs up to a size hold for ever, and so do windows that are over. */
export const rememberTheLog = async ({ ok, owner, remember }: Story, { size }: Head): Promise<void> => {
  const by = owner.apiKey
  const until = new Date().toISOString()
  const { entries } = await ok<Page>('GET', `/api/audit?limit=1000`)
  const step = Math.ceil(entries.length / SHOWN_ENTRIES)
  for (const { index } of entries.filter((_, i) => i % step === 0)) {
    const path = `/api/audit/inclusion?index=${index}&treeSize=${size}`
    remember({ what: `entry ${index} is in the tree`, method: 'GET', path, by })
  }
  for (const from of [1, 255, 256, 257, size - 1]) {
    const path = `/api/audit/consistency?from=${from}&to=${size}`
    remember({ what: `the tree continues that of ${from}`, method: 'GET', path, by })
  }
  const reads = [
    ['the last entries of the organisation', `/api/audit?limit=${SHOWN_ENTRIES}&until=${until}`],
    ['entries about payments', `/api/audit?type=payment&until=${until}`],
    ['the export of what happened', `/api/export/siem?format=ndjson&since=2020-01-01&until=${until}`],
    ['what was used', '/api/usage'],
    ['merchants', '/console/api/merchants'],
    ['terminals', '/console/api/terminals'],
    ['keys', '/console/api/keys'],
  ] as const
  for (const [what, path] of reads) remember({ what, method: 'GET', path, by })
  for (const path of [
    '/tile/0/000',
    '/checkpoint/keys',
    '/.well-known/jwks.json',
    '/.well-known/jwks-pq.json',
  ])
    remember({ what: 'what is published', method: 'GET', path })
  remember({ what: 'what is published', method: 'GET', path: '/.well-known/issuer-keys' })
}
