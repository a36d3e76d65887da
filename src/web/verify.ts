/** The page of a signed result: fetches it and the keys, checks one against the other, shows what was checked. @module */
import { systemClock } from '../clock.ts'
import { openCrypto } from './crypto.ts'
import { byId, make, say } from './elements.ts'
import { askJson, textOf, UnreachableError } from './http.ts'
import { type Check, type CheckName, type Examination, examine } from './result-checks.ts'

const NOT_FOUND = 404
const OK = 200
const MS_PER_SECOND = 1000

const CHECK_TITLES: Readonly<Record<CheckName, string>> = {
  address: 'Address',
  type: 'Type',
  key: 'Key',
  signature: 'Signature',
  issuer: 'Issuer',
  expiry: 'Expiry',
  status: 'Withdrawal',
}
const MARKS = { passed: '✓ Passed', failed: '✗ Failed', skipped: '– Not run' } as const

/** Claim of the payload → how people call it. */
const CLAIM_TITLES = {
  decision: 'Decision',
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

const announceResult = ({ verdict, checks, claims }: Examination): void => {
  const decision = `The signed decision is ${claims?.decision}.`
  if (verdict === 'INVALID') {
    const failures = checks.filter(({ outcome }) => outcome === 'failed')
    const worst = failures.find(({ name }) => name === 'signature') ?? failures[0]
    announce('bad', 'Not valid', `Don’t rely on this result. ${worst?.detail}`)
  } else if (verdict === 'REVOKED')
    announce('bad', 'Revoked', `It is genuine, but its owner withdrew it. ${decision}`)
  else if (verdict === 'EXPIRED')
    announce('warn', 'Expired', `It is genuine, but its time is over. ${decision}`)
  else if (claims?.decision === 'YES') announce('good', 'Valid: YES', `${decision} All checks passed.`)
  else announce('warn', `Valid: ${claims?.decision}`, `${decision} All checks of the result itself passed.`)
}

const claimText = (name: string, value: unknown): string =>
  (name === 'iat' || name === 'exp') && typeof value === 'number'
    ? new Date(value * MS_PER_SECOND).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'long' })
    : String(value)

const showClaims = (claims: Examination['claims']): void => {
  byId('statement', HTMLElement).hidden = claims === undefined
  const rows = Object.entries(CLAIM_TITLES).flatMap(([name, title]) => {
    const value = claims?.[name]
    return value === undefined ? [] : [make('dt', {}, title), make('dd', {}, claimText(name, value))]
  })
  byId('claims', HTMLElement).replaceChildren(...rows)
}

const rowOf = ({ name, outcome, detail }: Check): HTMLElement =>
  make(
    'li',
    { 'data-check': name, 'data-outcome': outcome },
    make('span', { class: 'mark' }, MARKS[outcome]),
    make('h3', {}, CHECK_TITLES[name]),
    make('p', {}, detail),
  )

const show = (result: Examination, jws: string, by: string): void => {
  announceResult(result)
  showClaims(result.claims)
  byId('checks', HTMLElement).replaceChildren(...result.checks.map(rowOf))
  say(
    byId('provenance', HTMLElement),
    `Checked here at ${new Date(systemClock.now()).toLocaleTimeString('en-GB')} by ${by}, with keys from ${location.origin}. Whether you trust that address is yours to say: look at it in the address bar.`,
  )
  byId('checked', HTMLElement).hidden = false
  byId('raw', HTMLElement).hidden = false
  byId('jws', HTMLTextAreaElement).value = jws
  byId('code', HTMLImageElement).src = `${location.pathname}?format=svg`
}

const fetchAndExamine = async (): Promise<void> => {
  const { pathname, origin } = location
  const [found, keys, crypto] = await Promise.all([
    askJson(pathname),
    askJson('/.well-known/jwks.json'),
    openCrypto(globalThis.crypto.subtle),
  ])
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
  const evidence = { hash, record: found.body, jwks: keys.body, origin, now: systemClock.now() }
  show(await examine(evidence, crypto), textOf(found.body, 'jws') ?? '', crypto.name)
}

const run = async (): Promise<void> => {
  announce('pending', 'Checking…', 'Your browser fetches the result and the public keys.')
  for (const id of ['statement', 'checked', 'raw']) byId(id, HTMLElement).hidden = true
  try {
    await fetchAndExamine()
  } catch (error) {
    announce(
      'warn',
      'Not checked',
      'The checks could not be run, so this page says nothing about the result.',
    )
    if (!(error instanceof UnreachableError)) throw error
    say(byId('verdict-text', HTMLElement), `${error.message} Nothing could be checked.`)
  } finally {
    again.hidden = false
  }
}

again.addEventListener('click', () => void run())
void run()
