/**
 * ISO 4217: which currencies there are, and how many decimals each has. A constant, because terminals carry it.
 * @module
 */

/** Codes by the number of digits behind the decimal point (ISO 4217 list one, of which a test checks every line). */
const CODES_BY_EXPONENT: Readonly<Record<number, string>> = {
  0:
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XAG XAU XBA XBB XBC XBD XDR XOF XPD XPF ' +
    'XPT XSU XTS XUA XXX',
  2:
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD ' +
    'CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP ' +
    'GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL ' +
    'MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN ' +
    'QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD ' +
    'TWD TZS UAH USD USN UYU UZS VED VES WST XCD YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}

const EXPONENTS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES_BY_EXPONENT).flatMap(([exponent, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, Number(exponent)]),
  ),
)

/** Whether this is an ISO 4217 code, in upper case. */
export const isCurrency = (code: string): boolean => EXPONENTS.has(code)

/** Digits behind the decimal point: 2 for GBP, 0 for JPY, 3 for KWD. @throws RangeError for an unknown code */
export const exponentOf = (code: string): number => {
  const exponent = EXPONENTS.get(code)
  if (exponent === undefined) throw new RangeError('currency must be an ISO 4217 code in upper case')
  return exponent
}

/** Every code, for tests and forms. */
export const currencyCodes = (): string[] => [...EXPONENTS.keys()]
