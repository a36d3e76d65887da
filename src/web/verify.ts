/** The page of a signed result: fetches it and the keys, checks one against the other, shows what was checked. @module */
import { systemClock } from '../clock.ts'
import { isObject } from '../protocol/json-object.ts'
import { openCrypto } from './crypto/crypto.ts'
import { byId, make, say } from './elements.ts'
import { askJson, textOf, UnreachableError } from './http.ts'
import { published } from './result/published.ts'
import { NO_QUESTION, questionWords } from './result/question.ts'
import { CHECK_TITLES, type Check, type Examination, examine } from './result/result-checks.ts'

const NOT_FOUND = 404
const OK = 200
const MS_PER_SECOND = 1000

const MARKS = { passed: '✓ Passed', failed: '✗ Failed', skipped: '– Not run' } as const

/** Claim of the payload → how people call it. */
const CLAIM_TITLES = {
  decision: 'Decision',
  question: 'SHA-256 of the question',
  jti: 'Verification',
  iat: 'Decided at',
  exp: 'Expires at',
  iss: 'Issuer',
  org: 'Organisation that asked',
  circuit_id: 'Circuit',
  digest: 'Digest of the proven statement',
  data_commitment: 'Commitment to the data',
  leaf_hash: 'Entry in the log',
} as const

type Tone = 'pending' | 'good' | 'warn' | 'bad'

const verdict = byId('verdict', HTMLElement)
const again = byId('again', HTMLButtonElement)

const announce = (tone: Tone, word: string, text: string): void => {
  verdict.dataset.verdict = tone
  say(byId('verdict-word', HTMLElement), word)
  say(byId('verdict-text', HTMLElement), text)
  document.title = `${word} · Assay`
}

/** What was asked, as far as it is known here, in a sentence. */
const DECISION_WORDS: Readonly<Record<string, string>> = {
  answered: 'It answers the question below.',
  partly:
    'The service says that it answers the question below, of which it does not publish every value, so this could not be checked.',
  unknown: 'To which question, it does not say here: ask the organisation before you rely on it.',
}

const ENDED = {
  REVOKED: ['bad', 'Revoked', 'its owner withdrew it.'],
  EXPIRED: ['warn', 'Expired', 'its time is over.'],
} as const

const madeWords = (checks: readonly Check[]): string => {
  const left = checks.filter(({ outcome }) => outcome === 'skipped').map(({ name }) => CHECK_TITLES[name])
  return left.length === 0
    ? 'All checks passed.'
    : `Not checked: ${left.join(', ')}. The other checks passed.`
}

/** Titles of the checks without which nothing can be said, and which were not made. */
const lackingIn = ({ checks }: Examination): string =>
  checks.flatMap(({ name, isEssential }) => (isEssential ? [CHECK_TITLES[name]] : [])).join(', ')

const announceResult = (result: Examination, asked: 'answered' | 'partly' | 'unknown'): void => {
  const { verdict, checks, claims } = result
  const lacking = lackingIn(result)
  const isAsked = claims?.question !== NO_QUESTION
  const decision = isAsked
    ? `The signed decision is ${claims?.decision}. ${DECISION_WORDS[asked]}`
    : 'It attests the submitted data; no question was asked.'
  const made = madeWords(checks)
  if (verdict === 'INVALID') {
    const failures = checks.filter(({ outcome }) => outcome === 'failed')
    const worst = failures.find(({ name }) => name === 'signature') ?? failures[0]
    announce('bad', 'Not valid', `Don’t rely on this result. ${worst?.detail}`)
  } else if (verdict === 'UNVERIFIED') {
    const text = `This page says nothing about it, since it could not check what matters: ${lacking}.`
    announce('warn', 'Not verified', text)
  } else if (verdict === 'REVOKED' || verdict === 'EXPIRED') {
    const [tone, word, ended] = ENDED[verdict]
    const text =
      lacking === ''
        ? `It is genuine, but ${ended} ${decision}`
        : `This page could not check what matters (${lacking}), and ${ended}`
    announce(tone, word, text)
  } else if (!isAsked) announce('warn', 'Valid: no question asked', `${decision} ${made}`)
  else if (asked === 'unknown')
    announce('warn', `Valid: ${claims?.decision} to an unknown question`, `${decision} ${made}`)
  else if (asked === 'partly')
    announce('warn', `Valid: ${claims?.decision}, question not checked`, `${decision} ${made}`)
  else
    announce(
      claims?.decision === 'YES' ? 'good' : 'warn',
      `Valid: ${claims?.decision}`,
      `${decision} ${made}`,
    )
}

