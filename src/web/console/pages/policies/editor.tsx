/** A policy, edited as JSON, and tried before it is in force. @module */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { PolicyTried, StoredPolicy } from '../../../../domain/policies/schemas.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Field, FieldError, Form, jsonTextIn, useFound, withTexts } from '../../parts/form.tsx'
import { Loaded, useWork } from '../../parts/loaded.tsx'
import { State, Time } from '../../parts/text.tsx'
import { ServiceError } from '../../service.ts'
import { ask } from '../../session.ts'
import { FALLBACK } from './names.ts'

const NOT_FOUND = 404

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

/**
 * The rules as they were typed: what the service refuses in them, such as numbers that are not exact, it has to see.
 * @param field where it is said that they are no JSON @throws FieldError
 */
const rulesIn = (draft: string, field: string): string => {
  try {
    JSON.parse(draft)
    return draft
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

interface EditProps extends PageProps, Pick<DryRunProps, 'facts'> {
  readonly policy: StoredPolicy
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
      <State tone="quiet">The initial policy is in force</State>
    ) : (
      <State tone="warn">
        Nobody wrote it yet:{' '}
        {policyId === FALLBACK ? 'everything is denied' : `the policy ${FALLBACK} decides`}
      </State>
    )}{' '}
    {updatedAt !== null && <Time at={updatedAt} />}
  </p>
)

interface DryRunProps {
  readonly draft: string
  readonly policyId: string
  /** What was typed of them stays while a new version is put in force. */
  readonly facts: { current: string }
}

const DryRun = ({ draft, policyId, facts }: DryRunProps) => {
  const { found: tried, forget, find } = useFound<PolicyTried>()
  useLayoutEffect(forget, [draft])
  return (
    <section
      aria-labelledby="try"
      onInput={({ target }) => {
        if (target instanceof HTMLTextAreaElement) facts.current = target.value
      }}
    >
      <h2 id="try">Dry run</h2>
      <Form
        action="Try the rules"
        changed={forget}
        submit={async (values) => {
          const json = withTexts({}, { rules: rulesIn(draft, 'facts'), facts: jsonTextIn(values, 'facts') })
          const path = `/console/api/policies/${policyId}/try`
          await placed('facts', () => find(() => ask('POST', path, { json })))
        }}
      >
        <Field
          name="facts"
          label="Sample facts, as JSON"
          hint="The rules as they stand in the field are asked about them, saved or not."
          rows={12}
          required
          value={facts.current}
        />
      </Form>
      <div role="status">{tried && <Tried of={tried} />}</div>
    </section>
  )
}

const Edit = ({ policy, facts, me, saved }: EditProps) => {
  const { policyId, version, rules } = policy
  const [draft, setDraft] = useState(indented(rules))
  const mayTry = mayChange(me, 'verify')
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
              const json = withTexts({ version }, { rules: rulesIn(draft, 'rules') })
              await placed('rules', () => ask('PUT', `/console/api/policies/${policyId}`, { json }))
              await saved()
            }}
          >
            {field}
          </Form>
        ) : (
          <>
            {field}
            {mayTry && <p>You may try other rules, and not put them in force.</p>}
          </>
        )}
      </section>
      {mayTry && <DryRun draft={draft} policyId={policyId} facts={facts} />}
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

/** One policy: its rules, and what they would decide. */
export const One = ({ policyId, isCircuit, me }: PageProps & { policyId: string; isCircuit: boolean }) => {
  const reading = useWork(policyId, () => readPolicy(policyId))
  const facts = useRef(indented(sampleOf(isCircuit, policyId)))
  return (
    <Loaded of={reading}>
      {(policy) => <Edit key={policy.version} policy={policy} facts={facts} me={me} saved={reading.again} />}
    </Loaded>
  )
}
