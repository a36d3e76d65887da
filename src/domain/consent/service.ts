/** Consents: recorded, asked about, withdrawn. Every question reads what is committed; nothing is remembered. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Issuer } from '../../keys/issuer.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import { type Decide, hasMoved, type KnownFacts, type Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import type { HoldersService, Provable } from '../holders/service.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { StatusesService } from '../status/service.ts'
import {
  type CircuitQuestion,
  type PreparedConsent,
  type ProvenConsent,
  prepareConsent,
  provenRefusal,
  type Refusal,
  type RefusedConsent,
} from './circuit-question.ts'
import { createConsentList } from './consent-list.ts'
import { momentOf } from './input.ts'
import { receiptHash, recordIdOf } from './receipt.ts'
import {
  changesCounter,
  consentCredential,
  issuedRow,
  LEDGER_SUBJECT,
  newestCounter,
  type Recorded,
  recordConsent,
  signForCircuit,
} from './recording.ts'
import {
  AS_LOGGED,
  type ConsentLogged,
  type ConsentStanding,
  type ConsentVerdict,
  type ConsentWithdrawn,
  type LogConsent,
  type RevokeConsent,
  type VerifyConsent,
} from './schemas.ts'
import { nameHash, openConsent, openReason, sealConsent, sealReason } from './sealed-consent.ts'
import {
  historyOf,
  noConsent,
  presentOf,
  purposesOf,
  type Standing,
  statusAt,
  verdictOf,
} from './standing.ts'
import * as store from './store.ts'

export interface ConsentDeps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer' | 'findCounter'>
  readonly signers: Pick<Signers, 'current' | 'publicKey'>
  readonly issuer: Pick<Issuer, 'current'>
  readonly holders: Pick<HoldersService, 'bearer' | 'recipient' | 'secretOf'>
  readonly statuses: Pick<StatusesService, 'set'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly baseUrl: string
  readonly subjects: SubjectPseudonyms
  readonly nullifiers: Pick<typeof Nullifiers, 'insertIssued' | 'issuedNullifierRow'>
}

const WITHDRAWN = CLAIM_KINDS.consentWithdrawn
/** At the record that decides, while others are being recorded. */
const MAX_LOOKS = 5
/** Keeps the pseudonyms of consents apart from those of other records. */
const SUBJECT_KIND = 'consent'

export type ConsentService = ReturnType<typeof createConsents>