const claimText = (name: string, value: unknown): string =>
  (name === 'iat' || name === 'exp') && typeof value === 'number'
    ? new Date(value * MS_PER_SECOND).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'long' })
    : String(value)

const showClaims = (claims: Examination['claims']): void => {
  byId('statement', HTMLElement).hidden = claims === undefined
  const rows = Object.entries(CLAIM_TITLES).flatMap(([name, title]) => {
    const value = claims?.[name]
    return value === undefined || value === null
      ? []
      : [make('dt', {}, title), make('dd', {}, claimText(name, value))]
  })
  byId('claims', HTMLElement).replaceChildren(...rows)
}

/** Shows the question. @returns how much of it is known */
const showQuestion = (
  { claims, checks }: Examination,
  record: unknown,
): 'answered' | 'partly' | 'unknown' => {
  const words = questionWords(isObject(record) ? record.asked : undefined)
  const isNone = claims?.question === NO_QUESTION
  byId('question', HTMLElement).hidden = claims === undefined || (words.length === 0 && !isNone)
  const none = 'No question was asked. The result attests that the data was submitted, and decides nothing.'
  byId('asked', HTMLElement).replaceChildren(
    ...(isNone
      ? [make('p', {}, none)]
      : [make('p', {}, 'The data were asked whether all of this holds:'), ...words]),
  )
  if (words.length === 0) return 'unknown'
  const found = checks.find(({ name }) => name === 'question')
  return found?.outcome === 'passed' ? 'answered' : 'partly'
}

const rowOf = ({ name, outcome, detail }: Check): HTMLElement =>
  make(
    'li',
    { 'data-check': name, 'data-outcome': outcome },
    make('span', { class: 'mark' }, MARKS[outcome]),
    make('h3', {}, CHECK_TITLES[name]),
    make('p', {}, detail),
  )

const show = (found: Examination, record: unknown, by: string): void => {
  // Of what is not verified nothing is shown that looks like an answer.
  const result: Examination = lackingIn(found) === '' ? found : { ...found, claims: undefined }
  announceResult(result, showQuestion(result, record))
  showClaims(result.claims)
  byId('checks', HTMLElement).replaceChildren(...result.checks.map(rowOf))
  say(
    byId('provenance', HTMLElement),
    `Checked here at ${new Date(systemClock.now()).toLocaleTimeString('en-GB')} by ${by}, with keys from ${location.origin}. Whether you trust that address is yours to say: look at it in the address bar.`,
  )
  byId('checked', HTMLElement).hidden = false
  byId('raw', HTMLElement).hidden = false
  byId('jws', HTMLTextAreaElement).value = textOf(record, 'jws') ?? ''
  byId('code', HTMLImageElement).src = `${location.pathname}?format=svg`
}

/** @param isNewest whether nobody has asked again meanwhile: then nothing is shown */
const fetchAndExamine = async (isNewest: () => boolean): Promise<void> => {
  const { pathname, origin } = location
  const [found, keys, crypto] = await Promise.all([
    askJson(pathname),
    askJson('/.well-known/jwks.json'),
    openCrypto(globalThis.crypto.subtle),
  ])
  if (!isNewest()) return
  if (found.status === NOT_FOUND) {
    announce('bad', 'Not found', 'The service knows no result under this address. Was it copied in full?')
    return
  }
  if (found.status !== OK || keys.status !== OK) {
    const said = textOf(found.status === OK ? keys.body : found.body, 'message') ?? ''
    announce('warn', 'Not checked', `The service did not give the result and its keys. ${said}`)
    return
  }
  const hash = pathname.split('/').at(-1) ?? ''
  const evidence = { hash, record: found.body, jwks: keys.body, origin, now: systemClock.now(), published }
  const examination = await examine(evidence, crypto)
  if (isNewest()) show(examination, found.body, crypto.name)
}

let runs = 0

const run = async (): Promise<void> => {
  const number = ++runs
  const isNewest = (): boolean => number === runs
  announce('pending', 'Checking…', 'Your browser fetches the result, the public keys and the log.')
  for (const id of ['question', 'statement', 'checked', 'raw']) byId(id, HTMLElement).hidden = true
  try {
    await fetchAndExamine(isNewest)
  } catch (error) {
    const why =
      error instanceof UnreachableError
        ? `${error.message} Nothing could be checked.`
        : 'The checks could not be run, so this page says nothing about the result.'
    if (isNewest()) announce('warn', 'Not checked', why)
    if (!(error instanceof UnreachableError)) throw error
  } finally {
    again.hidden = false
  }
}

again.addEventListener('click', () => void run())
void run()
