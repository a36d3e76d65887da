/** Proofs as an operator looks through them. @module */
import type { Window } from '../../json/moments.ts'
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows, withinWindow } from '../../store/pages.ts'
import type { Statement } from './statement.ts'
import type { ProofRow } from './store.ts'

/** By the time at which they were made, or recorded. */
export const PROOFS = { table: 'proofs', orderedBy: 'created_at' } as const

const COLUMNS = ['id', 'entry_index', 'circuit_id', 'digest', 'created_at', 'expires_at'] as const

const heldBy = (kind: string, column: string): string =>
  `SELECT claim.at AS ${column} FROM ledger_claims AS claim
    WHERE claim.organisation = proofs.organisation AND claim.kind = '${kind}' AND claim.key = proofs.digest`

export interface ListedRow extends Pick<ProofRow, (typeof COLUMNS)[number]> {
  /** Null where nothing was asked. */
  readonly decision: 'YES' | 'NO' | null
  readonly made_elsewhere: boolean
  readonly spent_at: number | null
  /** When the result that it was made for was withdrawn. */
  readonly revoked_at: number | null
}

export interface ProofFilter {
  readonly organisation: string
  readonly window: Window
  readonly circuitId?: string
  readonly decision?: 'YES' | 'NO'
  readonly consumed?: boolean
}

interface Listed extends Pick<Statement, 'circuit' | 'decision' | 'provesRules'> {
  /** Whether only its context tells that a YES is one. */
  readonly needsContext: boolean
}

const inCircuits = (statements: readonly Listed[]): string => {
  const ids = statements.map(({ circuit }) => `'${circuit.id}'`)
  return ids.length === 0 ? 'false' : `proofs.circuit_id IN (${ids.join(', ')})`
}

/** SQL of what `isPolicyRefusal` says of a proof that shows a YES. */
const refusalSql = (statements: readonly Listed[]): string =>
  `CASE WHEN proofs.context #> '{statement,policy_verdict}' IS NOT NULL
      THEN proofs.context #>> '{statement,policy_verdict}' IS DISTINCT FROM 'YES'
    WHEN proofs.context #> '{statement,data_commitment}' IS NULL
      OR ${inCircuits(statements.filter(({ provesRules }) => provesRules))} THEN false
    ELSE (SELECT made_for.decision FROM verifications AS made_for
      WHERE made_for.proof_id = proofs.id AND made_for.organisation = proofs.organisation LIMIT 1)
      IS DISTINCT FROM 'YES' END`

/**
 * SQL of the decision of a proof, as `decisionOf` and the policy read it: from the public signals of its circuit. A YES of which only
 * the context tells that it is one is none where the context isn't known.
 * @returns bindings are not needed: names and places are the service's own
 */
const decisionSql = (statements: readonly Listed[]): string => {
  const cases = statements.flatMap(({ circuit, decision }) =>
    decision === null
      ? []
      : [
          `WHEN '${circuit.id}' THEN proofs.public_signals ->> ${circuit.publicNames.indexOf(decision)} = '1'`,
        ],
  )
  return `CASE WHEN proofs.context #> '{statement,rules_hash}' = 'null'::jsonb THEN NULL
    WHEN (CASE proofs.circuit_id ${cases.join(' ')} ELSE true END) IS NOT TRUE THEN 'NO'
    WHEN proofs.context IS NULL AND ${inCircuits(statements.filter(({ needsContext }) => needsContext))} THEN NULL
    WHEN ${refusalSql(statements)} THEN 'NO'
    ELSE 'YES' END`
}

/** Kinds of the claims that end proofs, by their digests. */
interface EndKinds {
  readonly spent: string
  readonly revoked: string
}

export const createProofFinder = (database: Database, statements: readonly Listed[], kinds: EndKinds) => {
  const decided = decisionSql(statements)

  const select: NonNullable<Parameters<typeof findPage>[2]['select']> = (query) => {
    joinOne(query, 'spent', heldBy(kinds.spent, 'spent_at'))
    joinOne(query, 'revoked', heldBy(kinds.revoked, 'revoked_at'))
    query.select(
      ...COLUMNS.map((column) => `proofs.${column}`),
      'spent_at',
      'revoked_at',
      database.knex.raw(`${decided} AS decision`),
      // Of what is made here the context is known.
      database.knex.raw(
        "(proofs.context IS NULL OR proofs.context -> 'elsewhere' IS NOT NULL) AS made_elsewhere",
      ),
    )
  }

  return {
    /** A page of an organisation's proofs. */
    find: (
      { organisation, window, circuitId, decision, consumed }: ProofFilter,
      page: PageOf,
    ): Promise<Rows<ListedRow>> =>
      findPage<ListedRow>(
        database,
        PROOFS,
        {
          within(query) {
            query.where({ 'proofs.organisation': organisation })
            if (circuitId !== undefined) query.where({ 'proofs.circuit_id': circuitId })
            withinWindow(query, PROOFS, window)
          },
          select,
          ...((decision !== undefined || consumed !== undefined) && {
            search(query) {
              if (decision !== undefined) query.whereRaw(`${decided} = :decision`, { decision })
              if (consumed === true) query.whereNotNull('spent_at')
              if (consumed === false) query.whereNull('spent_at')
            },
          }),
        },
        page,
      ),

    /** One proof of the organisation as lists show it. */
    async one(organisation: string, id: string): Promise<ListedRow | undefined> {
      const query = database.knex('proofs').where({ 'proofs.organisation': organisation, 'proofs.id': id })
      select(query)
      return query.first<ListedRow | undefined>()
    },
  }
}
