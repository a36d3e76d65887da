/** The guides among the documents of the repository, in the order of the contents. @module */

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** Those for people who change the program, and lists that are made for it. */
const LEFT_OUT = ['api-coverage', 'architecture', 'body-members', 'decisions']

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Start: ['README.md', 'docs/interface.md', 'docs/client.md', 'docs/accounts.md', 'docs/sign-in.md'],
  'Verify and prove': [
    'docs/verification.md',
    'docs/verifying.md',
    'docs/rules.md',
    'docs/policies.md',
    'docs/eligibility.md',
    'docs/pods.md',
    'docs/hermes.md',
    'docs/proofs.md',
    'docs/pairing.md',
    'docs/proving.md',
    'docs/circuits.md',
    'circuits/README.md',
  ],
  'People and what they hold': [
    'docs/holders.md',
    'docs/tokens.md',
    'docs/hybrid-tokens.md',
    'docs/tickets.md',
    'docs/status-lists.md',
    'docs/consent.md',
    'docs/kyc.md',
    'docs/aml.md',
  ],
  Agents: ['docs/agents.md', 'docs/agent-trust.md', 'docs/chat.md', 'docs/envelopes.md', 'docs/mcp.md'],
  Payments: ['docs/payments.md', 'docs/till.md'],
  'What happened': ['docs/audit.md', 'docs/witnesses.md', 'docs/webhooks.md', 'docs/exports.md'],
  Operate: [
    'docs/console.md',
    'SECURITY.md',
    'docs/threat-model.md',
    'docs/packages.md',
    'docs/operations.md',
    'docs/deploying.md',
    'docs/scaling.md',
    'docs/benchmarks.md',
    'docs/reliability.md',
    'docs/telemetry.md',
    'docs/ceremony.md',
    'docs/support.md',
    'CHANGELOG.md',
  ],
}

/** Names and titles of files whose own say less beside the others. */
const CALLED: Readonly<Record<string, readonly [name: string, title: string]>> = {
  'README.md': ['start', 'Getting started'],
  'circuits/README.md': ['circuit-statements', 'What each circuit proves'],
  'CHANGELOG.md': ['changelog', 'What is new'],
  'docs/circuits.md': ['circuits', 'Asking a circuit'],
}

export interface Guide {
  /** Path in the repository. */
  readonly file: string
  readonly name: string
  readonly title: string
  readonly text: string
}

export interface GuideGroup {
  readonly title: string
  readonly guides: readonly Guide[]
}

const readGuide = (file: string): Guide => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const [name, title] = CALLED[file] ?? [
    basename(file, '.md').toLowerCase(),
    /^# (.+)$/m.exec(text)?.[1] ?? file,
  ]
  return { file, name, title, text }
}

/** Those that no group names come last, so that none is forgotten. */
export const readGuides = (): readonly GuideGroup[] => {
  const named = new Set(Object.values(GROUPS).flat())
  const others = readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md') && !LEFT_OUT.includes(basename(file, '.md')))
    .map((file) => `docs/${file}`)
    .filter((file) => !named.has(file))
  return Object.entries({ ...GROUPS, ...(others.length > 0 && { 'And more': others }) }).map(
    ([title, files]) => ({ title, guides: files.map(readGuide) }),
  )
}
