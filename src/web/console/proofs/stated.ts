/** What was asked of a proof, in words: hashes and public values, as its context binds them. @module */

const TITLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    op: 'Comparison',
    operand: 'Compared with, as a field element',
    rules_hash: 'SHA-256 of the rules',
    program_hash: 'Hash of the rules inside the circuit',
    data_commitment: 'Commitment to the data',
    policy: 'Policy',
    policy_verdict: 'What the policy said',
    commits: 'What is committed to',
    subject: 'Subject, as a keyed hash',
    purpose: 'Purpose',
    minLevel: 'Level, at least',
    latestBirthDate: 'Born on this day or before',
    countries: 'Countries, as numbers',
    unique: 'One person counts once',
    disclose: 'Shows whether it was revoked',
    audience: 'Audience, as a hash',
    controller: 'Controller, as a hash',
    purpose_element: 'Purpose of the consent, as a hash',
    consent_id: 'Consent',
    merchantId: 'Merchant',
    currency: 'Currency',
    limit: 'Amount in minor units, at most',
    from: 'Not before',
    to: 'Not after',
    root: 'Root of the log',
    required_bits: 'Signatures that must hold',
    members: 'Proofs that it stands for',
    attested_at: 'Attested at',
  }),
)

const OPERATORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    eq: 'is',
    ne: 'is not',
    lt: 'is less than',
    lte: 'is at most',
    gt: 'is greater than',
    gte: 'is at least',
  }),
)
const LEVELS = ['none', 'basic', 'standard', 'enhanced']
const SIGNATURES = ['none', 'the classical one', 'the post-quantum one', 'both']
const MS_PER_SECOND = 1000

const dayWords = (text: string): string => text.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')
/** What is said of a proof made elsewhere, its maker said. */
const timeWords = (text: string): string => {
  const time = new Date(Number(text) * MS_PER_SECOND)
  return Number.isNaN(time.getTime()) ? text : time.toISOString()
}
const yesNo = (text: string): string => (text === '1' ? 'yes' : 'no')

const WORDS: ReadonlyMap<string, (text: string) => string> = new Map(
  Object.entries({
    op: (text) => OPERATORS.get(text) ?? text,
    minLevel: (text) => LEVELS[Number(text)] ?? text,
    latestBirthDate: dayWords,
    unique: yesNo,
    disclose: yesNo,
    required_bits: (text) => SIGNATURES[Number(text)] ?? text,
    attested_at: timeWords,
  }),
)

const textOf = (value: unknown): string => {
  if (value === null) return 'none'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** @returns title and text of each member */
export const statedWords = (
  stated: Readonly<Record<string, unknown>>,
): readonly (readonly [title: string, text: string])[] =>
  Object.entries(stated).map(([name, value]) => {
    if (name === 'countries' && Array.isArray(value) && value.every((one) => textOf(one) === '0'))
      return ['Countries', 'any']
    return [TITLES.get(name) ?? name, (WORDS.get(name) ?? textOf)(textOf(value))]
  })
