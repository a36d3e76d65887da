/** Security alerts in words, and what lists of them are narrowed to. @module */
import { useLocation } from 'preact-iso'
import type { Alert, AlertStatus, AlertType, Severity } from '../../../domain/security/schemas.ts'
import { Filters, queryOf } from './filters.tsx'
import { Field, Select } from './form.tsx'
import { State, Time, type Tone } from './text.tsx'

/** What happened, and what to do about it. */
export const ALERT_WORDS: Readonly<Record<AlertType, readonly [what: string, advice: string]>> = {
  double_spend: [
    'A card token was used twice',
    'Compare the two payments: one of the two goods was not paid for.',
  ],
  invalid_mac: [
    'A payment has a wrong signature',
    'The terminal or its key was tampered with. Revoke the terminal.',
  ],
  envelope_replay: [
    'A signed envelope came twice',
    'Somebody recorded it. Make sure that its sender uses a fresh nonce.',
  ],
  key_revoked_used: ['A revoked key is still used', 'Find the program that has it, or whoever took it.'],
  clock_rollback: [
    'A terminal’s clock went back',
    'Set the clock of the terminal, and find out who changed it.',
  ],
  egress_blocked: ['A request to a private network was blocked', 'Check the address that was asked for.'],
  auth_bruteforce: [
    'Many wrong passwords or secrets',
    'Somebody guesses. Make sure that the password is a good one.',
  ],
  rate_limit: [
    'More requests than allowed',
    'Slow the program down, or ask the operator for a higher limit.',
  ],
  tree_inconsistency: ['The log does not fit what was signed', 'Tell the operator at once.'],
  disk_full: ['A disk is full', 'The operator has to make room: nothing is recorded meanwhile.'],
  aml_finding: ['A person was found on a watch list', 'Decide the finding.'],
  webhook_failing: [
    'A webhook endpoint fails',
    'Ten events in a row were dropped. Make it answer with a status of 200 to 299.',
  ],
  webhook_recovered: ['A webhook endpoint delivers again', 'Look up what it missed.'],
}

const TONES: Readonly<Record<Severity, Tone>> = { low: 'quiet', medium: 'warn', high: 'bad', critical: 'bad' }

const sentence = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`

export const AlertSeverity = ({ severity }: Pick<Alert, 'severity'>) => (
  <State tone={TONES[severity]}>{sentence(severity)}</State>
)

export const AlertText = ({ alert: { type, subject, count } }: { readonly alert: Alert }) => (
  <>
    <strong>{ALERT_WORDS[type][0]}</strong>
    {count > 1 && ` (${count} times that day)`}
    <br />
    <code>{subject}</code>
  </>
)

export const AlertSeen = ({ of: { firstSeen, lastSeen } }: { readonly of: Alert }) => (
  <>
    <Time at={lastSeen} />
    {firstSeen !== lastSeen && (
      <small>
        first <Time at={firstSeen} />
      </small>
    )}
  </>
)

export const ALERT_FILTERS = ['status', 'severity', 'since'] as const

const SEVERITIES = [
  { value: '', label: 'All' },
  { value: 'critical', label: 'Critical' },
  { value: 'high', label: 'High' },
  { value: 'medium', label: 'Medium' },
  { value: 'low', label: 'Low' },
]

export const ALERT_STATES: Readonly<Record<AlertStatus, readonly [tone: Tone, word: string]>> = {
  open: ['warn', 'Open'],
  acknowledged: ['quiet', 'Acknowledged'],
  resolved: ['good', 'Resolved'],
  muted: ['quiet', 'Muted'],
}

/** Not a status of the route: it asks for none. */
const ALL = 'all'

const STATUS_OPTIONS = [
  { value: '', label: 'Open' },
  { value: 'acknowledged', label: 'Acknowledged' },
  { value: 'resolved', label: 'Resolved' },
  { value: 'muted', label: 'Muted' },
  { value: ALL, label: 'All' },
]

/** The route wants a time; people choose a day. What needs a look is shown unless somebody asks for more. */
export const alertsAsked = (query: Readonly<Record<string, string>>): string => {
  const since = query.since ? `${query.since}T00:00:00Z` : ''
  const status = query.status === ALL ? '' : query.status || 'open'
  return queryOf({ ...query, since, status }, ALERT_FILTERS)
}

/** What lists of alerts are narrowed to. */
export const AlertFilters = () => {
  const { query } = useLocation()
  return (
    <Filters names={ALERT_FILTERS}>
      <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status ?? ''} />
      <Select name="severity" label="Severity" options={SEVERITIES} value={query.severity} />
      <Field name="since" type="date" label="Seen since (UTC)" value={query.since} />
    </Filters>
  )
}
