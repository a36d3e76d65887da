/**
 * Reads payments as they come over the wire. `payments/validate` names a wrong field with an error; in a batch
 * the same fault refuses one item and leaves its neighbours alone.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { type ErrorCode, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { isWritable } from '../../json/moments.ts'
import { MAX_UNKNOWN_TOLD, unknownMember } from '../../json/unknown-members.ts'
import { isCurrency } from '../../protocol/currency.ts'
import { isObject } from '../../protocol/json-object.ts'
import {
  looksLikeCardNumber,
  parseProof,
  toMinorUnits,
  transactionIdFor,
} from '../../protocol/payment-proof.ts'
import {
  MAX_CLOCK_AHEAD_MS,
  QUEUED_MEMBERS,
  type RefusalCode,
  type SyncWarning,
  TRANSACTION_ID_PATTERN,
  type ValidateRequest,
} from '../../protocol/sync.ts'
import type { AccountsService } from '../accounts/service.ts'
import type { Presented } from './payment.ts'
import { MAX_MERCHANT_ID_CHARACTERS } from './schemas.ts'

export const DEFAULT_CURRENCY = 'GBP'

/** Numbers below are Unix seconds (until the year 5138), numbers above are milliseconds (since 1973). */
const FIRST_MILLISECONDS = 1e11
/** RFC 3339 §5.6, which is what ISO 8601 comes to on the wire: date, time and zone. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i
const TRANSACTION_ID = new RegExp(TRANSACTION_ID_PATTERN)

/** Unix ms; NaN for a day that its month lacks, which parsing takes for one of the next month. */
const parseDateTime = (text: string): number => {
  const day = text.slice(0, 'YYYY-MM-DD'.length)
  const midnight = Date.parse(day)
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day)
  return isDay ? Date.parse(text) : Number.NaN
}

/**
 * Reads a timestamp: ISO 8601 with a zone, Unix seconds or Unix milliseconds.
 * @returns Unix ms, a whole number in the years 1970 to 9998, or undefined when it is none of these
 */
export const parseTimestamp = (value: unknown): number | undefined => {
  const ms =
    typeof value === 'number'
      ? Math.abs(value) < FIRST_MILLISECONDS
        ? Math.round(value * 1000)
        : value
      : typeof value === 'string' && DATE_TIME.test(value)
        ? parseDateTime(value)
        : Number.NaN
  return Number.isSafeInteger(ms) && isWritable(ms) ? ms : undefined
}

/** A proof that arrives with a stamp ahead of our clock would never grow too old. */
const isAhead = (stampedAt: number | undefined, now: number): boolean =>
  stampedAt !== undefined && stampedAt - now > MAX_CLOCK_AHEAD_MS

/**
 * The merchant a payment is for.
 * @param asked what the request names, if anything
 * @returns undefined when it is not the caller's
 */
const merchantOf = async (
  accounts: Pick<AccountsService, 'defaultMerchant' | 'ownsMerchant'>,
  { credential, organisation }: Caller,
  asked: string | undefined,
): Promise<string | undefined> => {
  const bound = 'merchantId' in credential ? credential.merchantId : undefined
  if (bound !== undefined) return asked === undefined || asked === bound ? bound : undefined
  if (asked === undefined) return accounts.defaultMerchant(organisation)
  return (await accounts.ownsMerchant(organisation, asked)) ? asked : undefined
}

/** Ids that are looked for are remembered, so that of an upload none may be longer than any is. */
const isMerchantId = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_MERCHANT_ID_CHARACTERS

const wrong = (code: ErrorCode, path: string, message: string): never =>
  fail(code, { details: [{ path, code, message }] })

/** Members of a queued payment that nobody knows: told, not refused, since money must not hang on a spelling. */
export const unknownMembers = (item: unknown): SyncWarning[] =>
  Object.keys(isObject(item) ? item : {})
    .filter((name) => !QUEUED_MEMBERS.some((known) => known === name))
    .slice(0, MAX_UNKNOWN_TOLD)
    .map((name) => unknownMember('', name, QUEUED_MEMBERS))

