/** What was checked in this browser, what came of it, and what was not checked. @module */
import type { Finding } from '../../result/finding.ts'
import { State } from './text.tsx'

export interface TitledFinding extends Finding {
  readonly title: string
}

const OUTCOMES = {
  passed: ['good', 'Passed'],
  failed: ['bad', 'Failed'],
  skipped: ['quiet', 'Not checked'],
} as const

export const Findings = ({ findings }: { readonly findings: readonly TitledFinding[] }) => (
  <ul class="findings">
    {findings.map(({ title, outcome, detail }) => {
      const [tone, word] = OUTCOMES[outcome]
      return (
        <li key={title} data-outcome={outcome}>
          <p>
            <strong>{title}</strong> <State tone={tone}>{word}</State>
          </p>
          <p>{detail}</p>
        </li>
      )
    })}
  </ul>
)
