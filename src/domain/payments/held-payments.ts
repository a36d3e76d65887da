/** Accepted payments, found again by what was presented or by their card's nullifier. @module */
import type { Caller } from '../../caller.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { compactOf, type ParsedProof, parseProof } from '../../protocol/payment-proof.ts'
import type { ValidateRequest } from '../../protocol/sync.ts'
import type { Database } from '../../store/database.ts'
import { nullifierKeyOf, type Spender } from './decision.ts'
import { type Channel, isWellFormed } from './payment.ts'
import type { createReader } from './presented.ts'
import { findPayment } from './store.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'findClaim'>
  readonly database: Database
  readonly reader: Pick<ReturnType<typeof createReader>, 'one'>
}

/** An accepted payment. */
export interface HeldPayment {
  /** `pay_…` */
  readonly paymentId: string
  readonly transactionId: string
  readonly merchant: string
  /** The terminal (`ter_…`) or API key (`key_…`) that presented it. */
  readonly origin: string
  readonly channel: Channel
  /** As it was presented: only the stored form has the whole nullifier. */
  readonly proof: ParsedProof
  /** Minor units of `currency`. */
  readonly amountMinor: number
  readonly currency: string
  /** The terminal's clock, Unix ms. */
  readonly stampedAt: number | undefined
  /** Our clock, Unix ms. */
  readonly receivedAt: number
}

/** A caller that is bound to one merchant sees no other's. */
const maySee = ({ credential }: Caller, merchant: string): boolean =>
  !('merchantId' in credential) || (credential.merchantId ?? merchant) === merchant

export const createHeldPayments = ({ ledger, database, reader }: Deps) => {
  /** @param nullifier12 the nullifier's first 12 bytes */
  const findByNullifier = async (
    caller: Caller,
    nullifier12: Uint8Array,
  ): Promise<HeldPayment | undefined> => {
    const { organisation } = caller
    const key = nullifierKeyOf({ nullifier12 })
    const held = await ledger.findClaim(organisation, CLAIM_KINDS.paymentNullifier, key)
    if (held === undefined) return undefined
    // The holder is what the claim carries.
    const row = await findPayment(database, organisation, (held.holder as Spender).payment)
    const proof = row?.proof ? parseProof(Buffer.from(row.proof).toString('base64url')) : undefined
    if (!row?.merchant || row.amount_minor === null || row.currency === null || !proof?.ok) {
      throw new Error(`The nullifier ${key} is held by a payment that lacks what every accepted one has.`)
    }
    if (!maySee(caller, row.merchant)) return undefined
    return {
      paymentId: row.id,
      transactionId: row.transaction_id,
      merchant: row.merchant,
      origin: row.origin,
      channel: row.channel,
      proof,
      amountMinor: row.amount_minor,
      currency: row.currency,
      stampedAt: row.stamped_at ?? undefined,
      receivedAt: row.received_at,
    }
  }

  return {
    /** The accepted payment that used a nullifier, or undefined. @param nullifier12 its first 12 bytes */
    heldByNullifier: findByNullifier,

    /**
     * The accepted payment that is exactly what is presented again: proof in either form, amount, currency and stamp.
     * @param now Unix ms
     * @returns undefined where there is none
     * @throws AppError pan_not_allowed, currency_invalid, amount_precision, validation_failed, not_found
     */
    async heldAs(caller: Caller, input: ValidateRequest, now: number): Promise<HeldPayment | undefined> {
      const asked = await reader.one(caller, input, now)
      if (!isWellFormed(asked)) return undefined
      const held = await findByNullifier(caller, asked.proof.nullifier12)
      const isSame =
        held !== undefined &&
        compactOf(held.proof) === compactOf(asked.proof) &&
        held.amountMinor === asked.amountMinor &&
        held.currency === asked.currency &&
        held.stampedAt === asked.stampedAt
      return isSame ? held : undefined
    },
  }
}
