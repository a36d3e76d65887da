/** What was found of people, and what somebody decides of it. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Finding, FindingPage } from '../../../../domain/aml/schemas-subscriptions.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { FormDialog } from '../../parts/confirm.tsx'
import { Filters, queryOf } from '../../parts/filters.tsx'
import { Field, Select, textIn } from '../../parts/form.tsx'
import { Loaded, More, usePages } from '../../parts/loaded.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { State, Time, type Tone } from '../../parts/text.tsx'
import { Who } from '../../parts/who.tsx'
import { ask } from '../../session.ts'

const FILTERS = ['status'] as const
const MAX_REASON_CHARACTERS = 1000

/** Not a status of the route: it asks for none. */
const ALL = 'all'

const STATUS_OPTIONS = [
  { value: '', label: 'Waiting for a decision' },
  { value: 'decided', label: 'Decided' },
  { value: 'void', label: 'No longer valid' },
  { value: ALL, label: 'All' },
]

type Verdict = NonNullable<Finding['decision']>['verdict']

const VERDICTS: Readonly<Record<Verdict, readonly [Tone, string]>> = {
  confirmed: ['bad', 'Is this person'],
  not_this_person: ['good', 'Not this person'],
}

const VERDICT_OPTIONS = [
  { value: '', label: 'Choose' },
  ...Object.entries(VERDICTS).map(([value, [, label]]) => ({ value, label })),
]

const VOID_WORDS: Readonly<Record<NonNullable<Finding['void']>['reason'], string>> = {
  entry_changed: 'the entry changed',
  entry_removed: 'the entry left its list',
  subject_changed: 'what is known of the person changed',
}

const Proposed = ({ finding: { proposal }, me }: PageProps & { readonly finding: Finding }) =>
  proposal !== undefined && (
    <>
      <State tone="warn">Waits for a second reviewer</State>
      <small>
        “{VERDICTS[proposal.verdict][1]}”, proposed <Time at={proposal.proposedAt} /> by{' '}
        <Who account={proposal.proposedBy} me={me} />
        <br />
        {proposal.reason}
      </small>
    </>
  )

const Decided = ({ finding: { decision }, me }: PageProps & { readonly finding: Finding }) =>
  decision !== null && (
    <>
      <State tone={VERDICTS[decision.verdict][0]}>{VERDICTS[decision.verdict][1]}</State>
      <small>
        <Time at={decision.decidedAt} /> by <Who account={decision.decidedBy.accountId} me={me} />
        {decision.proposedBy !== undefined && (
          <>
            , proposed by <Who account={decision.proposedBy} me={me} />
          </>
        )}
        <br />
        {decision.reason}
      </small>
    </>
  )

const Standing = ({ finding, me }: PageProps & { readonly finding: Finding }) => {
  if (finding.void !== null)
    return (
      <>
        <State tone="quiet">No longer valid</State>
        <small>
          <Time at={finding.void.at} />: {VOID_WORDS[finding.void.reason]}
        </small>
      </>
    )
  return (
    <>
      {finding.status === 'open' && finding.proposal === undefined && (
        <State tone="warn">Waits for a decision</State>
      )}
      <Decided finding={finding} me={me} />
      <Proposed finding={finding} me={me} />
    </>
  )
}

const Person = ({ of: { person, userId } }: { readonly of: Finding }) => (
  <>
    <strong>{person.name}</strong>
    <small>
      {[person.dateOfBirth, person.country].filter((one) => one !== null).join(', ')}
      {(person.dateOfBirth !== null || person.country !== null) && <br />}
      <code>{userId}</code>
    </small>
  </>
)

const Entry = ({ of: { name, listId, entryId, score, result } }: { readonly of: Finding }) => (
  <>
    <strong>{name}</strong>
    <small>
      {result === 'hit' ? 'A hit' : 'Similar'}, {score} of 100
      <br />
      <code>
        {listId} {entryId}
      </code>
    </small>
  </>
)

const EFFECTS = { agrees: 'agrees', close: 'close', differs: 'differs' } as const
const ATTRIBUTES = {
  name: 'Name',
  date_of_birth: 'Date of birth',
  country: 'Country',
  identifier: 'Number',
} as const

/** Why the entry was found, point by point. */
const Explained = ({ of: { explanations } }: { readonly of: Finding }) => (
  <ul>
    {explanations.map(({ attribute, effect, detail }) => (
      <li key={detail}>
        <strong>
          {ATTRIBUTES[attribute]} {EFFECTS[effect]}
        </strong>
        : {detail}
      </li>
    ))}
  </ul>
)

