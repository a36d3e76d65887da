/** What tokens and tickets are worth now, and how one is revoked. @module */
import type { ListedTicket } from '../../../domain/tickets/schemas-list.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Field, textIn } from '../parts/form.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_REASON_CHARACTERS = 200

/** What lists say of both. */
export type Standing = Pick<
  ListedTicket,
  'status' | 'singleUse' | 'expiresAt' | 'usedAt' | 'revokedAt' | 'revocationReason'
>

const STATES: Readonly<Record<Standing['status'], readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  used: ['quiet', 'Used'],
  expired: ['quiet', 'Expired'],
  revoked: ['bad', 'Revoked'],
}

export const STATUS_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(STATES).map(([value, [, label]]) => ({ value, label })),
]

export const StandingText = ({ of }: { readonly of: Standing }) => {
  const { status, usedAt, revokedAt, revocationReason, expiresAt, singleUse } = of
  const [tone, word] = STATES[status]
  return (
    <>
      <State tone={tone}>{word}</State>
      {status === 'used' && usedAt !== null && (
        <small>
          <Time at={usedAt} />
        </small>
      )}
      {status === 'revoked' && revokedAt !== null && (
        <small>
          <Time at={revokedAt} />
          {revocationReason !== null && <>: {revocationReason}</>}
        </small>
      )}
      {status === 'active' && (
        <small>
          until <Time at={expiresAt} />
          {singleUse && ', for one use'}
        </small>
      )}
    </>
  )
}

interface RevokeProps {
  /** Such as `token`. */
  readonly what: string
  /** What has to be typed. */
  readonly name: string
  readonly path: string
  /** What the route wants besides the reason. */
  readonly body?: object
  /** What it means. */
  readonly text: string
  done(): Promise<void>
  close(): void
}

export const Revoke = ({ what, name, path, body, text, done, close }: RevokeProps) => (
  <Confirm
    title={`Revoke the ${what} of ${name}`}
    name={name}
    action={`Revoke ${what}`}
    close={close}
    run={async (values) => {
      const reason = textIn(values, 'reason').trim() || undefined
      await ask('POST', path, { body: { ...body, reason } })
      await done()
    }}
  >
    <p>{text} This is for good.</p>
    <Field
      name="reason"
      label="Reason"
      hint="For yourselves. Name nobody in it."
      maxLength={MAX_REASON_CHARACTERS}
    />
  </Confirm>
)
