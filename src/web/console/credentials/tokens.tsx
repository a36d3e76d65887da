/** Tokens: found by subject, kind and state, or by their id; revoked by name. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { TokenStanding } from '../../../domain/tokens/schemas.ts'
import type { ListedToken, TokenPage } from '../../../domain/tokens/schemas-list.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Form, Select, textIn, useFound } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { Time } from '../parts/text.tsx'
import { ask } from '../session.ts'
import { Revoke, STATUS_OPTIONS, StandingText } from './standing.tsx'

const FILTERS = ['subject', 'type', 'status'] as const
const MAX_SUBJECT_CHARACTERS = 256

const TYPES: Readonly<Record<TokenStanding['type'], string>> = {
  jwt: 'Text',
  qr: 'QR code',
  nfc: 'NFC tag',
  pass: 'Wallet pass',
  hybrid: 'Hybrid, post-quantum',
}

const TYPE_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(TYPES).map(([value, label]) => ({ value, label })),
]

/** What is to be revoked, and how its owner knows it. */
interface Target {
  readonly tokenId: string
  readonly name: string
}

interface ListProps {
  readonly tokens: readonly ListedToken[]
  readonly changes: boolean
  readonly narrowed: boolean
  revoke(target: Target): void
}

const List = ({ tokens, changes, narrowed, revoke }: ListProps) => (
  <Table
    caption="Tokens, the newest first"
    rows={tokens}
    keyOf={({ tokenId }) => tokenId}
    empty={
      narrowed ? (
        <p>No token is like this. Choose less in the filters above.</p>
      ) : (
        <p>
          There is no token yet. Your programs issue them with <code>POST /api/tokens/generate</code>:{' '}
          <a href="/docs/tokens">how</a>.
        </p>
      )
    }
    columns={[
      {
        title: 'Token',
        cell: ({ subject, tokenId, audience }) => (
          <>
            <strong class="address">{subject}</strong>
            {audience !== null && <small class="address">for {audience}</small>}
            <small>
              <code class="address quiet">{tokenId}</code>
            </small>
          </>
        ),
      },
      { title: 'Form', cell: ({ type }) => TYPES[type] },
      { title: 'Issued', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
      { title: 'State', cell: (token) => <StandingText of={token} /> },
      {
        title: 'Actions',
        cell: ({ status, tokenId, subject }) =>
          changes &&
          status !== 'revoked' && (
            <ActButton danger name={subject} act={() => revoke({ tokenId, name: subject })}>
              Revoke
            </ActButton>
          ),
      },
    ]}
  />
)

/** Whoever has a token finds its id in it. */
const ById = ({ changes, revoke }: Pick<ListProps, 'changes' | 'revoke'>) => {
  const { found, forget, find } = useFound<TokenStanding>()
  return (
    <details class="box">
      <summary>Find one by its id</summary>
      <p>
        Whoever has a token finds its id in it: as <code>jti</code>, of a hybrid one as <code>token_id</code>.
      </p>
      <Form
        action="Find"
        changed={forget}
        submit={async (values) => {
          const id = encodeURIComponent(textIn(values, 'tokenId').trim())
          await find(() => ask('GET', `/api/tokens/${id}/status`))
        }}
      >
        <Field name="tokenId" label="Id" required hint="Such as tok_… or hyt_…" />
      </Form>
      <div role="status">
        {found && (
          <>
            <p>
              {TYPES[found.type]}, issued <Time at={found.issuedAt} />
            </p>
            <p>
              <StandingText of={found} />
            </p>
            {changes && found.status !== 'revoked' && (
              <button
                type="button"
                class="plain danger"
                onClick={() => revoke({ tokenId: found.tokenId, name: found.tokenId })}
              >
                Revoke it
              </button>
            )}
          </>
        )}
      </div>
    </details>
  )
}

export const Tokens = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<TokenPage, ListedToken>(`/console/api/tokens${asked}`, ({ tokens }) => tokens)
  const [target, setTarget] = useState<Target | undefined>()
  const [revoked, setRevoked] = useState(0)
  const changes = mayChange(me, 'token')
  return (
    <Main title="Tokens" lead="What you issued to somebody: signed, and valid for a time.">
      <Filters names={FILTERS}>
        <Field name="subject" label="Subject" value={query.subject} maxLength={MAX_SUBJECT_CHARACTERS} />
        <Select name="type" label="Form" options={TYPE_OPTIONS} value={query.type} />
        <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status} />
      </Filters>
      <Loaded of={reading}>
        {(tokens) => <List tokens={tokens} changes={changes} narrowed={asked !== ''} revoke={setTarget} />}
      </Loaded>
      <More of={reading} />
      <ById key={revoked} changes={changes} revoke={setTarget} />
      {target && (
        <Revoke
          what="token"
          name={target.name}
          path="/api/tokens/revoke"
          body={{ tokenId: target.tokenId }}
          text="It is refused wherever the service is asked, at once; whoever checks it without a network learns it from the next status list."
          done={async () => {
            setRevoked(revoked + 1)
            await reading.again()
          }}
          close={() => setTarget(undefined)}
        />
      )}
    </Main>
  )
}
