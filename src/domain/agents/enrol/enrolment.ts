/** Enrolling agents: keys, challenges, and what comes of their answers. @module */
import { type Caller, hasPrivateEgress } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { newId } from '../../../ids.ts'
import { readPublicKey } from '../../../keys/public-key.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Claim } from '../../../ledger/claim-kinds.ts'
import type { Decide, Entry, Place, Tx } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { AgentGrant } from '../../accounts/organisations.ts'
import type { AccountsService } from '../../accounts/service.ts'
import type { NamedKey, ReadKeys, RegisteredKeysService } from '../keys/service.ts'
import type { AgentStep, stepEvent } from '../trust/store-events.ts'
import type { KeyDirectories, Trust } from './key-directory.ts'
import { readLimits } from './limits.ts'
import type { Challenge, Challenged, Possessions } from './possession.ts'
import { type AgentRecord, sealPrincipal, toRecord } from './record.ts'
import type { NewAgent, Possession } from './schemas.ts'
import { type AgentRow, agents } from './store.ts'
import { stateClaim } from './transition.ts'
import { readProfile } from './wire.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly accounts: Pick<AccountsService, 'organisations'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'demandFree' | 'register'>
  readonly possessions: Possessions
  readonly keyDirectories: KeyDirectories
  readonly stepEvent: typeof stepEvent
}

/** What is answered, and kept for whoever asks again under the same Idempotency-Key. */
type Present<R> = (enrolled: Enrolled) => R

/** An agent that was enrolled or has answered. */
export interface Enrolled {
  readonly record: AgentRecord
  /** While it is pending. */
  readonly challenge?: Challenge
  /** Free proofs, with the first agent. */
  readonly grant?: AgentGrant
}

/** What makes an agent active. */
interface Activation<R> {
  readonly kind: Extract<AgentStep['kind'], 'enrol' | 'activate'>
  readonly row: AgentRow
  readonly keys: readonly NamedKey[]
  readonly event: Pick<Entry, 'type' | 'data'>
  /** Of the state that it follows, where there is one. */
  readonly state?: Claim
  readonly present: Present<R>
}

const UNPROVEN: Trust = { level: 'registered', reasons: ['possession_not_shown'] }
const MADE_HERE: Trust = { level: 'registered', reasons: ['key_made_by_service'] }

const namedKeys = ({ key, pqKey }: Pick<ReadKeys, 'key' | 'pqKey'>): readonly NamedKey[] =>
  pqKey === undefined ? [key] : [key, pqKey]

