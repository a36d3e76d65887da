/** What a check found, for people. @module */

export interface Finding {
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly detail: string
}

export const passed = (detail: string): Finding => ({ outcome: 'passed', detail })
export const failed = (detail: string): Finding => ({ outcome: 'failed', detail })
export const skipped = (detail: string): Finding => ({ outcome: 'skipped', detail })