interface DecideProps extends PageProps {
  readonly finding: Finding
  done(): Promise<void>
  close(): void
}

const Decide = ({ finding, me, done, close }: DecideProps) => {
  const { proposal } = finding
  return (
    <FormDialog
      title={`${finding.person.name}: the same person?`}
      action={proposal !== undefined && proposal.proposedBy !== me.accountId ? 'Decide as second' : 'Decide'}
      close={close}
      submit={async (values) => {
        const [verdict, reason] = [textIn(values, 'verdict'), textIn(values, 'reason').trim()]
        const body = { verdict, reason, version: finding.version }
        await ask('POST', `/console/api/findings/${finding.findingId}/decision`, { body })
        await done()
      }}
      overtaken={done}
    >
      <p>
        <Person of={finding} />
      </p>
      <p>
        found as <Entry of={finding} />
      </p>
      <Explained of={finding} />
      {proposal !== undefined && (
        <div class="notice" data-tone="warn">
          <p>
            Proposed by <Who account={proposal.proposedBy} me={me} />
            {proposal.proposedBy === me.accountId
              ? ': another member has to confirm it, and you can’t. If you decide again, that takes its place.'
              : '. If you decide the same, it counts; if you decide otherwise, that is proposed instead.'}
          </p>
          <p>
            <strong>{VERDICTS[proposal.verdict][1]}</strong>: {proposal.reason}
          </p>
        </div>
      )}
      <Select
        name="verdict"
        label="Verdict"
        options={VERDICT_OPTIONS}
        value={proposal?.verdict ?? finding.decision?.verdict}
      />
      <Field
        name="reason"
        label="Reason"
        hint="In your words; it is signed with the decision, and kept as long as the person."
        rows={3}
        required
        maxLength={MAX_REASON_CHARACTERS}
      />
    </FormDialog>
  )
}

interface ListProps extends PageProps {
  readonly findings: readonly Finding[]
  readonly isNarrowed: boolean
  choose(finding: Finding): void
}

const Empty = ({ isNarrowed }: { readonly isNarrowed: boolean }) =>
  isNarrowed ? (
    <p>Nothing is like this.</p>
  ) : (
    <p>
      Nothing waits for a decision. Programs subscribe people with <code>POST /api/aml/subscriptions</code>:{' '}
      <a href="/docs/aml">how screening works</a>.
    </p>
  )

/** What the button of a finding says. */
const actionOn = ({ decision, proposal }: Finding, me: PageProps['me']): string => {
  if (proposal !== undefined) return proposal.proposedBy === me.accountId ? 'Change proposal' : 'Review'
  return decision === null ? 'Decide' : 'Decide again'
}

const List = ({ findings, isNarrowed, me, choose }: ListProps) => (
  <Table
    caption="What was found of people, the newest first"
    rows={findings}
    keyOf={({ findingId }) => findingId}
    empty={<Empty isNarrowed={isNarrowed} />}
    columns={[
      { title: 'Person', cell: (finding) => <Person of={finding} /> },
      { title: 'Found as', cell: (finding) => <Entry of={finding} /> },
      { title: 'Found', cell: ({ foundAt }) => <Time at={foundAt} /> },
      { title: 'State', cell: (finding) => <Standing finding={finding} me={me} /> },
      {
        title: 'Actions',
        cell: (finding) =>
          mayChange(me, 'aml') &&
          finding.void === null && (
            <ActButton name={finding.person.name} act={() => choose(finding)}>
              {actionOn(finding, me)}
            </ActButton>
          ),
      },
    ]}
  />
)

export const Queue = ({ me }: PageProps) => {
  const { query } = useLocation()
  const [chosen, choose] = useState<Finding | undefined>()
  const status = query.status === ALL ? '' : query.status || 'open'
  const reading = usePages<FindingPage, Finding>(
    `/console/api/findings${queryOf({ status }, FILTERS)}`,
    ({ findings }) => findings,
  )
  return (
    <section aria-labelledby="queue">
      <h2 id="queue">Reviews</h2>
      <Filters names={FILTERS}>
        <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status ?? ''} />
      </Filters>
      <Loaded of={reading}>
        {(findings) => (
          <List findings={findings} isNarrowed={queryOf(query, FILTERS) !== ''} me={me} choose={choose} />
        )}
      </Loaded>
      <More of={reading} />
      {chosen && <Decide finding={chosen} me={me} done={reading.again} close={() => choose(undefined)} />}
    </section>
  )
}
