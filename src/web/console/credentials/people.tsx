/** People who were checked: how they stand, cases that wait for somebody’s decision, what is stored, and erasure. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { PersonHeld } from '../../../domain/kyc/schemas.ts'
import type { Person, PersonPage } from '../../../domain/kyc/schemas-list.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm, Dialog, FormDialog } from '../parts/confirm.tsx'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { Who } from '../parts/who.tsx'
import { ask } from '../session.ts'

const FILTERS = ['userId', 'status'] as const
const MAX_USER_ID_CHARACTERS = 256
const MAX_REASON_CHARACTERS = 200

const STATES: Readonly<Record<Person['status'], readonly [Tone, string]>> = {
  verified: ['good', 'Verified'],
  pending: ['warn', 'A provider has not answered yet'],
  review: ['warn', 'Not verified yet'],
  rejected: ['bad', 'Rejected'],
  expired: ['quiet', 'Expired'],
}

const STATUS_OPTIONS = [
  { value: '', label: 'Everybody' },
  { value: 'review', label: 'Waiting for a decision' },
]

type Review = NonNullable<Person['review']>
type Verdict = NonNullable<Review['proposal']>['verdict']

const VERDICTS: Readonly<Record<Verdict, string>> = { approve: 'Approve', reject: 'Reject' }
const VERDICT_OPTIONS = [
  { value: '', label: 'Choose' },
  ...Object.entries(VERDICTS).map(([value, label]) => ({ value, label })),
]

const wordsOf = (name: string): string =>
  name.replace(/^mrz_/, 'machine-readable zone: ').replaceAll('_', ' ')

const Proposed = ({ of: { proposal }, me }: PageProps & { readonly of: Review }) =>
  proposal !== null && (
    <small>
      To {proposal.verdict}, proposed by <Who account={proposal.proposedBy} me={me} />
      <br />
      {proposal.reason}
    </small>
  )

const Case = ({ of, me }: PageProps & { readonly of: Review | null }) => {
  if (of === null) return <span class="quiet">None</span>
  const failed = of.checks.filter(({ result }) => result === 'failed')
  return (
    <>
      <State tone="warn">
        {of.proposal === null ? 'Waits for a decision' : 'Waits for a second reviewer'}
      </State>
      {failed.length > 0 && <small>not passed: {failed.map(({ name }) => wordsOf(name)).join(', ')}</small>}
      <Proposed of={of} me={me} />
    </>
  )
}

const RESULTS: Readonly<Record<Review['checks'][number]['result'], readonly [Tone, string]>> = {
  passed: ['good', 'Passed'],
  failed: ['bad', 'Not passed'],
  skipped: ['quiet', 'Not made'],
}

const Checks = ({ checks }: { readonly checks: Review['checks'] }) => (
  <ul class="findings">
    {checks.map(({ name, result, reason }) => (
      <li key={name}>
        <p>
          <strong>{wordsOf(name)}</strong> <State tone={RESULTS[result][0]}>{RESULTS[result][1]}</State>
        </p>
        {reason !== undefined && <p>{reason}</p>}
      </li>
    ))}
  </ul>
)

const Stored = ({ path }: { readonly path: string }) => {
  const reading = useReading<PersonHeld>(path)
  return (
    <Loaded of={reading}>
      {({ checks }) => (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
          tabIndex={0}
        >
          {JSON.stringify(
            checks.map(({ committed }) => committed),
            null,
            2,
          )}
        </pre>
      )}
    </Loaded>
  )
}

/** Personal data are only asked for once somebody wants to see them. */
const Show = ({ person, close }: { readonly person: Person; close(): void }) => {
  const [open, setOpen] = useState(false)
  const { userId, level, source, provider, reference, checkedAt, checks, review } = person
  return (
    <Dialog title={userId} close={close}>
      <p>
        Checked <Time at={checkedAt} /> by {provider}, level {level}
        {source === 'self_asserted' &&
          ': what was entered fits together, and was compared with nobody’s papers'}
        .
      </p>
      <Checks checks={checks} />
      {review !== null && review.reference !== reference && (
        <>
          <p>
            Checked again <Time at={review.checkedAt} />; this waits for a decision:
          </p>
          <Checks checks={review.checks} />
        </>
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>All that is stored</summary>
        {open && <Stored path={`/api/kyc/${encodeURIComponent(userId)}/data`} />}
      </details>
      <p class="filters">
        <a href={`/console/consents${queryOf({ subject: userId }, ['subject'])}`}>Consents of {userId}</a>
        <a href={`/console/tokens${queryOf({ subject: userId }, ['subject'])}`}>Tokens of {userId}</a>
      </p>
      <p class="actions">
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

interface ActProps extends PageProps {
  readonly person: Person
  done(): Promise<void>
  close(): void
}

const Decide = ({ person: { userId, review }, me, done, close }: ActProps) => (
  <FormDialog
    title={`Decide on ${userId}`}
    action="Decide"
    overtaken={done}
    close={close}
    submit={async (values) => {
      const body = {
        // What was looked at: the person may have been checked again since.
        reference: review?.reference,
        verdict: textIn(values, 'verdict'),
        reason: textIn(values, 'reason').trim(),
      }
      await ask('POST', `/console/api/people/${encodeURIComponent(userId)}/decision`, { body })
      await done()
    }}
  >
    {review && <Checks checks={review.checks.filter(({ result }) => result === 'failed')} />}
    {review && <Proposed of={review} me={me} />}
    <Select
      name="verdict"
      label="Decision"
      required
      options={VERDICT_OPTIONS}
      hint="Approved: verified at level basic, with a credential. Where a second reviewer is asked for, it waits until another member decides the same."
    />
    <Field
      name="reason"
      label="Reason"
      hint="Kept under the key of the person."
      rows={3}
      required
      maxLength={MAX_REASON_CHARACTERS}
    />
  </FormDialog>
)

const Erase = ({ person: { userId }, done, close }: ActProps) => (
  <Confirm
    title={`Forget ${userId}`}
    name={userId}
    action="Forget this person"
    close={close}
    run={async () => {
      await ask('DELETE', `/api/kyc/${encodeURIComponent(userId)}`)
      await done()
    }}
  >
    <p>
      The key of all their data is destroyed, for good: nobody can read them again, in no backup either. Their
      credential is revoked. The log keeps its entries, which hold only digests.
    </p>
    <p>Consents and tokens of the same id are records of their own, and stay.</p>
  </Confirm>
)

interface Act {
  readonly kind: 'show' | 'decide' | 'erase'
  readonly person: Person
}

interface ListProps extends PageProps {
  readonly people: readonly Person[]
  readonly narrowed: boolean
  choose(act: Act): void
}

const Empty = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <p>Nobody is like this. Choose less in the filters above; ids have to be typed to the letter.</p>
  ) : (
    <p>
      Nobody was checked yet. Your programs check people with <code>POST /api/kyc/verify</code>:{' '}
      <a href="/docs/kyc">how</a>.
    </p>
  )

const List = ({ people, narrowed, me, choose }: ListProps) => {
  const changes = mayChange(me, 'kyc')
  return (
    <Table
      caption="People, those checked last first"
      rows={people}
      keyOf={({ userId }) => userId}
      empty={<Empty narrowed={narrowed} />}
      columns={[
        { title: 'Person', cell: ({ userId }) => <strong class="address">{userId}</strong> },
        {
          title: 'Standing',
          cell: ({ status, level, expiresAt }) => (
            <>
              <State tone={STATES[status][0]}>{STATES[status][1]}</State>
              {status === 'verified' && (
                <small>
                  level {level}
                  {expiresAt !== null && (
                    <>
                      , until <Time at={expiresAt} />
                    </>
                  )}
                </small>
              )}
            </>
          ),
        },
        { title: 'Case', cell: ({ review }) => <Case of={review} me={me} /> },
        {
          title: 'Checked',
          cell: ({ checkedAt, review }) => <Time at={review?.checkedAt ?? checkedAt} />,
        },
        {
          title: 'Actions',
          cell: (person) => (
            <span class="row-actions">
              {changes && person.review !== null && (
                <ActButton name={person.userId} act={() => choose({ kind: 'decide', person })}>
                  Decide
                </ActButton>
              )}
              <ActButton name={person.userId} act={() => choose({ kind: 'show', person })}>
                Show
              </ActButton>
              {changes && (
                <ActButton danger name={person.userId} act={() => choose({ kind: 'erase', person })}>
                  Forget
                </ActButton>
              )}
            </span>
          ),
        },
      ]}
    />
  )
}

export const People = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<PersonPage, Person>(`/console/api/people${asked}`, ({ people }) => people)
  const [act, setAct] = useState<Act | undefined>()
  const close = (): void => setAct(undefined)
  const props = { me, done: reading.again, close }
  return (
    <Main title="Identity checks" lead="Whom you checked (KYC), and cases that wait for somebody’s decision.">
      <Filters names={FILTERS}>
        <Field
          name="userId"
          label="Id of the person"
          value={query.userId}
          maxLength={MAX_USER_ID_CHARACTERS}
        />
        <Select name="status" label="Show" options={STATUS_OPTIONS} value={query.status} />
      </Filters>
      <Loaded of={reading}>
        {(people) => <List people={people} narrowed={asked !== ''} me={me} choose={setAct} />}
      </Loaded>
      <More of={reading} />
      {me.scopes.includes('aml') && (
        <p>
          Whether one member decides a case, or two, is set under <a href="/console/screening">Screening</a>.
        </p>
      )}
      {act?.kind === 'show' && <Show person={act.person} close={close} />}
      {act?.kind === 'decide' && <Decide person={act.person} {...props} />}
      {act?.kind === 'erase' && <Erase person={act.person} {...props} />}
    </Main>
  )
}
