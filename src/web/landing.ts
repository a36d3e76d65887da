/** The first page: live health, and a form that sends one verification. @module */
import { isObject } from '../protocol/json-object.ts'
import { byId, make } from './elements.ts'
import { showHealth } from './health.ts'
import { type Answer, askJson, textOf, UnreachableError } from './http.ts'

const OK = 200
/** A proof takes a second or so, longer while many wait. */
const TIMEOUT_MS = 120_000
const UNAUTHORIZED = 401

const form = byId('form', HTMLFormElement)
const send = byId('send', HTMLButtonElement)
const outcome = byId('outcome', HTMLElement)
const key = byId('key', HTMLInputElement)
const data = byId('data', HTMLTextAreaElement)
const rules = byId('rules', HTMLTextAreaElement)

type Field = HTMLInputElement | HTMLTextAreaElement

/** Says what is wrong with a field; undefined: nothing. */
const mark = (field: Field, problem: string | undefined): void => {
  byId(`${field.id}-error`, HTMLElement).textContent = problem ?? ''
  field.setAttribute('aria-invalid', String(problem !== undefined))
}

const jsonProblem = (text: string, fits: (value: unknown) => boolean, kind: string): string | undefined => {
  try {
    return fits(JSON.parse(text)) ? undefined : `This must be ${kind}.`
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : ''}`
  }
}

const isFilledObject = (value: unknown): boolean => isObject(value) && Object.keys(value).length > 0

/** @returns the body of the request, undefined when a field needs another look */
const readForm = (): string | undefined => {
  const given = rules.value.trim()
  mark(key, /^[\x21-\x7e]+$/.test(key.value.trim()) ? undefined : 'An API key is needed, such as ak_live_….')
  mark(data, jsonProblem(data.value, isFilledObject, 'an object with at least one member'))
  mark(rules, given === '' ? undefined : jsonProblem(given, Array.isArray, 'an array of rules'))
  const wrong = [key, data, rules].find((field) => field.getAttribute('aria-invalid') === 'true')
  wrong?.focus()
  if (wrong) return undefined
  // Put together as text: parsed and written again, a long number would no longer be the one that was typed.
  const options = given === '' ? '' : `,"options":{"rules":${given}}`
  return `{"data":${data.value}${options}}`
}

const show = (tone: string, ...children: Node[]): void => {
  outcome.dataset.verdict = tone
  outcome.replaceChildren(...children)
}

const word = (text: string): Node => make('p', { class: 'word' }, text)

const showResult = (body: unknown, ms: number): void => {
  // Without rules nothing is decided.
  const decision = textOf(body, 'decision')
  const qrUrl = textOf(body, 'qrUrl') ?? ''
  const reason =
    textOf(body, 'reason') === 'missing_data' ? ' The rules ask for something that is missing.' : ''
  const link = /^https?:/.test(qrUrl) ? make('a', { href: qrUrl }, 'Check its signature') : ''
  show(
    decision === 'YES' ? 'good' : 'warn',
    word(
      decision === undefined ? 'Attests the submitted data; no question was asked' : `Decision: ${decision}`,
    ),
    make('p', {}, `Signed, proven and recorded in ${Math.round(ms)} ms.${reason} `, link),
    make(
      'details',
      {},
      make('summary', {}, 'The whole answer'),
      make(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': 'The whole answer' },
        JSON.stringify(body, null, 2),
      ),
    ),
  )
}

const showRefusal = ({ status, body }: Answer): void => {
  const details: readonly unknown[] = isObject(body) && Array.isArray(body.details) ? body.details : []
  const lines = details.map((detail) =>
    make('li', {}, `${textOf(detail, 'path') || 'body'}: ${textOf(detail, 'message')}`),
  )
  if (status === UNAUTHORIZED) mark(key, 'The service does not know this key.')
  show(
    'bad',
    word('Refused'),
    make('p', {}, `${status} ${textOf(body, 'error') ?? ''}: ${textOf(body, 'message') ?? ''}`),
    ...(lines.length > 0 ? [make('ul', {}, ...lines)] : []),
  )
}

const submit = async (): Promise<void> => {
  if (send.getAttribute('aria-disabled') === 'true') return
  const body = readForm()
  if (body === undefined) return
  send.setAttribute('aria-disabled', 'true')
  show('pending', word('Verifying…'), make('p', {}, 'The proof takes a moment.'))
  try {
    const startedAt = performance.now()
    const headers = { 'Content-Type': 'application/json', 'X-API-Key': key.value.trim() }
    const answer = await askJson('/verify', { method: 'POST', headers, body, timeoutMs: TIMEOUT_MS })
    if (answer.status === OK) showResult(answer.body, performance.now() - startedAt)
    else showRefusal(answer)
  } catch (error) {
    show('bad', word('No answer'), make('p', {}, 'It is not known whether the service did it. Try again.'))
    if (!(error instanceof UnreachableError)) throw error
  } finally {
    send.removeAttribute('aria-disabled')
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit()
})
showHealth()
