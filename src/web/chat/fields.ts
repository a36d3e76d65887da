/** The fields of a post: what is left of their lengths, and what is wrong with them. @module */

import { byId, say } from '../elements.ts'
import { counted } from './counted.ts'

export type Field = 'name' | 'text' | 'model' | 'topic'

/** From this part of a length on, those who listen are told what is left of it. */
const LITTLE_LEFT = 0.1
const LITTLE_LEFT_PAUSE_MS = 1000

export interface Fields {
  /** Without white space around it. */
  value(field: Field): string
  clearText(): void
  goToText(): void
  /** Marks every field that can't be sent, and goes to the first of them. @returns whether there is none */
  check(): boolean
  /** Says what is wrong with a field, and goes there. */
  refuse(field: Field, problem: string): void
}

/** As the service counts: Unicode code points, after NFC and without white space around them. */
const lengthOf = (text: string): number => [...text.normalize('NFC').trim()].length

const characters = (count: number): string => counted(count, 'character')

const leftWords = (left: number): string =>
  left < 0 ? `${characters(-left)} too many` : `${characters(left)} left`

type Input = HTMLInputElement | HTMLTextAreaElement

const maxOf = (input: Input): number => Number(input.dataset.max)
const leftOf = (input: Input): number => maxOf(input) - lengthOf(input.value)

/** @returns undefined where nothing is wrong */
const problemOf = (input: Input): string | undefined => {
  const length = lengthOf(input.value)
  const min = Number(input.dataset.min ?? 1)
  if (input.required && length === 0) return 'This can’t be empty.'
  if (input.required && length < min) return `This needs at least ${characters(min)}.`
  return leftOf(input) < 0 ? `This is ${leftWords(leftOf(input))}.` : undefined
}

const mark = (input: Input, problem: string | undefined): void => {
  say(byId(`${input.id}-error`, HTMLElement), problem ?? '')
  input.setAttribute('aria-invalid', String(problem !== undefined))
}

/** Goes to a field, and unfolds what it is in. */
const goTo = (input: Input): void => {
  for (
    let around = input.closest('details');
    around;
    around = around.parentElement?.closest('details') ?? null
  )
    around.open = true
  input.focus()
}

const showLeft = (input: Input): void => {
  const words = byId(`${input.id}-left`, HTMLElement)
  say(words, leftWords(leftOf(input)))
  words.dataset.over = String(leftOf(input) < 0)
}

/** Counts what is left as somebody types; aloud, when little is and the typing pauses. */
const countWhileTyping = (inputs: readonly Input[]): void => {
  let timer: ReturnType<typeof setTimeout> | undefined
  for (const input of inputs) {
    showLeft(input)
    input.addEventListener('input', () => {
      showLeft(input)
      clearTimeout(timer)
      const left = leftOf(input)
      if (left >= maxOf(input) * LITTLE_LEFT) return
      timer = setTimeout(() => say(byId('little-left', HTMLElement), leftWords(left)), LITTLE_LEFT_PAUSE_MS)
    })
  }
}

export const prepareFields = (): Fields => {
  const inputs: Readonly<Record<Field, Input>> = {
    name: byId('name', HTMLInputElement),
    text: byId('text', HTMLTextAreaElement),
    model: byId('model', HTMLInputElement),
    topic: byId('topic', HTMLInputElement),
  }
  countWhileTyping(Object.values(inputs))
  return {
    value: (field) => inputs[field].value.trim(),
    clearText() {
      inputs.text.value = ''
      showLeft(inputs.text)
    },
    goToText: () => goTo(inputs.text),
    check() {
      const wrong = Object.values(inputs).filter((input) => {
        const problem = problemOf(input)
        mark(input, problem)
        return problem !== undefined
      })
      if (wrong[0]) goTo(wrong[0])
      return wrong.length === 0
    },
    refuse(field, problem) {
      mark(inputs[field], problem)
      goTo(inputs[field])
    },
  }
}
