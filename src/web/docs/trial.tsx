/** A form that runs an operation's example against this service, with the reader's key. @module */
import { render } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Call, type Came, call } from './calling.ts'

/** A parameter as the form asks for it. */
interface Asked {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly example: string
}

/** What a page tells of an operation. */
export interface Trial {
  readonly method: string
  readonly path: string
  readonly takesKey: boolean
  readonly parameters: readonly Asked[]
  /** JSON; undefined: it takes none. */
  readonly body?: string
}

const FIRST_ERROR_STATUS = 400

/** The key, for all forms of this page: here and nowhere else, until the page is left. */
let keptKey = ''

const nameOf = (asked: Asked): string => `${asked.in}.${asked.name}`

/** @returns what is wrong with a text that should be JSON; undefined: nothing */
const jsonProblem = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : ''}`
  }
}

/** @param value what was typed into the field of this name */
const callOf = (trial: Trial, value: (name: string) => string): Call => {
  const given = trial.parameters.map((asked) => ({ ...asked, text: value(nameOf(asked)) }))
  const path = trial.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(given.find((one) => one.in === 'path' && one.name === name)?.text ?? ''),
  )
  const filled = (place: Asked['in']) =>
    given.filter((one) => one.in === place && one.text !== '').map(({ name, text }) => [name, text])
  const query = new URLSearchParams(filled('query')).toString()
  const key = trial.takesKey ? value('key').trim() : ''
  return {
    method: trial.method,
    target: query === '' ? path : `${path}?${query}`,
    headers: {
      ...Object.fromEntries(filled('header')),
      ...(key !== '' && { Authorization: `Bearer ${key}` }),
      ...(trial.body !== undefined && { 'Content-Type': 'application/json' }),
    },
    // As it was typed: read and written again, a long number would be another one.
    ...(trial.body !== undefined && { body: value('body') }),
  }
}

const Field = ({
  id,
  label,
  error,
  ...input
}: { readonly id: string; readonly label: string; readonly error?: string } & Record<string, unknown>) => (
  <div class="field">
    <label for={id}>{label}</label>
    <input
      {...input}
      id={id}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      aria-invalid={error !== undefined}
      aria-describedby={`${id}-error`}
    />
    <p class="error" id={`${id}-error`}>
      {error}
    </p>
  </div>
)

const Result = ({ came }: { readonly came: Came }) => (
  <>
    <p class="word">
      {came.status} <span class="quiet">in {came.ms} ms</span>
    </p>
    <dl>
      {came.headers.map(([name, value]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
    {came.body !== '' && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: so that a keyboard scrolls it
      <pre tabIndex={0}>
        <code>{came.body}</code>
      </pre>
    )}
  </>
)

type State = 'idle' | 'calling' | 'unanswered' | Came

const TrialForm = ({ trial, id }: { readonly trial: Trial; readonly id: string }) => {
  const [state, setState] = useState<State>('idle')
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (state === 'calling' || form.current === null) return
    const data = new FormData(form.current)
    const value = (name: string) => String(data.get(name) ?? '')
    const wrong: Record<string, string> = {}
    for (const asked of trial.parameters)
      if (asked.required && value(nameOf(asked)).trim() === '') wrong[nameOf(asked)] = 'This is needed.'
    const problem = trial.body === undefined ? undefined : jsonProblem(value('body'))
    if (problem !== undefined) wrong.body = problem
    if (/[^\x21-\x7e]/.test(value('key').trim()))
      wrong.key = 'A key has no spaces and no letters beyond ASCII.'
    setProblems(wrong)
    const [first] = Object.keys(wrong)
    if (first !== undefined) {
      form.current.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
      return
    }
    keptKey = value('key') || keptKey
    setState('calling')
    try {
      setState(await call(callOf(trial, value)))
    } catch {
      setState('unanswered')
    }
  }
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label="Try it">
      <p class="quiet">
        {trial.method === 'GET'
          ? 'This asks the server of this page.'
          : 'This runs for real, on the server of this page.'}{' '}
        {trial.takesKey && 'The key stays in this page and is forgotten with it.'}
      </p>
      {trial.takesKey && (
        <Field
          id={`${id}-key`}
          label="API key"
          name="key"
          type="password"
          defaultValue={keptKey}
          error={problems.key}
        />
      )}
      {trial.parameters.map((asked) => (
        <Field
          key={nameOf(asked)}
          id={`${id}-${asked.in}-${asked.name}`}
          label={`${asked.name}, in the ${asked.in}`}
          name={nameOf(asked)}
          type="text"
          defaultValue={asked.example}
          error={problems[nameOf(asked)]}
        />
      ))}
      {trial.body !== undefined && (
        <div class="field">
          <label for={`${id}-body`}>Body</label>
          <textarea
            id={`${id}-body`}
            name="body"
            rows={Math.min(trial.body.split('\n').length + 1, 24)}
            spellcheck={false}
            aria-invalid={problems.body !== undefined}
            aria-describedby={`${id}-body-error`}
            defaultValue={trial.body}
          />
          <p class="error" id={`${id}-body-error`}>
            {problems.body}
          </p>
        </div>
      )}
      <button type="submit" aria-disabled={state === 'calling'}>
        {trial.method} {trial.path}
      </button>
      <div
        class="outcome"
        role="status"
        data-verdict={
          typeof state === 'object' ? (state.status < FIRST_ERROR_STATUS ? 'good' : 'bad') : 'pending'
        }
      >
        {state === 'calling' && <p class="word">Asking…</p>}
        {state === 'unanswered' && <p class="word">No answer. It is not known whether the service did it.</p>}
        {typeof state === 'object' && <Result came={state} />}
      </div>
    </form>
  )
}

/** Shows the form, with the first field ready. @param id of the operation, which its fields are named after */
export const openTrial = (place: HTMLElement, trial: Trial, id: string): void => {
  render(<TrialForm trial={trial} id={id} />, place)
  place.querySelector<HTMLElement>('input, textarea, button')?.focus()
}