export const createEnrolment = (deps: Deps) => {
  const { ledger, sealing, clock, accounts, registeredKeys, possessions, keyDirectories, stepEvent } = deps

  /** The row of a new agent that is pending. @throws AppError validation_failed */
  const draft = (caller: Caller, input: NewAgent, { key, pqKey }: ReadKeys): AgentRow => {
    const at = clock.now()
    const id = newId('agt', at)
    const limits = input.limits && readLimits(input.limits, at)
    return {
      id,
      organisation: caller.organisation,
      ...readProfile(input),
      status: 'pending',
      state_version: 0,
      trust_level: UNPROVEN.level,
      trust_reasons: UNPROVEN.reasons,
      kid: key.kid,
      jwk: key.jwk,
      pq_kid: pqKey?.kid ?? null,
      pq_jwk: pqKey?.jwk ?? null,
      sealed_principal: input.principal ? sealPrincipal(sealing, id, input.principal) : null,
      limits: limits ?? null,
      expires_at: limits?.expiresAt ?? null,
      created_at: at,
      changed_at: at,
    }
  }

  /** The agent, and what its record says of the step that it takes. */
  const writeStep = (tx: Tx, row: AgentRow, kind: AgentStep['kind'], place: Place): void => {
    tx.write(agents.row(row))
    tx.write(stepEvent({ agent: row.id, organisation: row.organisation, kind, outcome: row.status }, place))
  }

  /** Makes an agent active: it takes its keys, and the free proofs if nobody has had them. */
  const activating = <R>(change: Activation<R>, offered: AgentGrant): Decide<R> => {
    const { row, keys, event, state, present } = change
    return (tx) => {
      if (state && tx.holder(...state))
        fail('conflict', { message: 'The challenge has already been answered.' })
      registeredKeys.demandFree(tx, keys)
      const grant = tx.holder(...offered.claim) ? undefined : offered
      if (state) tx.claim(...state)
      if (grant) tx.claim(...grant.claim)
      const place = tx.append({ ...event, subject: ['agent', row.id] })
      writeStep(tx, row, change.kind, place)
      registeredKeys.register(tx, row.organisation, { type: 'agent', id: row.id }, keys, tx.at)
      if (grant) tx.write(grant.row)
      return present({ record: toRecord(sealing, row, tx.at), grant })
    }
  }

  const activate = <R>(caller: Caller, change: Activation<R>): Promise<R> =>
    ledger.append(
      caller,
      activating(change, accounts.organisations.agentGrant(caller.organisation, clock.now())),
    )

  const askTrust = (caller: Caller, row: AgentRow): Promise<Trust> =>
    keyDirectories.trust(row, hasPrivateEgress(caller))

  const enrolledEvent = (
    { id, kid }: AgentRow,
    status: string,
    level: string,
  ): Pick<Entry, 'type' | 'data'> => ({
    type: 'account',
    data: { event: 'agent.enrolled', agentId: id, status, trustLevel: level, kid },
  })

  const withTrust = (row: AgentRow, { level, reasons }: Trust): AgentRow => ({
    ...row,
    status: 'active',
    trust_level: level,
    trust_reasons: reasons,
  })

  /** Commits a new agent that is active at once. */
  const enrolActive = <R>(caller: Caller, row: AgentRow, keys: ReadKeys, present: Present<R>): Promise<R> => {
    const event = enrolledEvent(row, 'active', row.trust_level)
    return activate(caller, { kind: 'enrol', row, keys: namedKeys(keys), event, present })
  }

  return {
    /**
     * Enrols an agent: pending with a challenge, or active where the proof of possession came along or the key was made here.
     * @throws AppError validation_failed, key_registered
     */
    async enrol<R>(caller: Caller, input: NewAgent, keys: ReadKeys, present: Present<R>): Promise<R> {
      const challenged: Challenged = { organisation: caller.organisation, ...keys }
      const row = draft(caller, input, keys)
      const { proof_of_possession: possession } = input
      if (keys.privateKey !== undefined) return enrolActive(caller, withTrust(row, MADE_HERE), keys, present)
      if (possession !== undefined) {
        possessions.check(challenged, possession)
        return enrolActive(caller, withTrust(row, await askTrust(caller, row)), keys, present)
      }
      const challenge = possessions.challenge(challenged)
      return ledger.append(caller, (tx) => {
        // They stay free: whoever does not hold a key must not keep it from who does.
        registeredKeys.demandFree(tx, namedKeys(keys))
        const event = enrolledEvent(row, 'pending', UNPROVEN.level)
        const place = tx.append({ ...event, subject: ['agent', row.id] })
        writeStep(tx, row, 'enrol', place)
        return present({ record: toRecord(sealing, row, tx.at), challenge })
      })
    },

    /** What answering a challenge makes of a pending agent. @throws AppError validation_failed, conflict, key_registered */
    async answer<R>(caller: Caller, row: AgentRow, possession: Possession, present: Present<R>): Promise<R> {
      const [key, pqKey] = await Promise.all([readPublicKey(row.jwk), readPublicKey(row.pq_jwk)])
      if (key === undefined || (row.pq_jwk !== null && pqKey === undefined))
        throw new Error(`A key of ${row.id} can no longer be read.`)
      possessions.check({ organisation: row.organisation, key, pqKey }, possession)
      const trust = await askTrust(caller, row)
      const data = { event: 'agent.activated', agentId: row.id, trustLevel: trust.level, kid: row.kid }
      return activate(caller, {
        kind: 'activate',
        row: { ...withTrust(row, trust), state_version: row.state_version + 1, changed_at: clock.now() },
        keys: namedKeys({ key, pqKey }),
        event: { type: 'attest', data },
        state: stateClaim(row.id, row.state_version),
        present,
      })
    },

    askTrust,
  }
}
