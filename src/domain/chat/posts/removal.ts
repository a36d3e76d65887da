/** Removing messages: by the operator, with an entry in the log, or by the key that signed them. @module */
import type { Caller } from '../../../caller.ts'
import { fail } from '../../../errors.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { createQuery } from '../../../store/driver.ts'
import type { EnvelopeReader } from '../envelopes/envelope.ts'
import type { ChatLane } from './lane.ts'
import { createPostCounter, type LimitDeps } from './post-limits.ts'
import type { Poster } from './posting.ts'

export interface RemovalDeps extends LimitDeps {
  readonly lane: ChatLane
  readonly ledger: Pick<Ledger, 'transact'>
  readonly reader: EnvelopeReader
}

export const createRemoval = (deps: RemovalDeps) => {
  const { lane, ledger, reader } = deps
  const count = createPostCounter(deps)
  return {
    async remove(id: number, caller: Caller): Promise<void> {
      // It may run twice; what the last run did counts.
      let announce: (() => void) | undefined
      await ledger.transact(caller, async (trx) => {
        announce = await lane.within({ query: createQuery(trx) }, { weight: 1, remove: id, by: 'operator' })
        return { entry: { type: 'chat', data: { action: 'remove', message: id } }, result: null }
      })
      announce?.()
    },

    async removeOwn(id: number, envelope: unknown, { ip }: Poster): Promise<void> {
      const { params, fingerprint, id: envelopeId, expiresAt } = reader.open(envelope, 'chat.remove')
      // What was signed decides, so that an envelope can't be turned on another message.
      if (!isObject(params) || params.id !== id) fail('envelope_params')
      await count(ip, fingerprint)
      await lane.submit({ weight: 1, remove: id, by: { fingerprint, id: envelopeId, expiresAt } })
    },
  }
}
