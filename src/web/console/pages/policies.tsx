/** Policies: what the organisation permits, edited as JSON, and tried before it is in force. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { CircuitId } from '../../../circuits/catalogue.ts'
import type { PolicyTried, StoredPolicy } from '../../../domain/policies/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Field, FieldError, Form, jsonIn, textIn } from '../parts/form.tsx'
import { Loaded, useWork } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Table } from '../parts/table.tsx'
import { State, Time } from '../parts/text.tsx'
import { ServiceError } from '../service.ts'
import { ask } from '../session.ts'

const FALLBACK = 'default'
const NOT_FOUND = 404
/** What a policy can be called. */
const NAME = /^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/

/** What each circuit shows, in a few words. */
const CIRCUITS: Readonly<Record<CircuitId, string>> = {
  simple_yesno: 'a decision, committed',
  yesno: 'one comparison',
  eligibility: 'several conditions together',
  composite: 'a tree of conditions',
  kyc: 'who somebody is',
  token_validation: 'that a token is good',
  consent_verification: 'that somebody consented',
  audit_proof: 'that an entry is in the log',
  proof_aggregation: 'several proofs at once',
  quantum_safe_token: 'that a hybrid token is good',
  offline_validation: 'a payment taken offline',
}

const addressOf = (policyId: string): string => `/console/policies?policy=${encodeURIComponent(policyId)}`

const indented = (value: unknown): string => JSON.stringify(value, null, 2)

/** What a policy sees: of a circuit the facts of POST /v1/verify, else those of a decision. */
const sampleOf = (isCircuit: boolean, policyId: string): object =>
  isCircuit
    ? { identifier: 'customer-1007', context: { amount: 49.99, currency: 'GBP' } }
    : {
        subject: { type: 'user', id: 'ada@shop.example', properties: { blocked: false } },
        action: { name: 'refund' },
        resource: { type: policyId, id: 'A-1007' },
        context: { amount: 12.5 },
      }

