/**
 * What makes a device a terminal: its secrets, as the console shows them in a QR code. They stand behind the # of an
 * address, which no browser sends to a server.
 * @module
 */
import { isObject } from './json-object.ts'

/** Everything that a device needs to be the terminal. */
export interface Pairing {
  readonly terminalId: string
  readonly terminalSecret: string
  /** Keys the proofs. */
  readonly apiKey: string
  readonly merchantId: string
  /** What people call it. */
  readonly label: string
}

const NAMES = ['terminalId', 'terminalSecret', 'apiKey', 'merchantId', 'label'] as const
/** What the fragment of a pairing address begins with. */
export const PAIRING_PREFIX = '#pair='
const MAX_VALUE_CHARACTERS = 200
/** More of it would make a QR code that no phone reads. */
const MAX_LABEL_CHARACTERS = 40

const toBase64Url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const fromBase64Url = (text: string): string => {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)))
}

/** @param origin of the service */
export const pairingAddress = (origin: string, pairing: Pairing): string => {
  const label = [...pairing.label].slice(0, MAX_LABEL_CHARACTERS).join('')
  const kept = Object.fromEntries(NAMES.map((name) => [name, name === 'label' ? label : pairing[name]]))
  return `${origin}/terminal${PAIRING_PREFIX}${toBase64Url(JSON.stringify(kept))}`
}

const isValue = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_VALUE_CHARACTERS

/** Why what was scanned or pasted pairs nothing; in words for people. */
export class PairingError extends Error {
  override readonly name = 'PairingError'
}

/** @returns the pairing; undefined where the address holds none @throws PairingError */
export const readPairing = (address: string, origin: string): Pairing | undefined => {
  const url = URL.canParse(address.trim(), origin) ? new URL(address.trim(), origin) : undefined
  if (!url?.hash.startsWith(PAIRING_PREFIX)) return undefined
  if (url.origin !== origin)
    throw new PairingError(
      `This code is for ${url.host}; this page takes payments for ${new URL(origin).host}.`,
    )
  let told: unknown
  try {
    told = JSON.parse(fromBase64Url(url.hash.slice(PAIRING_PREFIX.length)))
  } catch {
    throw new PairingError('The pairing code is damaged. Was it copied in full?')
  }
  const values = NAMES.map((name) => (isObject(told) ? told[name] : undefined))
  if (!values.every(isValue)) throw new PairingError('The pairing code is damaged. Was it copied in full?')
  return Object.fromEntries(NAMES.map((name, index) => [name, values[index]])) as unknown as Pairing
}
