/** What a check found, for people. @module */
import { UnreachableError } from '../http.ts'

export interface Finding {
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly detail: string
  /** Of a skipped check: whether nothing can be said without it. */
  readonly isEssential?: boolean
}

export const passed = (detail: string): Finding => ({ outcome: 'passed', detail })
export const failed = (detail: string): Finding => ({ outcome: 'failed', detail })
export const skipped = (detail: string): Finding => ({ outcome: 'skipped', detail })
/** Without this check nothing can be said. */
export const lacking = (detail: string): Finding => ({ ...skipped(detail), isEssential: true })

/** A check that needs something of the service: without it, it is not made, and nothing is said. */
export const ifReached = async <T extends Finding>(check: () => Promise<T>): Promise<T | Finding> => {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    return lacking(`What it needs could not be fetched: ${error.message}`)
  }
}