/** @param field where it is said that they are no JSON @throws FieldError */
const rulesIn = (draft: string, field: string): unknown => {
  try {
    return JSON.parse(draft)
  } catch (error) {
    throw new FieldError(field, `The rules are not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

/** All that is wrong with the rules stands below their text, each with its place in it. */
const placed = async <T,>(field: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.details.length === 0) throw error
    const details = error.details.map(({ path, message }) => `${path || '/'}: ${message}`)
    throw new FieldError(field, details.join(' '))
  }
}

const Tried = ({
  of: { decision, reasonCodes, obligations, policyId, version },
}: {
  readonly of: PolicyTried
}) => (
  <div class="notice" data-tone={decision === 'YES' ? 'good' : 'warn'}>
    <p>
      <strong>{decision}</strong>, because of {reasonCodes.join(', ')}.
    </p>
    {obligations.length > 0 && <pre>{indented(obligations)}</pre>}
    <p class="quiet">
      {version === null
        ? 'Decided by the rules above, which are not in force unless you have saved them.'
        : `Decided by version ${version} of ${policyId}.`}{' '}
      Nothing was recorded, signed or charged.
    </p>
  </div>
)

interface EditProps extends PageProps {
  readonly policy: StoredPolicy
  readonly isCircuit: boolean
  saved(): Promise<void>
}

const Standing = ({
  policy: { policyId, version, updatedAt, seeded, rules },
}: {
  readonly policy: StoredPolicy
}) => (
  <p>
    {!seeded ? (
      <State tone="good">Version {version} is in force</State>
    ) : rules.length > 0 ? (
      <State tone="quiet">In force as it was from the start</State>
    ) : (
      <State tone="warn">
        Nobody wrote it yet:{' '}
        {policyId === FALLBACK ? 'everything is denied' : `the policy ${FALLBACK} decides`}
      </State>
    )}{' '}
    {updatedAt !== null && <Time at={updatedAt} />}
  </p>
)

const DryRun = ({
  draft,
  policy,
  isCircuit,
}: {
  draft: string
  policy: StoredPolicy
  isCircuit: boolean
}) => {
  const [tried, setTried] = useState<PolicyTried | undefined>()
  return (
    <section aria-labelledby="try">
      <h2 id="try">Dry run</h2>
      <Form
        action="Try the rules"
        submit={async (values) => {
          setTried(undefined)
          const facts = jsonIn(values, 'facts')
          const body = { rules: rulesIn(draft, 'facts'), facts }
          const path = `/console/api/policies/${policy.policyId}/try`
          setTried(await placed('facts', () => ask<PolicyTried>('POST', path, { body })))
        }}
      >
        <Field
          name="facts"
          label="Sample facts, as JSON"
          hint="The rules as they stand in the field are asked about them, saved or not."
          rows={12}
          required
          value={indented(sampleOf(isCircuit, policy.policyId))}
        />
      </Form>
      <div role="status">{tried && <Tried of={tried} />}</div>
    </section>
  )
}

const Edit = ({ policy, isCircuit, me, saved }: EditProps) => {
  const { policyId, version, rules } = policy
  const [draft, setDraft] = useState(indented(rules))
  const field = (
    <Field
      name="rules"
      label="Rules, as JSON"
      hint="A list of rules, each with effect, permit or deny, and conditions. Without a rule everything is denied."
      rows={16}
      required
      value={indented(rules)}
    />
  )
  return (
    <>
      <Standing policy={policy} />
      <section
        aria-labelledby="rules"
        onInput={({ target }) => target instanceof HTMLTextAreaElement && setDraft(target.value)}
      >
        <h2 id="rules">Rules</h2>
        {mayChange(me, 'keys') ? (
          <Form
            action="Save and put in force"
            submit={async () => {
              const body = { version, rules: rulesIn(draft, 'rules') }
              await placed('rules', () => ask('PUT', `/console/api/policies/${policyId}`, { body }))
              await saved()
            }}
          >
            {field}
          </Form>
        ) : (
          <>
            {field}
            <p>You may try other rules, and not put them in force.</p>
          </>
        )}
      </section>
      <DryRun draft={draft} policy={policy} isCircuit={isCircuit} />
    </>
  )
}

/** The policy in force, or an empty one where nobody wrote it. @throws ServiceError, UnreachableError */
const readPolicy = async (policyId: string): Promise<StoredPolicy> => {
  try {
    return await ask<StoredPolicy>('GET', `/console/api/policies/${encodeURIComponent(policyId)}`)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== NOT_FOUND) throw error
    return { policyId, version: 0, seeded: true, rules: [], hash: '', updatedAt: null }
  }
}

const One = ({ policyId, isCircuit, me }: PageProps & { policyId: string; isCircuit: boolean }) => {
  const reading = useWork(policyId, () => readPolicy(policyId))
  return (
    <Loaded of={reading}>
      {(policy) => (
        <Edit key={policy.version} policy={policy} isCircuit={isCircuit} me={me} saved={reading.again} />
      )}
    </Loaded>
  )
}

const Choose = () => {
  const { route } = useLocation()
  return (
    <>
      <section aria-labelledby="circuits">
        <h2 id="circuits">Of circuits</h2>
        <p>Each decides POST /v1/verify with its circuit.</p>
        <Table
          caption="Policies of circuits"
          rows={Object.entries(CIRCUITS)}
          keyOf={([id]) => id}
          empty={<p>There is no circuit.</p>}
          columns={[
            { title: 'Policy', cell: ([id]) => <a href={addressOf(id)}>{id}</a> },
            { title: 'Its circuit shows', cell: ([, text]) => text },
          ]}
        />
      </section>
      <section aria-labelledby="resources">
        <h2 id="resources">Of types of resources</h2>
        <p>
          They decide POST /v1/nior/policy/decide, each for the resources of its name;{' '}
          <a href={addressOf(FALLBACK)}>the policy {FALLBACK}</a> decides for all others. Which ones were
          written is not listed here: open one by its name.
        </p>
        <Form
          action="Open"
          submit={async (values) => {
            const name = textIn(values, 'policyId').trim()
            if (!NAME.test(name))
              throw new FieldError('policyId', 'A letter, then up to 63 letters, digits, _, ., : or -.')
            route(addressOf(name))
          }}
        >
          <Field name="policyId" label="Type of resource" hint="Such as order." required maxLength={64} />
        </Form>
      </section>
    </>
  )
}

export const Policies = ({ me }: PageProps) => {
  const policyId = useLocation().query.policy
  const isKnown = policyId !== undefined && NAME.test(policyId)
  return (
    <Main
      title={isKnown ? `Policy ${policyId}` : 'Policies'}
      lead="What your organisation permits. Missing data never permits, and a denial overrides every permission."
    >
      {isKnown && (
        <p>
          <a href="/console/policies">All policies</a>
        </p>
      )}
      {isKnown ? (
        <One key={policyId} policyId={policyId} isCircuit={Object.hasOwn(CIRCUITS, policyId)} me={me} />
      ) : (
        <Choose />
      )}
    </Main>
  )
}
