/** The part of the page that answers: says what the answer is and what it tells, proves it, and sends the proof. @module */

import type { Credential } from '../../circuits/credential.ts'
import { systemClock } from '../../clock.ts'
import { byId, make, say } from '../elements.ts'
import { type Answer, askJson, textOf, UnreachableError } from '../http.ts'
import { type OpenHolder, secretFor } from './held.ts'
import { AnswerChangedError, createProver, NoAnswerError, type SentProof, type Stage } from './prover.ts'
import { type Asked, credentialWords, fits, learnt, neededWords } from './request.ts'
import type { Wallet } from './wallet.ts'

const OK = 200
const CONFLICT = 409
const MS_PER_SECOND = 1000

const STAGES: Readonly<Record<Stage | 'sending', readonly [step: number, words: string]>> = {
  files: [0, 'Fetching what proofs of this kind are made with (about 7 MB)…'],
  proof: [1, 'Proving, in this browser…'],
  sending: [2, 'Sending the proof…'],
}

const CLOSED_WORDS: Readonly<Record<string, string>> = {
  CHALLENGE_ANSWERED: 'Somebody has answered it already.',
  CHALLENGE_EXPIRED: 'Its time is over.',
  CHALLENGE_TRIES_OVER: 'Too many answers to it were wrong.',
}

interface Choice {
  readonly holder: OpenHolder
  readonly credential: Credential
}

export interface Told {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly word: string
  readonly text: string
  /** Whether there is nothing left to answer. */
  readonly isOver?: boolean
}

const list = (title: string, lines: readonly string[]): HTMLElement =>
  make('section', {}, make('h3', {}, title), make('ul', {}, ...lines.map((line) => make('li', {}, line))))

/** What became of an answer that was sent. */
const toldOf = ({ status, body }: Answer, decision: boolean): Told => {
  const time = new Date(systemClock.now()).toLocaleTimeString('en-GB')
  if (status === OK)
    return {
      tone: 'good',
      word: `Sent: ${decision ? 'YES' : 'NO'}`,
      text: `Your proof was received at ${time}. Whether it is accepted, only whoever asked is told: look there.`,
      isOver: true,
    }
  if (status === CONFLICT)
    return {
      tone: 'warn',
      word: 'Not sent',
      text: CLOSED_WORDS[textOf(body, 'reason') ?? ''] ?? 'It can’t be answered any more.',
      isOver: true,
    }
  return {
    tone: 'warn',
    word: 'Not sent',
    text: `${textOf(body, 'message') ?? `The service answered ${status}.`} Try again.`,
  }
}

/** @param tell shows what became of it @returns shows what can be answered now */
export const showAnswering = (
  { request, aheadMs }: Asked,
  wallet: Wallet,
  tell: (told: Told) => void,
): { show(): void; end(): void } => {
  const prover = createProver()
  const section = byId('answer', HTMLElement)
  const form = byId('answer-form', HTMLFormElement)
  const select = byId('credential', HTMLSelectElement)
  const send = byId('send', HTMLButtonElement)
  const progress = byId('progress', HTMLProgressElement)
  let choices: readonly Choice[] = []
  let isOver = false
  /** Of the credential that is chosen, once it is known. */
  let decision: boolean | undefined

  const chosen = (): Choice | undefined => choices[Number(select.value)]
  const taskOf = ({ holder, credential }: Choice) => ({
    credential,
    secret: secretFor(holder, credential),
    context: request.context,
    // It counts within two minutes of the service's clock, which this device's may miss.
    now: BigInt(Math.floor((systemClock.now() + aheadMs) / MS_PER_SECOND)),
  })
  const ready = (text: string): void => {
    say(send, text)
    if (decision === undefined) send.setAttribute('aria-disabled', 'true')
    else send.removeAttribute('aria-disabled')
  }

  const choose = async (): Promise<void> => {
    const choice = chosen()
    if (choice === undefined) return
    decision = undefined
    ready('Prove and send')
    const words = byId('decision', HTMLElement)
    words.dataset.verdict = 'pending'
    say(words, 'Looking what your answer is…')
    const { learns, learnsNot } = learnt(request, choice.credential)
    byId('learnt', HTMLElement).replaceChildren(
      list('They learn', learns),
      list('They don’t learn', learnsNot),
    )
    try {
      const found = await prover.decide(taskOf(choice))
      if (chosen()?.credential !== choice.credential) return
      decision = found
      words.dataset.verdict = found ? 'good' : 'warn'
      const no = 'Your answer is NO: this credential doesn’t show it. Sending it tells them that.'
      say(words, found ? 'Your answer is YES.' : no)
      ready(found ? 'Prove and send YES' : 'Prove and send NO')
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      words.dataset.verdict = 'bad'
      say(words, `This credential can’t answer: ${error.message}.`)
    }
  }

  const at = (stage: Stage | 'sending'): void => {
    const [step, words] = STAGES[stage]
    progress.hidden = false
    progress.value = step
    say(byId('stage', HTMLElement), words)
  }
  const deliver = ({ proof, publicSignals }: SentProof): Promise<Answer> => {
    at('sending')
    return askJson(new URL(request.answer_url).pathname, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ proof, public_signals: publicSignals }),
    })
  }
  const answer = async (choice: Choice, yes: boolean): Promise<Told> => {
    try {
      return toldOf(await deliver(await prover.prove({ ...taskOf(choice), prove: yes }, at)), yes)
    } catch (error) {
      if (error instanceof NoAnswerError)
        return { tone: 'bad', word: 'Not sent', text: `No proof could be made: ${error.message}.` }
      if (error instanceof AnswerChangedError)
        return {
          tone: 'warn',
          word: 'Not sent',
          text: `Your answer was ${yes ? 'YES' : 'NO'}, and is another by now. Look at it again before you send it.`,
        }
      if (!(error instanceof UnreachableError)) throw error
      return {
        tone: 'warn',
        word: 'No answer',
        text: `${error.message} It is not known whether the proof arrived. Try again.`,
      }
    }
  }
  const show = (): void => {
    choices = wallet
      .open()
      .flatMap((holder) =>
        holder.credentials
          .filter((credential) => fits(request, credential))
          .map((credential) => ({ holder, credential })),
      )
    section.hidden = isOver
    form.hidden = choices.length === 0
    const hint = wallet.isLocked()
      ? 'Unlock what this browser keeps, to see whether you can answer.'
      : 'This takes a credential that this browser does not have.'
    say(
      byId('answer-hint', HTMLElement),
      choices.length > 0 ? '' : `${hint} Needed: ${neededWords(request)}.`,
    )
    select.replaceChildren(
      // The newest first: it is the one that counts.
      ...choices
        .map(({ credential }, i) =>
          make('option', { value: String(i) }, `${credentialWords(credential)} (${credential.organisation})`),
        )
        .reverse(),
    )
    void choose()
  }
  const end = (): void => {
    isOver = true
    section.hidden = true
  }

  select.addEventListener('change', () => void choose())
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const choice = chosen()
    if (choice === undefined || decision === undefined || send.getAttribute('aria-disabled') === 'true')
      return
    send.setAttribute('aria-disabled', 'true')
    select.disabled = true
    try {
      const told = await answer(choice, decision)
      if (told.isOver) end()
      tell(told)
    } finally {
      progress.hidden = true
      say(byId('stage', HTMLElement), '')
      select.disabled = false
      // What the answer is now.
      if (!isOver) void choose()
    }
  })
  return { show, end }
}
