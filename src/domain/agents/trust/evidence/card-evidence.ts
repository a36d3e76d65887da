/**
 * A signed A2A agent card as evidence (A2A 1.0 §8.4): a detached JWS over the card's canonical JSON (RFC 8785) without its
 * signatures. It shows that the holder of the key made the card; who shows it, and when, it does not say.
 * @module
 */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../../../protocol/canonical-json.ts'
import { isObject } from '../../../../protocol/json-object.ts'
import { readJws } from '../../../../protocol/jws.ts'
import type { EvidenceReason } from '../reasons.ts'
import type { Evidence, FindKey } from './evidence.ts'
import { jwsFault } from './jws-evidence.ts'

/** A card has one, and two while a key is replaced. */
export const MAX_CARD_SIGNATURES = 8

export type AgentCard = Readonly<Record<string, unknown>>

/** Without members that are empty. @returns undefined for what is empty itself */
const withoutEmpty = (value: unknown): unknown => {
  if (value === '' || value === null) return undefined
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((item) => item !== undefined)
    return kept.length === 0 ? undefined : kept
  }
  if (!isObject(value)) return value
  const kept = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/**
 * The texts that a signature of this card may cover: all of it, and all that is not empty. Signers leave empty members
 * out, not all of them the same ones, and servers may write them again; whatever says something is in both.
 */
const coveredTexts = (card: AgentCard): string[] => {
  const { signatures: _, ...content } = card
  return [...new Set([content, withoutEmpty(content) ?? {}].map((form) => canonicalJson(form)))]
}

/** Header members that ask for nothing: `jku` is where others look for the key, which is enrolled here. */
const HEADER_MEMBERS = ['alg', 'kid', 'typ', 'jku']

/** @returns who signed the card, or why this signature shows nothing */
const judge = async (entry: unknown, payloads: readonly string[], findKey: FindKey) => {
  if (!isObject(entry) || typeof entry.protected !== 'string' || typeof entry.signature !== 'string')
    return 'CARD_UNSIGNED'
  const readings = payloads.map((payload) => readJws(`${entry.protected}.${payload}.${entry.signature}`))
  const header = readings[0]?.header
  if (header === undefined) return 'JWS_MALFORMED'
  if (!Object.keys(header).every((name) => HEADER_MEMBERS.includes(name))) return 'HEADER_REFUSED'
  const signer = await findKey(header.kid)
  if (typeof signer === 'string') return signer
  let fault: EvidenceReason | undefined = 'SIGNATURE_INVALID'
  for (const reading of readings) {
    if (reading === undefined) return 'JWS_MALFORMED'
    fault = jwsFault(signer.publicKey, header.alg, reading.covered, reading.signature)
    if (fault !== 'SIGNATURE_INVALID') break
  }
  return fault ?? signer
}

/** Judges a card by whichever of its signatures a known key made; else with the reason of each. */
export const readCardEvidence = async (card: AgentCard, findKey: FindKey): Promise<Evidence> => {
  const method = 'agent_card'
  const digest = hash('sha256', canonicalJson(card))
  const { signatures } = card
  const entries: unknown[] = Array.isArray(signatures) ? signatures : []
  if (entries.length === 0 || entries.length > MAX_CARD_SIGNATURES)
    return { method, reasons: ['CARD_UNSIGNED'], digest }
  const payloads = coveredTexts(card).map((text) => Buffer.from(text).toString('base64url'))
  const reasons = new Set<EvidenceReason>()
  for (const entry of entries) {
    const judged = await judge(entry, payloads, findKey)
    if (typeof judged !== 'string') return { method, reasons: [], signer: judged, digest }
    reasons.add(judged)
  }
  return { method, reasons: [...reasons], digest }
}
