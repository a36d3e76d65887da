/** README.md: its program imports what a reader begins with. */
import { expect } from 'chai'

export const checks = [
  (imported: Readonly<Record<string, unknown>>) => {
    for (const [name, value] of Object.entries(imported)) expect(value, name).to.be.a('function')
  },
] as const
