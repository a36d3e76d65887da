/** Forms: what is wrong stands beside the field that it is about, in the service's own words. @module */
import { type ComponentChildren, createContext, type InputHTMLAttributes } from 'preact'
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Attempts, attempt, type Detail, rethrowFault, ServiceError, wordsOf } from '../service.ts'

/** Name of a field → what is wrong with it; '' → what is wrong with none of them. */
type Problems = Readonly<Record<string, string>>

const FormProblems = createContext<Problems>({})

/** Thrown by `submit` of a form for what only the form can know. */
export class FieldError extends Error {
  override readonly name = 'FieldError'
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

const controlsOf = (form: HTMLFormElement): Control[] =>
  [...form.elements].filter(
    (element): element is Control => 'validity' in element && !(element instanceof HTMLButtonElement),
  )

/** What the browser finds before anything is sent, in its words. */
const findGaps = (form: HTMLFormElement): Problems =>
  Object.fromEntries(
    controlsOf(form)
      .filter(({ validity }) => !validity.valid)
      .map(({ name, validationMessage }) => [name, validationMessage]),
  )

/** `/limits/floorLimit` of a body is the field `limits.floorLimit`, and `/events/3` is at `/3` in `events`. */
const placeOf = (path: string, names: readonly string[]): { field: string; within: string } => {
  const field = path.split('/').slice(1)
  const within: string[] = []
  while (field.length > 0 && !names.includes(field.join('.'))) within.unshift(`/${field.pop()}`)
  return { field: field.join('.'), within: within.join('') }
}

/** All that is wrong with a field, each with its place in it. */
const byField = (details: readonly Detail[], names: readonly string[]): Problems => {
  const problems: Record<string, string> = {}
  for (const { path, message } of details) {
    const { field, within } = placeOf(path, names)
    const placed = within === '' ? message : `${within}: ${message}`
    problems[field] = problems[field] === undefined ? placed : `${problems[field]} ${placed}`
  }
  return problems
}

const problemsOf = (error: unknown, form: HTMLFormElement): Problems => {
  if (error instanceof FieldError) return { [error.field]: error.message }
  if (!(error instanceof ServiceError)) return { '': wordsOf(error) }
  const names = controlsOf(form).map(({ name }) => name)
  return error.details.length === 0 ? { '': error.message } : byField(error.details, names)
}

interface FormProps {
  /** What the button says. */
  readonly action: string
  readonly danger?: boolean
  /** Whether the fields are emptied once it succeeded. */
  readonly clears?: boolean
  readonly children: ComponentChildren
  /** Stands beside the button. */
  readonly beside?: ComponentChildren
  submit(values: FormData): Promise<void>
  /** Is told when what stands in a field changes. */
  changed?(): void
}

export const Form = ({
  action,
  danger = false,
  clears = false,
  children,
  beside,
  submit,
  changed,
}: FormProps) => {
  const [problems, setProblems] = useState<Problems>({})
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const attempts = useRef<Attempts>(new Map())
  /** How often it was said what is wrong. */
  const [told, setTold] = useState(0)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [told])

