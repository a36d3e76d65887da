/** Changes of an agent's state: each follows exactly one other, whichever servers they come from. @module */
import type { Caller } from '../../../caller.ts'
import { fail } from '../../../errors.ts'
import type { Claim, Entry, Item, Settled } from '../../../ledger/item.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { AgentStep, stepEvent } from '../trust/store-events.ts'
import { type AgentRow, agents } from './store.ts'

const CLAIM_KIND = 'agent-state'
/** So often a change that came too late is made again, of the state that it then finds. */
const MAX_ATTEMPTS = 8

/** The claim of whoever changes this state: only one change follows it. */
export const stateClaim = (id: string, stateVersion: number): Claim => ({
  kind: CLAIM_KIND,
  key: `${id}/${stateVersion}`,
  code: 'conflict',
})

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly stepEvent: typeof stepEvent
}

/** What a change sets, and what the log and the record of the agent say of it. */
export interface Transition {
  readonly step: Pick<AgentStep, 'kind' | 'outcome'>
  readonly change: Partial<Pick<AgentRow, 'status' | 'trust_level' | 'trust_reasons'>>
  readonly entry: Omit<Entry, 'subject'>
}

const itemOf = <R>(
  row: AgentRow,
  { step, change, entry }: Transition,
  recorded: typeof stepEvent,
  present: (row: AgentRow) => R,
): Item<R | undefined> => {
  const next = (at: number): AgentRow => ({
    ...row,
    ...change,
    state_version: row.state_version + 1,
    changed_at: at,
  })
  return {
    claims: [stateClaim(row.id, row.state_version)],
    entry: { ...entry, subject: ['agent', row.id] },
    rows: (receipt) => [
      agents.row(next(receipt.at)),
      recorded({ agent: row.id, organisation: row.organisation, ...step }, receipt),
    ],
    result: ({ at }) => present(next(at)),
    lost: (): Settled<undefined> => ({ settled: undefined }),
  }
}

/**
 * Changes an agent's state.
 * @param read the row as it is now @param plan what to change; undefined where nothing is to be done; may throw AppError
 * @param present what is answered, from the row as it is then
 * @throws AppError conflict when others keep changing it
 */
export const changeState = async <R>(
  { ledger, stepEvent }: Deps,
  caller: Caller,
  read: () => Promise<AgentRow>,
  plan: (row: AgentRow) => Transition | undefined,
  present: (row: AgentRow) => R,
): Promise<R> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await read()
    const transition = plan(row)
    if (transition === undefined) return present(row)
    const changed = await ledger.append(caller, itemOf(row, transition, stepEvent, present))
    if (changed !== undefined) return changed
  }
  return fail('conflict', { message: 'The agent was changed by another request; try again.' })
}