export const createReader = ({
  accounts,
}: {
  accounts: Pick<AccountsService, 'defaultMerchant' | 'ownsMerchant'>
}) => ({
  /**
   * Reads a payment that is to be validated. A malformed proof or a stamp in the future is a refusal, not an error.
   * @param now Unix ms
   * @throws AppError pan_not_allowed, currency_invalid, amount_precision, validation_failed, forbidden, not_found
   */
  async one(caller: Caller, input: ValidateRequest, now: number): Promise<Presented> {
    if (looksLikeCardNumber(input.proofData)) {
      wrong('pan_not_allowed', '/proofData', 'looks like a card number; send the proof made from a token')
    }
    const currency = input.currency ?? DEFAULT_CURRENCY
    if (!isCurrency(currency))
      wrong('currency_invalid', '/currency', 'must be an ISO 4217 code in upper case')
    const amount = toMinorUnits(input.amount, currency)
    if (!amount.ok) {
      const code = amount.reason === 'precision' ? 'amount_precision' : 'validation_failed'
      return wrong(code, '/amount', amount.message)
    }
    const stampedAt = input.timestamp === undefined ? undefined : parseTimestamp(input.timestamp)
    if (input.timestamp !== undefined && stampedAt === undefined) {
      wrong(
        'validation_failed',
        '/timestamp',
        'must be ISO 8601 with a zone, Unix seconds or Unix milliseconds, of the years 1970 to 9998',
      )
    }
    const merchantId =
      (await merchantOf(accounts, caller, input.merchantId)) ??
      wrong(
        caller.credential.kind === 'terminal' ? 'forbidden' : 'not_found',
        '/merchantId',
        'is not a merchant of the caller',
      )
    const proof = parseProof(input.proofData)
    return {
      transactionId: input.transactionId ?? newId('txn', now),
      named: input.transactionId !== undefined,
      merchantId,
      amountMinor: amount.minor,
      currency,
      stampedAt,
      customerId: input.customerId,
      paymentMethod: input.paymentMethod,
      proof: proof.ok ? proof : undefined,
      proofText: proof.ok ? input.proofData : undefined,
      refusal: proof.ok ? (isAhead(stampedAt, now) ? 'CLOCK_SKEW' : undefined) : 'PROOF_MALFORMED',
    }
  },

  /**
   * Reads the items of a batch. What is wrong with one is its `refusal`; the first finding counts.
   * @param now Unix ms
   */
  async many(caller: Caller, items: readonly unknown[], now: number): Promise<Presented[]> {
    const merchants = new Map<string | undefined, Promise<string | undefined>>()
    const read = async (item: unknown): Promise<Presented> => {
      const fields = isObject(item) ? item : {}
      const proofText = typeof fields.proofData === 'string' ? fields.proofData : ''
      const proof = parseProof(proofText)
      const given = fields.transactionId ?? undefined
      const isId = typeof given === 'string' && TRANSACTION_ID.test(given)
      const asked = fields.merchantId ?? undefined
      const merchantId =
        asked === undefined || isMerchantId(asked)
          ? await (merchants.get(asked) ?? remember(merchants, asked, merchantOf(accounts, caller, asked)))
          : undefined
      const currency = fields.currency ?? DEFAULT_CURRENCY
      const isMoney = typeof currency === 'string' && isCurrency(currency)
      const amount =
        isMoney && typeof fields.amount === 'number' ? toMinorUnits(fields.amount, currency) : undefined
      const stampedAt = parseTimestamp(fields.timestamp)
      const findings: [RefusalCode, boolean][] = [
        ['PROOF_MALFORMED', !proof.ok],
        ['TRANSACTION_ID_INVALID', given !== undefined && !isId],
        ['MERCHANT_INVALID', merchantId === undefined],
        ['CURRENCY_INVALID', !isMoney],
        ['AMOUNT_INVALID', !amount?.ok],
        ['TIMESTAMP_INVALID', stampedAt === undefined],
        ['CLOCK_SKEW', isAhead(stampedAt, now)],
      ]
      return {
        transactionId: isId ? given : proof.ok ? transactionIdFor(proofText) : newId('txn', now),
        named: isId || proof.ok,
        merchantId,
        ...(proof.ok && { proof, proofText }),
        ...(amount?.ok && { amountMinor: amount.minor }),
        ...(isMoney && { currency }),
        stampedAt,
        refusal: findings.find(([, found]) => found)?.[0],
      }
    }
    return Promise.all(items.map(read))
  },
})

const remember = <K, V>(map: Map<K, V>, key: K, value: V): V => {
  map.set(key, value)
  return value
}
