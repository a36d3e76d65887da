/** Countries as people and machine-readable zones write them. @module */
import { iso31661Alpha2ToAlpha3 } from 'iso-3166/1-a2-to-1-a3.js'
import { iso31661Alpha3ToAlpha2 } from 'iso-3166/1-a3-to-1-a2.js'

/** ISO 3166-1 alpha-2. */
export const COUNTRY_CODES: readonly string[] = Object.keys(iso31661Alpha2ToAlpha3)

/** Codes of ICAO 9303-3 §5 for issuers that ISO 3166-1 writes otherwise. Organisations and the stateless have no country. */
const ICAO_CODES: Readonly<Record<string, string>> = {
  D: 'DE',
  GBD: 'GB',
  GBN: 'GB',
  GBO: 'GB',
  GBP: 'GB',
  GBS: 'GB',
}

/** @returns ISO 3166-1 alpha-2 in upper case; undefined for codes of no country */
export const countryOf = (code: string): string | undefined => {
  const upper = code.toUpperCase()
  if (Object.hasOwn(iso31661Alpha2ToAlpha3, upper)) return upper
  return Object.hasOwn(iso31661Alpha3ToAlpha2, upper) ? iso31661Alpha3ToAlpha2[upper] : ICAO_CODES[upper]
}
