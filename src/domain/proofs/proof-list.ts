/** All proofs of an organisation, as pages, and each by itself. @module */
import type { Caller } from '../../caller.ts'
import { needsContext } from '../../circuits/proof-facts.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { readWindow } from '../../json/moments.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import { findPlace } from '../../store/pages.ts'
import { contextOf } from './binding.ts'
import {
  DEFAULT_PAGE_PROOFS,
  type KnownProof,
  type ListedProof,
  type ProofPage,
  type ProofsQuery,
} from './schemas-list.ts'
import type { Statement } from './statement.ts'
import { findProof } from './store.ts'
import { createProofFinder, type ListedRow, PROOFS } from './store-list.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly baseUrl: string
  readonly statements: readonly Pick<Statement, 'circuit' | 'decision' | 'provesRules'>[]
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

const toListed = (row: ListedRow, log: number): ListedProof => ({
  proofId: row.id,
  circuitId: row.circuit_id,
  digest: row.digest,
  decision: row.decision,
  madeElsewhere: row.made_elsewhere,
  createdAt: iso(row.created_at),
  expiresAt: isoOrNull(row.expires_at),
  consumedAt: isoOrNull(row.spent_at),
  revokedAt: isoOrNull(row.revoked_at),
  ...named(log),
  merkleIndex: row.entry_index,
})

export const createProofList = ({ database, logs, baseUrl, statements }: Deps) => {
  const listed = statements.map((statement) => ({
    ...statement,
    needsContext: needsContext(statement.circuit),
  }))
  const finder = createProofFinder(database, listed, {
    spent: CLAIM_KINDS.proofDigestSpent,
    revoked: CLAIM_KINDS.proofDigestRevoked,
  })

  return {
    /** A page of the organisation's proofs, newest first. @throws AppError invalid_query */
    async list({ organisation }: Caller, query: ProofsQuery): Promise<ProofPage> {
      const { cursor, limit = DEFAULT_PAGE_PROOFS, circuitId, decision, consumed } = query
      const filter = { organisation, window: readWindow(query), circuitId, decision, consumed }
      const after = await findPlace(database, PROOFS, organisation, cursor)
      const { rows, next } = await finder.find(filter, { after, limit })
      const log = await logs.of(organisation)
      return { proofs: rows.map((row) => toListed(row, log)), nextCursor: next?.id ?? null }
    },

    /** One of the organisation's proofs, with what it was made for. @throws AppError not_found */
    async find({ organisation }: Caller, proofId: string): Promise<KnownProof> {
      const [listed, row] = await Promise.all([
        finder.one(organisation, proofId),
        findProof(database, organisation, proofId),
      ])
      if (listed === undefined || row === undefined) return fail('not_found')
      const { circuit_id: circuitId, expires_at: expiresAt, context } = row
      return {
        ...toListed(listed, await logs.of(organisation)),
        proof: row.proof,
        publicSignals: [...row.public_signals],
        context:
          context &&
          (contextOf(baseUrl, { organisation, circuitId, expiresAt, ...context }) as KnownProof['context']),
      }
    },
  }
}
