/** Changes of an agent's state: each follows exactly one other, whichever servers they come from. @module */
import type { Caller } from '../../../caller.ts'
import { fail } from '../../../errors.ts'
import { attempted } from '../../../ledger/attempts.ts'
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import type { Decide, Entry } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { AgentStep, stepEvent } from '../trust/store-events.ts'
import { type AgentRow, agents } from './store.ts'

/** So often a change that came too late is made again, of the state that it then finds. */
const MAX_ATTEMPTS = 8

/** The claim of whoever changes this state: only one change follows it. */
export const stateClaim = (id: string, stateVersion: number): Claim => [
  CLAIM_KINDS.agentState,
  `${id}/${stateVersion}`,
]

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

/** Makes an answer of a row. Pure for a change. @param at Unix ms: when it was changed; undefined: it was not */
type Present<R> = (row: AgentRow, at?: number) => R

/** @returns what changes a state; it answers undefined where somebody else changed it first */
const changing = <R>(
  row: AgentRow,
  { step, change, entry }: Transition,
  recorded: typeof stepEvent,
  present: Present<R>,
): Decide<R | undefined> => {
  const { id, organisation, state_version } = row
  const state = stateClaim(id, state_version)
  return (tx) => {
    if (tx.holder(...state)) return undefined
    tx.claim(...state)
    const place = tx.append({ ...entry, subject: ['agent', id] })
    const next = { ...row, ...change, state_version: state_version + 1, changed_at: tx.at }
    tx.write(agents.row(next))
    tx.write(recorded({ agent: id, organisation, ...step }, place))
    return present(next, tx.at)
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
  present: Present<R>,
): Promise<R> => {
  const changed = await attempted(caller, MAX_ATTEMPTS, async (asker) => {
    const row = await read()
    const transition = plan(row)
    return transition === undefined
      ? present(row)
      : ledger.append(asker, changing(row, transition, stepEvent, present))
  })
  return changed ?? fail('conflict', { message: 'The agent was changed by another request; try again.' })
}
