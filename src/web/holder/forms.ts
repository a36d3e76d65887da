/** Forms of the holder's page: one at a time, with what is wrong said beside them. @module */
import { byId } from '../elements.ts'
import { WalletError } from './held.ts'

const isFault = (error: unknown): error is Error =>
  error instanceof WalletError || error instanceof RangeError

/**
 * Runs what a form is for. What is wrong stands in `<form>-error`, and the first field is shown as wrong.
 * @param run throws WalletError or RangeError, whose message people read
 */
export const onSubmit = (id: string, run: () => Promise<void>): void => {
  const form = byId(id, HTMLFormElement)
  const problem = byId(`${id}-error`, HTMLElement)
  const button = form.querySelector('button')
  const fields = [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')]
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (button?.getAttribute('aria-disabled') === 'true') return
    button?.setAttribute('aria-disabled', 'true')
    problem.textContent = ''
    for (const field of fields) field.removeAttribute('aria-invalid')
    try {
      await run()
      form.reset()
    } catch (error) {
      problem.textContent = isFault(error) ? sentence(error.message) : 'This failed, and nothing was changed.'
      const wrong = fields.find((field) => field.required && field.value === '') ?? fields[0]
      wrong?.setAttribute('aria-invalid', 'true')
      wrong?.focus()
      if (!isFault(error)) throw error
    } finally {
      button?.removeAttribute('aria-disabled')
    }
  })
}

const sentence = (message: string): string => {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`
  return text.endsWith('.') ? text : `${text}.`
}

/** The text of a chosen file; undefined: none is chosen. */
export const fileText = async (id: string): Promise<string | undefined> =>
  byId(id, HTMLInputElement).files?.[0]?.text()

export const typedIn = (id: string): string => byId(id, HTMLInputElement).value
