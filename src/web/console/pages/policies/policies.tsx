/** Policies: which ones the organisation has written, which are there from the start, and each in its editor. @module */
import { useLocation } from 'preact-iso'
import type { PolicyPage } from '../../../../domain/policies/schemas.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Field, FieldError, Form, textIn } from '../../parts/form.tsx'
import { Loaded, More, type PagedReading, usePages } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { Table } from '../../parts/table.tsx'
import { number, State, Time } from '../../parts/text.tsx'
import { One } from './editor.tsx'
import { addressOf, decidesText, FALLBACK, INITIAL, isOfCircuit, NAME } from './names.ts'

const ROWS_PER_PAGE = 50

type Listed = PolicyPage['policies'][number]

const Named = ({ policyId }: { readonly policyId: string }) => (
  <a class="address" href={addressOf(policyId)}>
    {policyId}
  </a>
)

const InForce = ({ version }: Pick<Listed, 'version'>) => <State tone="good">Version {version}</State>

interface WrittenProps extends PageProps {
  readonly reading: PagedReading<Listed>
}

const Written = ({ reading, me }: WrittenProps) => (
  <section aria-labelledby="written">
    <h2 id="written">Written by your organisation</h2>
    <Loaded of={reading}>
      {(policies) => (
        <Table
          caption="Policies that your organisation has written, by name"
          rows={policies}
          keyOf={({ policyId }) => policyId}
          empty={
            <p>
              Your organisation has written no policy yet: the initial ones below decide.
              {mayChange(me, 'keys') &&
                ' Open one of them, or name a type of resource, to write your own and try it before it is in force.'}
            </p>
          }
          columns={[
            { title: 'Policy', cell: ({ policyId }) => <Named policyId={policyId} /> },
            { title: 'Decides', cell: ({ policyId }) => decidesText(policyId) },
            {
              title: 'In force',
              cell: ({ version, updatedAt }) => (
                <>
                  <InForce version={version} />
                  <small>
                    since <Time at={updatedAt} />
                  </small>
                </>
              ),
            },
            {
              title: 'Rules',
              cell: ({ ruleCount }) =>
                ruleCount === 0 ? <State tone="warn">None: denies everything</State> : number(ruleCount),
            },
          ]}
        />
      )}
    </Loaded>
    <More of={reading} />
  </section>
)

const OpenByName = () => {
  const { route } = useLocation()
  return (
    <section aria-labelledby="resource">
      <h2 id="resource">For a type of resource</h2>
      <p>
        The policy of its name decides POST /access/v1/evaluation. Where nobody wrote one,{' '}
        <a href={addressOf(FALLBACK)}>{FALLBACK}</a> decides.
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
        <Field
          name="policyId"
          label="Type of resource"
          hint="Such as order, written or not."
          required
          maxLength={64}
        />
      </Form>
    </section>
  )
}

/** What is known of an initial policy by the pages that were read, which come in the order of names. */
const Standing = ({ policyId, reading }: { policyId: string; reading: PagedReading<Listed> }) => {
  const { value = [], more } = reading
  const written = value.find((one) => one.policyId === policyId)
  if (written) return <InForce version={written.version} />
  const isKnown = more === undefined || policyId < (value.at(-1)?.policyId ?? '')
  return reading.value && isKnown ? <span class="quiet">The initial one</span> : null
}

const Initial = ({ reading }: { readonly reading: PagedReading<Listed> }) => (
  <section aria-labelledby="initial">
    <h2 id="initial">There from the start</h2>
    <p>
      Each holds until you write one of its name. <code>{FALLBACK}</code> has no rules, so that it denies
      everything. The others decide POST /v1/verify by circuit: they require an identifier, and an amount
      above 0 and at most {number(10_000)} in a currency of ISO 4217.
    </p>
    <Table
      caption="Initial policies"
      rows={INITIAL}
      keyOf={(policyId) => policyId}
      empty={null}
      columns={[
        { title: 'Policy', cell: (policyId) => <Named policyId={policyId} /> },
        { title: 'Decides', cell: decidesText },
        { title: 'In force', cell: (policyId) => <Standing policyId={policyId} reading={reading} /> },
      ]}
    />
  </section>
)

const Choose = ({ me }: PageProps) => {
  const reading = usePages<PolicyPage, Listed>(
    `/console/api/policies?limit=${ROWS_PER_PAGE}`,
    ({ policies }) => policies,
  )
  return (
    <>
      <Written reading={reading} me={me} />
      <OpenByName />
      <Initial reading={reading} />
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
        <One key={policyId} policyId={policyId} isCircuit={isOfCircuit(policyId)} me={me} />
      ) : (
        <Choose me={me} />
      )}
    </Main>
  )
}
