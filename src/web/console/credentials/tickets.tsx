/** Tickets for QR codes: found by subject and state, revoked by name. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { ListedTicket, TicketPage } from '../../../domain/tickets/schemas-list.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { Time } from '../parts/text.tsx'
import { Revoke, STATUS_OPTIONS, StandingText } from './standing.tsx'

const FILTERS = ['subject', 'status'] as const
const MAX_SUBJECT_CHARACTERS = 256

const nameOf = ({ subject, ticketId }: ListedTicket): string => subject ?? ticketId

/** What anyone can read who scans it. */
const contentOf = ({ claims }: ListedTicket): string =>
  Object.entries(claims ?? {})
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')

const Empty = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <p>No ticket is like this. Choose less in the filters above.</p>
  ) : (
    <p>
      There is no ticket yet. Your programs issue them with <code>POST /v1/qr/tickets</code>:{' '}
      <a href="/docs/tickets">how</a>.
    </p>
  )

export const Tickets = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<TicketPage, ListedTicket>(`/console/api/tickets${asked}`, ({ tickets }) => tickets)
  const [target, setTarget] = useState<ListedTicket | undefined>()
  const changes = mayChange(me, 'token')
  return (
    <Main title="Tickets" lead="What people show as a QR code at the gate.">
      <Filters names={FILTERS}>
        <Field name="subject" label="Subject" value={query.subject} maxLength={MAX_SUBJECT_CHARACTERS} />
        <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status} />
      </Filters>
      <Loaded of={reading}>
        {(tickets) => (
          <Table
            caption="Tickets, the newest first"
            rows={tickets}
            keyOf={({ ticketId }) => ticketId}
            empty={<Empty narrowed={asked !== ''} />}
            columns={[
              {
                title: 'Ticket',
                cell: (ticket) => (
                  <>
                    {ticket.subject !== null && <strong class="address">{ticket.subject}</strong>}
                    <small>
                      <code class="address quiet">{ticket.ticketId}</code>
                    </small>
                  </>
                ),
              },
              {
                title: 'Says',
                cell: (ticket) => <span class="words">{contentOf(ticket) || 'nothing'}</span>,
              },
              { title: 'Issued', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
              { title: 'State', cell: (ticket) => <StandingText of={ticket} /> },
              {
                title: 'Actions',
                cell: (ticket) =>
                  changes &&
                  ticket.status !== 'revoked' && (
                    <ActButton danger name={nameOf(ticket)} act={() => setTarget(ticket)}>
                      Revoke
                    </ActButton>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      <More of={reading} />
      {target && (
        <Revoke
          what="ticket"
          name={nameOf(target)}
          path={`/console/api/tickets/${target.ticketId}/revoke`}
          text="It is not redeemed any more. A gate that checks it without a network can’t know that."
          done={reading.again}
          close={() => setTarget(undefined)}
        />
      )}
    </Main>
  )
}