  const tell = (found: Problems): void => {
    setProblems(found)
    setTold((times) => times + 1)
  }
  /** What was said of a field is not of what stands there now. */
  const onInput = ({ target }: Event): void => {
    changed?.()
    const { name } = target as Control
    if (problems[name] !== undefined) setProblems(({ [name]: _, ...left }) => left)
  }

  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const element = form.current
    if (busy || element === null) return
    const gaps = findGaps(element)
    tell(gaps)
    if (Object.keys(gaps).length > 0) return
    setBusy(true)
    try {
      await attempt(attempts.current, () => submit(new FormData(element)))
      attempts.current = new Map()
      if (clears) element.reset()
    } catch (error) {
      // Not what was lost on its way: the form has looked at an answer, and asks anew.
      if (error instanceof FieldError) attempts.current = new Map()
      tell(problemsOf(error, element))
      if (!(error instanceof FieldError)) rethrowFault(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <FormProblems.Provider value={problems}>
      <form ref={form} noValidate onSubmit={onSubmit} onInput={onInput}>
        {children}
        <p class="error" role="alert">
          {problems['']}
        </p>
        <p class="actions">
          <button type="submit" class={danger ? 'danger' : undefined} aria-disabled={busy}>
            {action}
          </button>
          {beside}
        </p>
      </form>
    </FormProblems.Provider>
  )
}

/** What was found of what was given, such as what stands in a form: nothing once something else is given, or while it is looked for anew. */
export const useFound = <T,>() => {
  const [found, setFound] = useState<T | undefined>()
  const asked = useRef(0)
  const forget = (): void => {
    asked.current++
    setFound(undefined)
  }
  return {
    found,
    forget,
    /** What comes of it once it was forgotten, an error as well, is of no use any more. @throws as `look` */
    async find(look: () => Promise<T>): Promise<void> {
      forget()
      const number = asked.current
      const isNewest = (): boolean => number === asked.current
      try {
        const value = await look()
        if (isNewest()) setFound(value)
      } catch (error) {
        if (isNewest()) throw error
        rethrowFault(error)
      }
    },
  }
}

interface Option {
  readonly value: string
  readonly label: string
}

interface FieldProps {
  /** Default: text. */
  readonly type?: 'email' | 'password' | 'number' | 'url' | 'date' | 'datetime-local' | 'file'
  /** Of files. */
  readonly multiple?: boolean
  readonly autocomplete?: string
  readonly required?: boolean
  readonly inputMode?: 'decimal'
  readonly pattern?: string
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly value?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number
  readonly step?: string
  readonly placeholder?: string
  /** Lines of a larger field. */
  readonly rows?: number
  /** Values to choose from, beside which any other may be typed. */
  readonly offered?: readonly Option[]
}

/** Ids of the texts that belong to a field, and whether it is wrong. */
const useField = (name: string, hasHint: boolean) => {
  const id = useId()
  const problem = useContext(FormProblems)[name]
  const described = [hasHint && `${id}-hint`, problem !== undefined && `${id}-problem`]
    .filter(Boolean)
    .join(' ')
  return {
    id,
    problem,
    attributes: { 'aria-invalid': problem !== undefined, 'aria-describedby': described || undefined },
  }
}

const Texts = ({
  id,
  hint,
  problem,
}: {
  id: string
  hint?: ComponentChildren
  problem: string | undefined
}) => (
  <>
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {problem !== undefined && (
      <p class="error" id={`${id}-problem`}>
        {problem}
      </p>
    )}
  </>
)

/** From so many lines on a field is as wide as text is. */
const LARGE_ROWS = 10

export const Field = ({ label, hint, rows, offered, value = '', ...control }: FieldProps) => {
  const { id, problem, attributes } = useField(control.name, hint !== undefined)
  const shared = { id, autocapitalize: 'none', spellcheck: false, ...attributes } as const
  const list = offered && `${id}-offered`
  const input = useRef<HTMLInputElement>(null)
  // Not as an attribute: what was typed since stays while the form says what is wrong.
  useLayoutEffect(() => {
    if (input.current !== null) input.current.value = value
  }, [value])
  return (
    <div class={rows !== undefined && rows >= LARGE_ROWS ? 'field large' : 'field'}>
      <label for={id}>
        {label}
        {!control.required && <span class="quiet"> optional</span>}
      </label>
      {rows === undefined ? (
        // The types know a kind of input by a literal `type`, which is not known here.
        <input ref={input} {...({ ...shared, ...control, list } as InputHTMLAttributes<HTMLInputElement>)} />
      ) : (
        <textarea {...shared} name={control.name} required={control.required} rows={rows}>
          {value}
        </textarea>
      )}
      {offered !== undefined && (
        <datalist id={list}>
          {offered.map((option) => (
            <option key={option.value} {...option} />
          ))}
        </datalist>
      )}
      <Texts id={id} hint={hint} problem={problem} />
    </div>
  )
}

interface SelectProps {
  readonly name: string
  readonly label: string
  readonly options: readonly Option[]
  /** Demands another than the option without a value. */
  readonly required?: boolean
  readonly value?: string
  readonly hint?: ComponentChildren
}

export const Select = ({ name, label, options, required, value, hint }: SelectProps) => {
  const { id, problem, attributes } = useField(name, hint !== undefined)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} required={required} {...attributes}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
      <Texts id={id} hint={hint} problem={problem} />
    </div>
  )
}

interface ChoicesProps {
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly options: readonly (Option & { readonly text?: string; readonly checked?: boolean })[]
}

/** Checkboxes of one name: as many as one likes. */
export const Choices = ({ name, label, hint, options }: ChoicesProps) => {
  const { id, problem, attributes } = useField(name, hint !== undefined)
  return (
    <fieldset class="field choices" aria-describedby={attributes['aria-describedby']}>
      <legend>{label}</legend>
      <Texts id={id} hint={hint} problem={problem} />
      <div class="choices-grid">
        {options.map((option) => (
          <label key={option.value}>
            <input
              type="checkbox"
              name={name}
              value={option.value}
              defaultChecked={option.checked}
              aria-invalid={problem !== undefined}
            />
            <span>
              {option.label}
              {option.text !== undefined && <small>{option.text}</small>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

export const textIn = (values: FormData, name: string): string => String(values.get(name) ?? '')
export const allIn = (values: FormData, name: string): string[] => values.getAll(name).map(String)

/** The files that were chosen; none is none. */
export const filesIn = (values: FormData, name: string): File[] =>
  values.getAll(name).filter((value): value is File => value instanceof File && value.name !== '')

/** What is typed as JSON; undefined: nothing. @throws FieldError */
export const jsonIn = (values: FormData, name: string): unknown => {
  const text = textIn(values, name).trim()
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FieldError(name, `This is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

/** The text of what is typed as JSON; undefined: nothing. @throws FieldError where it is not JSON */
export const jsonTextIn = (values: FormData, name: string): string | undefined =>
  jsonIn(values, name) === undefined ? undefined : textIn(values, name).trim()

/**
 * A body with members that are sent as they were typed. What JSON.parse lets pass, such as a number that is not exact or a member that
 * stands twice, is the service's to refuse: read and written anew, it would be taken with another meaning.
 * @param texts JSON; undefined: no such member
 */
export const withTexts = (body: object, texts: Readonly<Record<string, string | undefined>>): string => {
  const members = Object.entries(body).flatMap(([name, value]) => {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
  })
  for (const [name, text] of Object.entries(texts))
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  return `{${members.join(',')}}`
}
