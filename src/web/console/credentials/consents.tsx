/** The consents of one subject: what each is worth, how it came to that, and its withdrawal. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { ConsentStanding, ConsentStatus } from '../../../domain/consent/schemas.ts'
import type { ConsentPage, ListedConsent } from '../../../domain/consent/schemas-list.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm, Dialog } from '../parts/confirm.tsx'
import { queryOf } from '../parts/filters.tsx'
import { Field, Form, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const FILTERS = ['subject'] as const
const MAX_SUBJECT_CHARACTERS = 256
const MAX_REASON_CHARACTERS = 200

const STATES: Readonly<Record<ConsentStatus, readonly [Tone, string]>> = {
  given: ['good', 'Given'],
  refused: ['warn', 'Refused'],
  withdrawn: ['bad', 'Withdrawn'],
  expired: ['quiet', 'Expired'],
  superseded: ['quiet', 'Replaced by a later one'],
}

const StatusText = ({ status }: { readonly status: ConsentStatus }) => (
  <State tone={STATES[status][0]}>{STATES[status][1]}</State>
)

const History = ({ consentId, close }: { readonly consentId: string; close(): void }) => {
  const reading = useReading<ConsentStanding>(`/api/consent/${consentId}/status`)
  return (
    <Dialog title="History of the consent" close={close}>
      <p>
        <code class="address">{consentId}</code>
      </p>
      <Loaded of={reading}>
        {({ history }) => (
          <ol class="steps">
            {history.map(({ status, at, purposes, supersededBy, reason }) => (
              <li key={`${at} ${status}`}>
                <StatusText status={status} /> <Time at={at} />
                <small>{purposes.join(', ')}</small>
                {reason !== undefined && <small>Reason: {reason}</small>}
                {supersededBy !== undefined && (
                  <small>
                    by <code class="address">{supersededBy}</code>
                  </small>
                )}
              </li>
            ))}
          </ol>
        )}
      </Loaded>
      <p class="actions">
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

interface Act {
  readonly kind: 'history' | 'withdraw'
  readonly consent: ListedConsent
}

interface ListProps {
  readonly subject: string
  readonly consents: readonly ListedConsent[]
  readonly changes: boolean
  choose(act: Act): void
}

const List = ({ subject, consents, changes, choose }: ListProps) => (
  <Table
    caption={`Consents of ${subject}, the newest first`}
    rows={consents}
    keyOf={({ consentId }) => consentId}
    empty={
      <p>
        Nothing was recorded of <strong class="name">{subject}</strong>. The subject has to be typed as it was
        recorded, to the letter.
      </p>
    }
    columns={[
      {
        title: 'Purposes',
        cell: ({ purposes, supersededPurposes, controller }) => (
          <>
            <strong>{purposes.join(', ')}</strong>
            <small class="address">by {controller}</small>
            {supersededPurposes.length > 0 && (
              <small>a later record decides about {supersededPurposes.join(', ')}</small>
            )}
          </>
        ),
      },
      {
        title: 'Data',
        cell: ({ dataCategories }) => <span class="words">{dataCategories.join(', ') || 'none named'}</span>,
      },
      { title: 'Recorded', cell: ({ recordedAt }) => <Time at={recordedAt} /> },
      {
        title: 'State',
        cell: ({ status, expiresAt, withdrawnAt, withdrawalReason }) => (
          <>
            <StatusText status={status} />
            {status === 'given' && expiresAt !== null && (
              <small>
                until <Time at={expiresAt} />
              </small>
            )}
            {withdrawnAt !== null && (
              <small>
                <Time at={withdrawnAt} />
                {withdrawalReason !== null && <>: {withdrawalReason}</>}
              </small>
            )}
          </>
        ),
      },
      {
        title: 'Actions',
        cell: (consent) => {
          const name = consent.purposes.join(', ')
          return (
            <span class="row-actions">
              <ActButton name={name} act={() => choose({ kind: 'history', consent })}>
                History
              </ActButton>
              {changes && consent.status !== 'withdrawn' && (
                <ActButton danger name={name} act={() => choose({ kind: 'withdraw', consent })}>
                  Withdraw
                </ActButton>
              )}
            </span>
          )
        },
      },
    ]}
  />
)

interface WithdrawProps {
  readonly subject: string
  readonly consent: ListedConsent
  done(): Promise<void>
  close(): void
}

const Withdraw = ({ subject, consent, done, close }: WithdrawProps) => (
  <Confirm
    title={`Withdraw a consent of ${subject}`}
    name={subject}
    action="Withdraw consent"
    close={close}
    run={async (values) => {
      const reason = textIn(values, 'reason').trim() || undefined
      await ask('POST', '/api/consent/revoke', { body: { consentId: consent.consentId, reason } })
      await done()
    }}
  >
    <p>
      <strong>{consent.purposes.join(', ')}</strong>, by {consent.controller}. It counts no more, at once and
      on all servers, and proofs that were made from it are refused. This is for good: whoever changes their
      mind gives a new one.
    </p>
    <Field
      name="reason"
      label="Reason"
      hint="Such as: asked by telephone. For yourselves; it is not in the log."
      maxLength={MAX_REASON_CHARACTERS}
    />
  </Confirm>
)

const OfSubject = ({ subject, me }: PageProps & { readonly subject: string }) => {
  const reading = usePages<ConsentPage, ListedConsent>(
    `/console/api/consents${queryOf({ subject }, FILTERS)}`,
    ({ consents }) => consents,
  )
  const [act, setAct] = useState<Act | undefined>()
  const close = (): void => setAct(undefined)
  return (
    <>
      <Loaded of={reading}>
        {(consents) => (
          <List subject={subject} consents={consents} changes={mayChange(me, 'consent')} choose={setAct} />
        )}
      </Loaded>
      <More of={reading} />
      {act?.kind === 'history' && <History consentId={act.consent.consentId} close={close} />}
      {act?.kind === 'withdraw' && (
        <Withdraw subject={subject} consent={act.consent} done={reading.again} close={close} />
      )}
    </>
  )
}

export const Consents = ({ me }: PageProps) => {
  const { path, query, route } = useLocation()
  const { subject = '' } = query
  return (
    <Main title="Consents" lead="What one person agreed to or refused, as you recorded it.">
      <Form
        action="Find consents"
        submit={async (values) =>
          route(path + queryOf({ subject: textIn(values, 'subject').trim() }, FILTERS))
        }
      >
        <Field
          name="subject"
          label="Subject"
          hint="The id that your programs recorded them with."
          required
          value={subject}
          maxLength={MAX_SUBJECT_CHARACTERS}
        />
      </Form>
      {subject === '' ? (
        <div class="empty">
          <p>Type whose consents you look for. There is no list of everybody’s.</p>
        </div>
      ) : (
        <OfSubject key={subject} subject={subject} me={me} />
      )}
    </Main>
  )
}