export const createConsents = (deps: ConsentDeps) => {
  const { database, logs, ledger, signers, sealing, clock, nullifiers, subjects } = deps

  const pseudonymOf = (organisation: string, subjectId: string): Promise<string> =>
    subjects.of(organisation, SUBJECT_KIND, subjectId)

  const standingsOf = async (
    organisation: string,
    rows: readonly store.KnownConsent[],
  ): Promise<Standing[]> => {
    const ids = rows.map(({ id }) => id)
    const superseded = await store.findSupersessions(database, organisation, ids)
    return rows.map((row) => ({
      row,
      inside: openConsent(sealing, row),
      supersessions: superseded.get(row.id) ?? [],
      withdrawalReason: openReason(sealing, row),
    }))
  }

  const find = async (organisation: string, id: string): Promise<Standing | undefined> => {
    const row = await store.findConsent(database, organisation, id)
    if (row === undefined) return undefined
    const [standing] = await standingsOf(organisation, [row])
    return standing
  }

  const owned = async ({ organisation }: Caller, id: string): Promise<Standing> =>
    (await find(organisation, id)) ?? fail('not_found')

  /**
   * A consent that the circuit knows, or one that was refused. One that was signed for version 1 is signed anew, for its bearer, when
   * it is first asked for: to do so with all at the start would keep a service waiting for as long as it has consents.
   */
  const current = async (standing: Standing): Promise<Standing> => {
    const { row, inside } = standing
    if (inside.circuit !== undefined || row.answer !== 'given') return standing
    const { organisation, id, expires_at } = row
    const { receipt, payload } = inside
    const recipient = await deps.holders.bearer(organisation)
    const circuit = await signForCircuit(deps.issuer, payload, expires_at, recipient)
    await nullifiers.insertIssued(database, issuedRow(nullifiers, circuit, organisation, id))
    await store.replaceSealed(database, row, sealConsent(sealing, { receipt, payload, circuit }))
    // Another server may have been faster: what is stored counts.
    return (await find(organisation, id)) ?? fail('not_found')
  }

  /** @throws AppError read_only for what its recording is said to have answered and did not */
  const requireAsLogged = async (sent: Partial<ConsentLogged>, { row, inside }: Standing): Promise<void> => {
    if (!AS_LOGGED.some((name) => sent[name] !== undefined)) return
    const log = await logs.of(row.organisation)
    const [version, leafHash] = await Promise.all([
      store.findVersion(database, row.organisation, row.id),
      store.findLeafHash(database, log, row.entry_index),
    ])
    const answered: Partial<ConsentLogged> = {
      consentId: row.id,
      status: row.answer,
      version,
      recordedAt: iso(row.recorded_at),
      receipt: inside.receipt,
      ...(inside.circuit && { credential: consentCredential(row.organisation, inside.circuit) }),
      ...(row.answer === 'refused' && { credential: null }),
      digest: Buffer.from(row.receipt_hash).toString('hex'),
      leafHash: Buffer.from(leafHash).toString('hex'),
      ...named(log),
      leafIndex: row.entry_index,
    }
    requireUnchanged(sent, answered, AS_LOGGED)
  }

  /** The consent that a receipt is of, if it is the very one that was issued. */
  const ofReceipt = async ({ organisation }: Caller, receipt: string): Promise<Standing | undefined> => {
    const id = await recordIdOf(signers, receipt)
    const standing = id === undefined ? undefined : await find(organisation, id)
    return standing && receiptHash(receipt).equals(standing.row.receipt_hash) ? standing : undefined
  }

  /** @throws AppError validation_failed, not_found, read_only */
  const verify = async (caller: Caller, request: VerifyConsent): Promise<ConsentVerdict> => {
    const { organisation } = caller
    const { subjectId, purpose, controller, dataCategories } = request
    const now = clock.now()
    const at = momentOf(request, now)
    const subject = subjectId === undefined ? undefined : await pseudonymOf(organisation, subjectId)
    const verdictOn = (standing: Standing): ConsentVerdict => {
      const asked = { subject, purpose, controller, dataCategories, at: at ?? presentOf(standing, now) }
      return verdictOf(standing, asked)
    }
    if ('consentId' in request) {
      const standing = await owned(caller, request.consentId)
      await requireAsLogged(request, standing)
      return verdictOn(standing)
    }
    const sought = {
      organisation,
      subject: subject ?? fail('not_found'),
      purposeHash: nameHash(request.purpose),
      controllerHash: controller === undefined ? undefined : nameHash(controller),
      at,
    }
    for (let looks = 1; ; looks++) {
      const [latest, other] = await store.findLatest(database, sought)
      if (latest === undefined) return noConsent('no_consent', purpose)
      if (other !== undefined) return noConsent('controller_required', purpose)
      const verdict = verdictOn(await owned(caller, latest))
      // It was the latest: another one was recorded between the two looks, and decides.
      if (verdict.reason !== 'superseded' || looks === MAX_LOOKS) return verdict
    }
  }

  /** The statuses of consents that a record of these purposes leaves nothing of. @param before see `findReplaced` */
  const replacedBy = async (
    organisation: string,
    subject: string,
    { controller, purposes }: LogConsent,
    before?: number,
  ): Promise<number[]> => {
    const named = {
      organisation,
      subject,
      controllerHash: nameHash(controller),
      purposeHashes: purposes.map(nameHash),
    }
    const rows = await store.findReplaced(database, named, before)
    return rows.flatMap((row) => {
      const { circuit } = openConsent(sealing, row)
      return circuit === undefined ? [] : [Number(circuit.consent.status)]
    })
  }

  const revokeStatuses = (tx: Tx, statuses: readonly number[]): void => {
    for (const status of statuses) deps.statuses.set(tx, status)
  }

  const withdrawal = ({ row, inside }: Standing, reason: string | undefined): Decide<ConsentWithdrawn> => {
    const { id, organisation } = row
    const status = inside.circuit?.consent.status
    const answer = (at: number): ConsentWithdrawn => ({
      consentId: id,
      status: 'withdrawn',
      withdrawnAt: iso(at),
    })
    const sealed_reason = reason === undefined ? null : sealReason(sealing, id, reason)
    return (tx) => {
      const first = tx.holder(WITHDRAWN, id)
      if (first) return answer(first.at)
      tx.claim(WITHDRAWN, id)
      tx.add(changesCounter(row.subject), 1)
      const { at } = tx
      const { index: entry_index } = tx.append({
        type: 'revoke',
        subject: [LEDGER_SUBJECT, row.subject],
        digest: Buffer.from(row.receipt_hash).toString('hex'),
        data: { event: WITHDRAWN },
      })
      tx.write(
        store.consentWithdrawals.row({
          consent: id,
          organisation,
          entry_index,
          sealed_reason,
          withdrawn_at: at,
        }),
      )
      revokeStatuses(tx, status === undefined ? [] : [Number(status)])
      return answer(at)
    }
  }

  return {
    ...createConsentList({ database, logs, clock, pseudonymOf, standingsOf }),

    /**
     * Records that somebody consented, or refused, and revokes the status of each consent of which that leaves nothing.
     * @throws AppError validation_failed
     */
    async log(caller: Caller, input: LogConsent): Promise<ConsentLogged> {
      const { organisation, idempotency } = caller
      const subject = await pseudonymOf(organisation, input.subjectId)
      // Whoever repeats a request is not refused for what has changed since.
      const stored = idempotency && (await ledger.findAnswer(idempotency))
      if (stored) idempotency.replayed = true
      const replaced = stored ? [] : await replacedBy(organisation, subject, input)
      const record = async (): Promise<Recorded> => {
        const decide = await recordConsent(deps, caller, input, subject)
        return ledger.append(caller, (tx) => {
          revokeStatuses(tx, replaced)
          return decide(tx)
        })
      }
      const recorded = stored ? (stored.answer as Recorded) : await record()
      // Of two records at the same time, neither saw that the other takes the rest.
      const since = await replacedBy(organisation, subject, input, recorded.leafIndex)
      const overlooked = since.filter((status) => !replaced.includes(status))
      // Without the key, under which a repeated request would find the record and revoke nothing.
      if (overlooked.length > 0)
        await ledger.append({ ...caller, idempotency: undefined }, (tx) => revokeStatuses(tx, overlooked))
      const version = await store.findVersion(database, organisation, recorded.consentId)
      return { ...recorded, version }
    },

    /**
     * Whether a consent holds for what is asked, now or at a moment in the past. Writes nothing.
     * @throws AppError validation_failed; not_found for the id of no consent of the organisation; read_only for what its
     *   recording is said to have answered and did not
     */
    verify,

    /** Holds what is said of a consent against what its recording answered. @throws AppError not_found, read_only */
    async requireLogged(caller: Caller, sent: Partial<ConsentLogged> & { consentId: string }): Promise<void> {
      await requireAsLogged(sent, await owned(caller, sent.consentId))
    },

    /** What has become of a consent of the caller's organisation. @throws AppError not_found */
    async status(caller: Caller, consentId: string): Promise<ConsentStanding> {
      const standing = await owned(caller, consentId)
      const now = presentOf(standing, clock.now())
      return {
        consentId,
        status: statusAt(standing, now),
        version: await store.findVersion(database, caller.organisation, consentId),
        purposes: purposesOf(standing),
        history: historyOf(standing, now),
      }
    },

    /**
     * Withdraws a consent for good, and revokes its status. Again: the first answer.
     * @throws AppError not_found, read_only
     */
    async revoke(caller: Caller, { reason, ...logged }: RevokeConsent): Promise<ConsentWithdrawn> {
      const standing = await owned(caller, logged.consentId)
      await requireAsLogged(logged, standing)
      return ledger.append(caller, withdrawal(await current(standing), reason))
    },

    /**
     * A consent of the caller's organisation as its circuit takes it, for one purpose, or why it can't be asked. One that
     * is over, or doesn't cover what is asked, can: the circuit itself says so.
     * @throws AppError not_found for the id of no consent of the organisation; inputs_insufficient, reason HOLDER_BOUND
     */
    async forCircuit(
      caller: Caller,
      asked: CircuitQuestion,
    ): Promise<Provable<PreparedConsent> | RefusedConsent> {
      const { consent, subjectId } = asked
      const standing =
        'consentId' in consent
          ? await owned(caller, consent.consentId)
          : await ofReceipt(caller, consent.receipt)
      if (standing === undefined) return { refused: 'unknown' }
      const subject = subjectId === undefined ? undefined : await pseudonymOf(caller.organisation, subjectId)
      const at = presentOf(standing, clock.now())
      const prepared = prepareConsent(await current(standing), {
        ...asked,
        subject,
        at,
        issuer: deps.baseUrl,
      })
      return 'refused' in prepared ? prepared : { ...prepared, secret: deps.holders.secretOf(prepared) }
    },

    /**
     * Why a proof that says YES of a consent doesn't count now, or undefined: what became of it since, or that its handle
     * is somebody else's.
     */
    async refusalOf(
      organisation: string,
      consentId: string,
      proven: ProvenConsent,
    ): Promise<Refusal | undefined> {
      const standing = await find(organisation, consentId)
      if (standing === undefined) return 'unknown'
      return provenRefusal(standing, proven, presentOf(standing, clock.now()))
    },

    /**
     * What moves on as a later record supersedes a consent for a purpose, beyond the consent's own entry; undefined where no proof
     * of the consent is one.
     */
    async superseding(
      organisation: string,
      consentId: string,
      purpose: bigint,
    ): Promise<{ readonly counter: string; readonly stood: number } | undefined> {
      const { row, inside } = (await find(organisation, consentId)) ?? {}
      if (row === undefined || inside?.circuit === undefined) return undefined
      const { controller } = inside.circuit.consent
      return { counter: newestCounter(row.subject, controller, purpose), stood: row.entry_index }
    },

    /**
     * What is known of somebody's consent to a purpose, as facts for rules; status `none` where nothing is recorded.
     * @throws AppError unavailable, never for what the consent is
     */
    async factsOf(
      caller: Caller,
      { userId, purpose, controller }: { userId: string; purpose: string; controller?: string },
    ): Promise<KnownFacts> {
      const { organisation } = caller
      const counter = changesCounter(await pseudonymOf(organisation, userId))
      const stood = await ledger.findCounter(organisation, counter)
      const verdict = await verify(caller, { subjectId: userId, purpose, controller })
      return {
        facts: {
          valid: verdict.valid,
          status: verdict.status ?? 'none',
          ...(verdict.reason && { reason: verdict.reason }),
          ...(verdict.consentId !== null && { consent_id: verdict.consentId }),
          ...(verdict.expiresAt !== null && { expires_at: verdict.expiresAt }),
        },
        isOvertaken: hasMoved(counter, stood),
      }
    },
  }
}
