/** The log: its entries, and what anybody can check of it, checked in this browser. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { AuditEntry, AuditPage } from '../../../domain/audit/schemas.ts'
import { examineEarlier, examineEntry, examineLog } from '../log-checks.ts'
import { Dialog } from '../parts/confirm.tsx'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Findings, type TitledFinding } from '../parts/findings.tsx'
import { Field, Form, Select, textIn, useFound } from '../parts/form.tsx'
import { Loaded, More, usePages, useWork } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { number, Time } from '../parts/text.tsx'

const FILTERS = ['type', 'since', 'until'] as const
const DAY_MS = 24 * 3_600_000

const TYPES: Readonly<Record<AuditEntry['type'], string>> = {
  verify: 'Something was verified',
  prove: 'A proof was made',
  spend: 'A proof was spent',
  gate: 'A policy decided',
  attest: 'Something was attested',
  payment: 'A payment was taken',
  revoke: 'Something was withdrawn',
  'key.revoked': 'An API key was revoked',
  account: 'The organisation was changed',
  chat: 'A chat message',
  hybrid_token: 'A hybrid token',
  'ledger.poseidon_root': 'A root of the Poseidon tree',
  'ledger.head': 'The head of another log',
}

const TYPE_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(TYPES).map(([value, label]) => ({ value, label })),
]

/** People choose days, both included; the route wants times, the last one not included. */
const asked = (query: Readonly<Record<string, string>>): string => {
  const until = Date.parse(query.until ?? '')
  return queryOf(
    {
      ...query,
      since: query.since ? `${query.since}T00:00:00Z` : '',
      until: Number.isNaN(until) ? '' : new Date(until + DAY_MS).toISOString(),
    },
    FILTERS,
  )
}

const Whole = () => {
  const work = useWork('log', examineLog)
  const { found: compared, forget, find } = useFound<readonly TitledFinding[]>()
  return (
    <section aria-labelledby="whole">
      <h2 id="whole">The log as a whole</h2>
      <Loaded of={work}>
        {({ note, size, findings }) => (
          <>
            {size !== undefined && <p>It has {number(size)} entries, those of all organisations.</p>}
            <Findings findings={findings} />
            <details class="box">
              <summary>The checkpoint, and one that you kept</summary>
              <p>
                Keep this text somewhere else. Whoever has it can show later whether anything was changed or
                taken out.
              </p>
              <pre
                // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
                tabIndex={0}
              >
                {note}
              </pre>
              <Form
                action="Compare"
                changed={forget}
                submit={(values) => find(() => examineEarlier(textIn(values, 'earlier')))}
              >
                <Field name="earlier" label="A checkpoint that you kept" rows={6} required />
              </Form>
              <div role="status">{compared && <Findings findings={compared} />}</div>
            </details>
          </>
        )}
      </Loaded>
    </section>
  )
}

/** Canonical JSON on lines of its own: the same, easier to read. */
const readable = (entry: string): string => JSON.stringify(JSON.parse(entry), null, 2)

const Entry = ({ entry, close }: { readonly entry: AuditEntry; close(): void }) => {
  const work = useWork(entry.leafHash, () => examineEntry(entry))
  return (
    <Dialog title={`Entry ${entry.index}`} close={close}>
      <p>
        {TYPES[entry.type]}, <Time at={entry.at} />
      </p>
      <Loaded of={work}>{(findings) => <Findings findings={findings} />}</Loaded>
      {entry.entry !== null && (
        <details>
          <summary>What was recorded</summary>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
            tabIndex={0}
          >
            {readable(entry.entry)}
          </pre>
        </details>
      )}
      <p class="actions">
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

const About = ({ of: { circuitId, proofId, keyId, digest } }: { readonly of: AuditEntry }) => (
  <>
    {circuitId !== null && <small>circuit {circuitId}</small>}
    {(proofId ?? keyId ?? digest) !== null && (
      <code class="address quiet">{proofId ?? keyId ?? digest?.slice(0, 16)}</code>
    )}
  </>
)

export const Log = () => {
  const { query } = useLocation()
  const [chosen, setChosen] = useState<AuditEntry | undefined>()
  const reading = usePages<AuditPage, AuditEntry>(`/api/audit${asked(query)}`, ({ entries }) => entries)
  return (
    <Main
      title="Log"
      lead="Whatever was decided is an entry of one public, append-only log. This page checks it in your browser."
    >
      <Whole />
      <section aria-labelledby="entries">
        <h2 id="entries">Your entries</h2>
        <Filters names={FILTERS}>
          <Select name="type" label="Kind" options={TYPE_OPTIONS} value={query.type} />
          <Field name="since" type="date" label="From (UTC)" value={query.since} />
          <Field name="until" type="date" label="To, included (UTC)" value={query.until} />
        </Filters>
        <Loaded of={reading}>
          {(entries) => (
            <Table
              caption="Entries of the organisation, the newest first"
              rows={entries}
              keyOf={({ index }) => String(index)}
              empty={<p>There is no such entry.</p>}
              columns={[
                { title: 'Entry', cell: ({ index }) => number(index) },
                { title: 'What happened', cell: ({ type }) => TYPES[type] },
                { title: 'About', cell: (entry) => <About of={entry} /> },
                { title: 'When', cell: ({ at }) => <Time at={at} /> },
                {
                  title: 'Actions',
                  cell: (entry) => (
                    <ActButton name={`entry ${entry.index}`} act={() => setChosen(entry)}>
                      Check
                    </ActButton>
                  ),
                },
              ]}
            />
          )}
        </Loaded>
        <More of={reading} />
      </section>
      {chosen && <Entry entry={chosen} close={() => setChosen(undefined)} />}
    </Main>
  )
}
