/** What it costs to turn one payment entry into its leaf hash, against the general canonicaliser. @module */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Entry } from '../src/ledger/decision.ts'
import { entryText, newSalt } from '../src/ledger/entry.ts'
import { createComparison } from './support/comparison.ts'
import { report } from './support/interleaved.ts'

/** Writing the members out must be worth the words. */
const MUST_REACH = 1.2

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

const { rows, compare } = createComparison()
const ours = (): string => entryText(entry, { ...stamp, salt: newSalt() })
const theirs = (): string => general(newSalt())
const leafHash = (text: string): Buffer => createHash('sha256').update('\0').update(text).digest()
compare('canonical text of an entry', ours, [{ name: 'canonicalize', run: theirs, goal: MUST_REACH }])
compare('canonical text of an entry and its SHA-256', () => leafHash(ours()), [
  { name: 'canonicalize and the same hash', run: () => leafHash(theirs()) },
])
report(rows)
