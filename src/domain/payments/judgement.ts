/**
 * What a payment's key and policy say of it: recomputes MACs, finds proofs of revoked keys, holds age, assurance
 * and floor limit against the policy. Reads only; the nullifier is decided later, by the ledger.
 * @module
 */
import type { Caller } from '../../caller.ts'
import type { Core } from '../../core/index.ts'
import { fromMinorUnits } from '../../protocol/payment-proof.ts'
import type { Assurance, RefusalCode } from '../../protocol/sync.ts'
import type { MerchantKey } from '../accounts/keys.ts'
import type { AccountsService } from '../accounts/service.ts'
import type { TerminalsService } from '../terminals/service.ts'
import { originOf } from './decision.ts'
import { type Channel, isWellFormed, type Judgement, type Presented, type WellFormed } from './payment.ts'

interface Deps {
  readonly core: Pick<Core, 'verifyBatch'>
  readonly accounts: Pick<AccountsService, 'midstate' | 'merchantKeys'>
  readonly terminals: Pick<TerminalsService, 'policy'>
}

type Policy = Awaited<ReturnType<TerminalsService['policy']>>

/** What a proof's key says. `unchecked` where there is no MAC or no timestamp to check it with. */
type KeyVerdict = 'unchecked' | 'right' | 'wrong' | 'revoked'

/** A proof whose MAC can be recomputed. */
type Checkable = WellFormed & { readonly stampedAt: number }

const isCheckable = (payment: Presented): payment is Checkable =>
  isWellFormed(payment) && payment.proof.form === 'stored' && payment.stampedAt !== undefined

export const createJudge = ({ core, accounts, terminals }: Deps) => {
  /** Which of the proofs this key made. */
  const fits = (midstate: Uint8Array, payments: readonly Checkable[]): boolean[] =>
    core
      .verifyBatch(
        midstate,
        payments.map(({ proofText, amountMinor, currency, stampedAt, merchantId }) => ({
          stored: proofText,
          amountMinor,
          currency,
          timestampMs: stampedAt,
          merchantId,
        })),
      )
      .map((verdict) => verdict === 'match')

  /** Tries the organisation's other keys on proofs that the caller's own key did not make. */
  const trySiblings = async (
    { organisation, credential }: Caller,
    own: MerchantKey,
    verdicts: Map<Presented, KeyVerdict>,
    now: number,
  ): Promise<void> => {
    const siblings = await accounts.merchantKeys({
      organisation,
      merchantId: 'merchantId' in credential ? credential.merchantId : undefined,
      terminalId: credential.kind === 'terminal' ? credential.terminalId : own.terminalId,
    })
    for (const { keyId, merchantId, midstate, revokedAt } of siblings) {
      if (keyId === own.keyId) continue
      const open = [...verdicts].flatMap(([payment, verdict]) =>
        verdict === 'wrong' &&
        isCheckable(payment) &&
        (merchantId ?? payment.merchantId) === payment.merchantId
          ? [payment]
          : [],
      )
      if (open.length === 0) continue
      fits(midstate, open).forEach((right, i) => {
        const payment = open[i]
        if (right && payment)
          verdicts.set(payment, revokedAt === undefined || revokedAt > now ? 'right' : 'revoked')
      })
    }
  }

  const keyVerdicts = async (
    caller: Caller,
    payments: readonly Presented[],
    now: number,
  ): Promise<Map<Presented, KeyVerdict>> => {
    const verdicts = new Map<Presented, KeyVerdict>()
    const checkable = payments.filter(isCheckable)
    if (checkable.length === 0 || !('keyId' in caller.credential)) return verdicts
    const own = await accounts.midstate(caller.credential.keyId)
    const right = fits(own.midstate, checkable)
    for (const [i, payment] of checkable.entries()) verdicts.set(payment, right[i] ? 'right' : 'wrong')
    if (right.includes(false)) await trySiblings(caller, own, verdicts, now)
    return verdicts
  }

  const policyRefusal = (
    payment: WellFormed,
    policy: Policy,
    channel: Channel,
    now: number,
    assurance: Assurance,
    keyRevoked: boolean,
  ): RefusalCode | undefined => {
    if (payment.stampedAt !== undefined && now - payment.stampedAt > policy.maxOfflineAgeMs) return 'TOO_OLD'
    // An operator decides on payments of a revoked key, so the lower assurance is theirs to weigh.
    if (policy.minAssurance === 'mac' && assurance !== 'mac' && !keyRevoked) return 'ASSURANCE_TOO_LOW'
    // A floor limit is what may be accepted without asking; who validates first has asked.
    const amount = fromMinorUnits(payment.amountMinor, payment.currency)
    return channel === 'sync' && policy.floorLimit !== undefined && amount > policy.floorLimit
      ? 'LIMIT_EXCEEDED'
      : undefined
  }

  return {
    /**
     * Judges payments of one caller, in order.
     * @param now Unix ms
     */
    async judge(
      caller: Caller,
      channel: Channel,
      payments: readonly Presented[],
      now: number,
    ): Promise<Judgement[]> {
      const { credential } = caller
      const [, origin] = originOf(caller)
      const callerRevoked = credential.kind === 'terminal' && credential.keyRevoked
      const verdicts = await keyVerdicts(caller, payments, now)
      const policies = new Map<string, Policy>()
      const judgements: Judgement[] = []
      for (const payment of payments) {
        if (!isWellFormed(payment)) {
          judgements.push({ payment, assurance: payment.proof ? 'structural' : 'none' })
          continue
        }
        const verdict = verdicts.get(payment) ?? 'unchecked'
        if (verdict === 'wrong') {
          judgements.push({ payment, assurance: 'structural', refusal: 'INVALID_MAC' })
          continue
        }
        const keyRevoked = callerRevoked || verdict === 'revoked'
        const assurance = verdict === 'right' && !keyRevoked ? 'mac' : 'structural'
        const policy =
          policies.get(payment.merchantId) ??
          (await terminals.policy({ merchant: payment.merchantId, origin }))
        policies.set(payment.merchantId, policy)
        const refusal = policyRefusal(payment, policy, channel, now, assurance, keyRevoked)
        judgements.push({ payment, assurance, refusal, keyRevoked })
      }
      return judgements
    },
  }
}
