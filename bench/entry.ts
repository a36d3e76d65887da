/** What it costs to turn one payment entry into its leaf hash, against the general canonicaliser. @module */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Bench } from 'tinybench'
import type { Entry } from '../src/ledger/decision.ts'
import { entryText, newSalt } from '../src/ledger/entry.ts'

/** Writing the members out must be worth the words. */
const MUST_REACH = 1.2
const TIME_MS = 1000

const entry: Entry = {
  type: 'payment',
  subject: ['terminal', 'ter_01h0000000000000000000000x'],
  digest: 'a'.repeat(64),
  data: { amountMinor: 1250, assurance: 'mac', currency: 'GBP', decision: 'accepted' },
}
const stamp = {
  id: 'ent_01h0000000000000000000000x',
  at: 1763683200000,
  organisation: 'org_01h0000000000000000000000x',
  actor: 'b'.repeat(64),
  subject: 'c'.repeat(64),
}

const general = (salt: string): string =>
  canonicalize({
    v: 1,
    id: stamp.id,
    ts: stamp.at,
    org: stamp.organisation,
    type: entry.type,
    actor: stamp.actor,
    subject: stamp.subject,
    digest: entry.digest,
    data: entry.data,
    salt,
  }) ?? ''

const salt = newSalt()
if (general(salt) !== entryText(entry, { ...stamp, salt })) throw new Error('the two texts differ')

const bench = new Bench({ time: TIME_MS })
bench
  .add('entryText', () => entryText(entry, { ...stamp, salt: newSalt() }))
  .add('canonicalize', () => general(newSalt()))
  .add('entryText and SHA-256', () =>
    createHash('sha256')
      .update('\0')
      .update(entryText(entry, { ...stamp, salt: newSalt() }))
      .digest(),
  )
await bench.run()
console.table(bench.table())

const median = (name: string): number => {
  const result = bench.getTask(name)?.result
  return result && 'latency' in result ? result.latency.p50 : Number.NaN
}
const ratio = median('canonicalize') / median('entryText')
const isReached = ratio >= MUST_REACH
console.log(
  `entryText is ${ratio.toFixed(2)}× canonicalize (must reach ${MUST_REACH}×): ${isReached ? 'ok' : 'MISS'}`,
)
process.exitCode = isReached ? 0 : 1
