/** The holder's page: keeps credentials in this browser, shows what somebody asks, proves it here and sends the proof. @module */
import { systemClock } from '../clock.ts'
import { byId, make, say } from './elements.ts'
import { showAnswering, type Told } from './holder/answering.ts'
import { showKeeping } from './holder/keeping.ts'
import { type Asked, type ChallengeRequest, fetchRequest } from './holder/request.ts'
import { UnreachableError } from './http.ts'

const REQUEST = /^\/challenge\/[\w-]+$/

const EXPIRED: Told = {
  tone: 'warn',
  word: 'Too late',
  text: 'The time to answer is over. Ask for a new request where you found this one.',
  isOver: true,
}
const CLOSED: Told = {
  tone: 'warn',
  word: 'Closed',
  text: 'It was answered already, or too many answers to it were wrong. Ask for a new request where you found this one.',
  isOver: true,
}

const tell = ({ tone, word, text, isOver = false }: Told): void => {
  const told = byId('told', HTMLElement)
  told.dataset.verdict = tone
  told.replaceChildren(make('p', { class: 'word' }, word), make('p', {}, text))
  told.scrollIntoView({ block: 'nearest' })
  document.title = `${word} · Assay`
  // It speaks of what is to come.
  byId('intro', HTMLElement).hidden = isOver
}

const NO_DOMAIN = 'none proven: the name is what the organisation calls itself'

const showRequest = ({ asker, question, issuers, expires_at }: ChallengeRequest): void => {
  say(byId('title', HTMLElement), 'Somebody asks you for a proof')
  say(
    byId('intro', HTMLElement),
    'See who asks and what. If you agree, your browser proves it and sends the proof: no name, no birth date, no credential. Answer only what you called up yourself: if somebody sent you this address, your answer may count for them.',
  )
  document.title = 'Somebody asks you for a proof · Assay'
  byId('request', HTMLElement).hidden = false
  say(byId('question', HTMLElement), question)
  const rows = [
    ['Who asks', asker.name],
    ['Domain', asker.domain ?? NO_DOMAIN],
    ['Organisation', asker.organisation],
    ['Accepted issuers', issuers.join(', ')],
    [
      'Answer until',
      new Date(expires_at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }),
    ],
  ]
  byId('asker', HTMLElement).replaceChildren(
    ...rows.flatMap(([title, text]) => [make('dt', {}, title ?? ''), make('dd', {}, text ?? '')]),
  )
}

/** @returns undefined where nothing is asked here, or not any more */
const findAsked = async (): Promise<Asked | undefined> => {
  if (!REQUEST.test(location.pathname)) return undefined
  const asked = await fetchRequest(location.pathname, systemClock.now)
  if (asked === undefined) {
    tell({
      tone: 'bad',
      word: 'Not found',
      text: 'There is no such request. Was the address copied in full?',
    })
    return undefined
  }
  showRequest(asked.request)
  if (asked.request.state === 'open') return asked
  tell(asked.request.state === 'expired' ? EXPIRED : CLOSED)
  return undefined
}

/** A request is shown first; what secrets and credentials are read with is loaded meanwhile. */
const start = async (): Promise<void> => {
  if (globalThis.crypto.subtle === undefined) {
    const text = 'Your browser encrypts and proves only on pages that came over https. Nothing was sent.'
    return tell({ tone: 'bad', word: 'Not secure', text })
  }
  const [asked, { createWallet }] = await Promise.all([findAsked(), import('./holder/wallet.ts')])
  const wallet = createWallet(localStorage)
  const answering = asked && showAnswering(asked, wallet, tell)
  const showKept = showKeeping(wallet, () => show())
  const show = (): void => {
    answering?.show()
    showKept()
  }
  show()
  if (asked === undefined) return
  const leftMs = Date.parse(asked.request.expires_at) - systemClock.now() - asked.aheadMs
  setTimeout(() => {
    if (byId('answer', HTMLElement).hidden) return
    answering?.end()
    tell(EXPIRED)
  }, leftMs)
}

start().catch((error: unknown) => {
  const text = error instanceof UnreachableError ? error.message : 'Reload the page to try again.'
  tell({ tone: 'warn', word: 'Not shown', text })
  if (!(error instanceof UnreachableError)) throw error
})
