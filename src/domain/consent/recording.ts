/** A new consent: a receipt for people, and a signature for its circuit. @module */

import type { Caller } from '../../caller.ts'
import { writeCredential } from '../../circuits/credential.ts'
import { consentMessage } from '../../circuits/issuer-signature.ts'
import type { IssuedTo } from '../../circuits/kept-recipient.ts'
import { iso } from '../../clock.ts'
import { newId } from '../../ids.ts'
import type { Decide } from '../../ledger/decision.ts'
import { named } from '../../ledger/logs.ts'
import { checkConsent } from './input.ts'
import { type ReceiptPayload, receiptHash, receiptPayload, signReceipt } from './receipt.ts'
import type { ConsentLogged, LogConsent } from './schemas.ts'
import { type CircuitConsent, consentFields, nameElement, nameHash, sealConsent } from './sealed-consent.ts'
import type { ConsentDeps } from './service.ts'
import { consentPurposes, consents } from './store.ts'

/**
 * Holds the entry of the newest record of somebody about a purpose of a controller, both as proofs show them: whatever was recorded before
 * is superseded for it. 0: there was none since it is kept.
 */
export const newestCounter = (subject: string, controller: bigint, purpose: bigint): string =>
  `consent.newest/${subject}/${controller}/${purpose}`

/** Whose proofs consents can have. */
export const CIRCUIT = 'consent_verification'
/** What the ledger calls the people of consents: by their permanent pseudonym, which is all that is known later. */
export const LEDGER_SUBJECT = 'consent-subject'

/** Counts what was recorded of somebody: consents, refusals, withdrawals. @param subject permanent pseudonym */
export const changesCounter = (subject: string): string => `consent.changes/${subject}`

export const signForCircuit = async (
  issuer: ConsentDeps['issuer'],
  payload: ReceiptPayload,
  expiresAt: number | null,
  { issued, secret }: IssuedTo,
): Promise<CircuitConsent> => {
  const signer = await issuer.current()
  const consent = consentFields(payload, expiresAt, issued)
  return { consent, secret, signature: signer.sign(consentMessage(consent)), issuer: signer.point }
}

/** What the recording of a consent answers as `credential`. */
export const consentCredential = (organisation: string, { consent, secret, ...signed }: CircuitConsent) =>
  writeCredential(CIRCUIT, organisation, consent, signed, secret)

/** The row by which proofs of a consent lead to it. */
export const issuedRow = (
  nullifiers: Pick<ConsentDeps['nullifiers'], 'issuedNullifierRow'>,
  { consent }: CircuitConsent,
  organisation: string,
  id: string,
) =>
  nullifiers.issuedNullifierRow({ circuitId: CIRCUIT, nullifier: consent.status, organisation, consent: id })

/** The answer as it is known inside the commit; which version it is depends on what was committed before. */
export type Recorded = Omit<ConsentLogged, 'version'>

/** @param subject permanent pseudonym @returns what records it @throws AppError validation_failed */
export const recordConsent = async (
  { signers, issuer, holders, sealing, clock, baseUrl, nullifiers }: ConsentDeps,
  caller: Caller,
  input: LogConsent,
  subject: string,
): Promise<Decide<Recorded>> => {
  const { organisation } = caller
  const { controller, purposes, status = 'given' } = input
  const at = clock.now()
  const expiresAt = checkConsent(input, at)
  const id = newId('cns', at)
  const payload = receiptPayload({ issuer: baseUrl, organisation, id, subject, at, expiresAt }, input)
  const receipt = signReceipt(payload, await signers.current('results', 'Ed25519'))
  const recipient = await holders.recipient(organisation, input.subjectId, input.holder)
  const circuit = status === 'given' ? await signForCircuit(issuer, payload, expiresAt, recipient) : undefined
  const credential = circuit ? consentCredential(organisation, circuit) : null
  const sealed = sealConsent(sealing, { receipt, payload, circuit })
  const receipt_hash = receiptHash(receipt)
  const controller_hash = nameHash(controller)
  const digest = receipt_hash.toString('hex')
  const newest = purposes.map((purpose) =>
    newestCounter(subject, nameElement(controller), nameElement(purpose)),
  )
  return (tx) => {
    recipient.bind(tx)
    tx.add(changesCounter(subject), 1)
    const {
      log,
      index: entry_index,
      leafHash,
    } = tx.append({
      type: 'attest',
      subject: [LEDGER_SUBJECT, subject],
      digest,
      data: { event: 'consent.recorded', status },
    })
    for (const counter of newest) tx.add(counter, entry_index - tx.counter(counter))
    const shared = { organisation, entry_index, subject, controller_hash, recorded_at: tx.at }
    tx.write(consents.row({ ...shared, id, answer: status, receipt_hash, sealed, expires_at: expiresAt }))
    for (const purpose of purposes)
      tx.write(consentPurposes.row({ ...shared, consent: id, purpose_hash: nameHash(purpose) }))
    if (circuit !== undefined) tx.write(issuedRow(nullifiers, circuit, organisation, id))
    return {
      consentId: id,
      status,
      recordedAt: iso(tx.at),
      receipt,
      credential,
      digest,
      leafHash,
      ...named(log),
      leafIndex: entry_index,
    }
  }
}
