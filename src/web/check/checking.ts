/** One check at a time, on a thread of its own, and what is shown of it. @module */
import { signal } from '@preact/signals'
import { allowedProgram } from '../programs.ts'
import type { Given, Said } from './messages.ts'
import type { Report } from './report.ts'

/** Address of the thread's program: the build puts it in. */
declare const CHECKER: string

export type Phase =
  | { readonly state: 'waiting' }
  | { readonly state: 'checking'; readonly read?: number; readonly of?: number }
  | { readonly state: 'done'; readonly report: Report; readonly by: string }
  /** Nothing was found out. */
  | {
      readonly state: 'stopped'
      readonly why: string /** What is wrong with the policy. */
      readonly policyProblem?: string
    }

export const phase = signal<Phase>({ state: 'waiting' })

const program = allowedProgram(CHECKER)
let worker: Worker | undefined

const end = (): void => {
  worker?.terminate()
  worker = undefined
}

/** Forgets what was found. */
export const reset = (): void => {
  end()
  phase.value = { state: 'waiting' }
}

export const stop = (): void => {
  end()
  phase.value = { state: 'stopped', why: 'You stopped the check, so this page says nothing about it.' }
}

const fail = (why: string): void => {
  end()
  phase.value = { state: 'stopped', why: `The checks could not be run: ${why}` }
}

/** Says nothing under a policy of witnesses that can't be read. */
export const refusePolicy = (policyProblem: string): void => {
  end()
  const why = 'Your policy of witnesses can’t be read, so this page says nothing about it.'
  phase.value = { state: 'stopped', why, policyProblem }
}

/** Checks it; what was being checked before is dropped. */
export const start = (given: Given): void => {
  end()
  phase.value = { state: 'checking' }
  const started = new Worker(program, { type: 'module' })
  worker = started
  started.onmessage = ({ data }: MessageEvent<Said>) => {
    if (worker !== started) return
    if ('read' in data) phase.value = { state: 'checking', ...data }
    else if ('problem' in data) fail(data.problem)
    else if ('policyProblem' in data) refusePolicy(data.policyProblem)
    else {
      end()
      phase.value = { state: 'done', ...data }
    }
  }
  started.onerror = ({ message }) => {
    if (worker === started) fail(message || 'the program that checks could not be started.')
  }
  started.postMessage(given)
}
