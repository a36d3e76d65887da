/** Proofs: found by the filters of the address, each shown with what it proves. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { CircuitId } from '../../../circuits/catalogue.ts'
import { systemClock } from '../../../clock.ts'
import type { ListedProof, ProofPage } from '../../../domain/proofs/schemas-list.ts'
import type { PageProps } from '../page.ts'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time } from '../parts/text.tsx'
import { ShowProof } from './proof.tsx'

const FILTERS = ['circuitId', 'decision', 'consumed', 'from', 'to'] as const

/** What people call them; the circuits themselves are loaded once a proof is looked at. */
const CIRCUITS: Readonly<Record<CircuitId, string>> = {
  simple_yesno: 'Committed decision',
  yesno: 'One comparison',
  eligibility: 'Several rules',
  composite: 'Tree of rules',
  kyc: 'Identity check',
  token_validation: 'Token',
  consent_verification: 'Consent',
  audit_proof: 'Entry in the log',
  proof_aggregation: 'Several proofs',
  quantum_safe_token: 'Hybrid token',
  offline_validation: 'Offline payment',
}

const CIRCUIT_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(CIRCUITS).map(([value, label]) => ({ value, label })),
]
const DECISION_OPTIONS = [
  { value: '', label: 'All' },
  { value: 'YES', label: 'YES' },
  { value: 'NO', label: 'NO' },
]
const CONSUMED_OPTIONS = [
  { value: '', label: 'All' },
  { value: 'false', label: 'Not spent' },
  { value: 'true', label: 'Spent' },
]

const nameOf = (id: string): string => new Map<string, string>(Object.entries(CIRCUITS)).get(id) ?? id

const isOver = ({ expiresAt }: ListedProof, now: number): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now

const Standing = ({ of, now }: { readonly of: ListedProof; readonly now: number }) => {
  if (of.revokedAt !== null) return <State tone="bad">Its result was revoked</State>
  if (of.consumedAt !== null)
    return (
      <>
        <State tone="quiet">Spent</State>
        <small>
          <Time at={of.consumedAt} />
        </small>
      </>
    )
  return isOver(of, now) ? <State tone="quiet">Expired</State> : <State tone="good">Not spent</State>
}

const Empty = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <p>No proof is like this. Choose less in the filters above.</p>
  ) : (
    <p>
      There is no proof yet. Your programs have them made with <code>POST /v1/proofs/generate</code>:{' '}
      <a href="/docs/proofs">how</a>.
    </p>
  )

export const Proofs = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<ProofPage, ListedProof>(`/console/api/proofs${asked}`, ({ proofs }) => proofs)
  const [shown, setShown] = useState<string | undefined>()
  const now = systemClock.now()
  return (
    <Main title="Proofs" lead="What was shown without being told: each can be checked here, in your browser.">
      <Filters names={FILTERS}>
        <Select name="circuitId" label="Circuit" options={CIRCUIT_OPTIONS} value={query.circuitId} />
        <Select name="decision" label="Decision" options={DECISION_OPTIONS} value={query.decision} />
        <Select name="consumed" label="Spent" options={CONSUMED_OPTIONS} value={query.consumed} />
        <Field name="from" type="date" label="From (UTC)" value={query.from} />
        <Field name="to" type="date" label="To, included (UTC)" value={query.to} />
      </Filters>
      <Loaded of={reading}>
        {(proofs) => (
          <Table
            caption="Proofs, the newest first"
            rows={proofs}
            keyOf={({ proofId }) => proofId}
            empty={<Empty narrowed={asked !== ''} />}
            columns={[
              {
                title: 'Proof',
                cell: ({ circuitId, proofId, madeElsewhere }) => (
                  <>
                    <strong>{nameOf(circuitId)}</strong>
                    {madeElsewhere && <small>made by somebody else</small>}
                    <small>
                      <code class="address quiet">{proofId}</code>
                    </small>
                  </>
                ),
              },
              {
                title: 'Decision',
                cell: ({ decision, madeElsewhere }) =>
                  decision ?? (
                    <span class="quiet">{madeElsewhere ? 'None asked, or not known' : 'None asked'}</span>
                  ),
              },
              { title: 'Recorded', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { title: 'State', cell: (proof) => <Standing of={proof} now={now} /> },
              {
                title: 'Actions',
                cell: ({ proofId }) => (
                  <ActButton name={proofId} act={() => setShown(proofId)}>
                    Show and check
                  </ActButton>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <More of={reading} />
      {shown !== undefined && (
        <ShowProof
          key={shown}
          proofId={shown}
          me={me}
          done={reading.again}
          close={() => setShown(undefined)}
        />
      )}
    </Main>
  )
}
