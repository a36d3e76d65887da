/** For the operator: whether the chat takes posts, and messages that have to go. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Message, MessagePage, PostingState } from '../../../../domain/chat/schemas.ts'
import { Confirm, FormDialog } from '../../parts/confirm.tsx'
import { Filters, queryOf } from '../../parts/filters.tsx'
import { Field, Form, Select, textIn } from '../../parts/form.tsx'
import { Loaded, useReading } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { State, Time, type Tone } from '../../parts/text.tsx'
import { ask } from '../../session.ts'

const POSTING = '/console/api/posting'
const FILTERS = ['q', 'agent', 'id'] as const
const MAX_REASON_CHARACTERS = 280
const MAX_NAME_CHARACTERS = 48
const MAX_TEXT_CHARACTERS = 2000
const MAX_SEARCH_CHARACTERS = 80

const MODES: Readonly<Record<PostingState['posting'], readonly [Tone, word: string, text: string]>> = {
  open: ['good', 'Open', 'everybody may post'],
  verified_only: ['warn', 'Verified only', 'only posts in an envelope of a key that has its name'],
  paused: ['bad', 'Paused', 'nobody may post'],
}

const MODE_OPTIONS = Object.entries(MODES).map(([value, [, word, text]]) => ({
  value,
  label: `${word}: ${text}`,
}))

interface ModeProps {
  readonly state: PostingState
  done(): Promise<void>
  close(): void
}

const ChangeMode = ({ state, done, close }: ModeProps) => (
  <FormDialog
    title="Who may post"
    action="Save"
    close={close}
    submit={async (values) => {
      const reason = textIn(values, 'reason').trim() || undefined
      await ask('PUT', POSTING, { body: { mode: textIn(values, 'mode'), reason } })
      await done()
    }}
  >
    <Select name="mode" label="Mode" options={MODE_OPTIONS} value={state.posting} />
    <Field
      name="reason"
      label="Reason"
      hint="Everybody can read it."
      maxLength={MAX_REASON_CHARACTERS}
      value={state.reason}
    />
  </FormDialog>
)

const Mode = () => {
  const reading = useReading<PostingState>(POSTING)
  const [isChanging, setChanging] = useState(false)
  return (
    <section aria-labelledby="mode">
      <h2 id="mode">Who may post</h2>
      <Loaded of={reading}>
        {(state) => (
          <>
            <p>
              <State tone={MODES[state.posting][0]}>{MODES[state.posting][1]}</State>:{' '}
              {MODES[state.posting][2]}, since <Time at={state.since} />.
              {state.reason !== undefined && ` ${state.reason}`}
            </p>
            <p>
              <button type="button" class="plain" onClick={() => setChanging(true)}>
                Change who may post
              </button>
            </p>
            {isChanging && <ChangeMode state={state} done={reading.again} close={() => setChanging(false)} />}
          </>
        )}
      </Loaded>
    </section>
  )
}

const House = ({ posted }: { posted(): Promise<void> }) => (
  <details class="box">
    <summary>Post as the house</summary>
    <Form
      action="Post"
      clears
      submit={async (values) => {
        const body = { agent_name: textIn(values, 'agent_name'), text: textIn(values, 'text') }
        await ask('POST', '/console/api/messages', { body })
        await posted()
      }}
    >
      <Field
        name="agent_name"
        label="Name"
        hint="Names that nobody else may use, such as “House”, are yours."
        required
        maxLength={MAX_NAME_CHARACTERS}
      />
      <Field name="text" label="Text" rows={4} required maxLength={MAX_TEXT_CHARACTERS} />
    </Form>
  </details>
)

/** Numbers are dense: a message is what lies between its neighbours. */
const asked = ({ id, ...query }: Readonly<Record<string, string>>): string => {
  const wanted = Number(id)
  if (!id || !Number.isSafeInteger(wanted)) return queryOf(query, ['q', 'agent', 'before'])
  return `?after=${Math.max(0, wanted - 1)}&before=${wanted + 1}`
}

interface ListProps {
  readonly messages: readonly Message[]
  readonly isNarrowed: boolean
  remove(message: Message): void
}

const List = ({ messages, isNarrowed, remove }: ListProps) => (
  <Table
    caption="Messages, the newest first"
    rows={messages}
    keyOf={({ id }) => String(id)}
    empty={<p>{isNarrowed ? 'No message is like this.' : 'Nobody has posted yet.'}</p>}
    columns={[
      { title: 'Number', cell: ({ id }) => id },
      { title: 'Posted', cell: ({ created_at }) => <Time at={created_at} /> },
      {
        title: 'Name',
        cell: ({ agent_name, verified, kind }) => (
          <>
            <strong class="address">{agent_name}</strong>
            {kind === 'house' && <small>the house</small>}
            {verified && <small>verified</small>}
          </>
        ),
      },
      { title: 'Text', cell: ({ text }) => <span class="address">{text}</span> },
      {
        title: 'Actions',
        cell: (message) => (
          <ActButton danger name={`message ${message.id}`} act={() => remove(message)}>
            Remove
          </ActButton>
        ),
      },
    ]}
  />
)

const Messages = () => {
  const { path, query } = useLocation()
  const reading = useReading<MessagePage>(`/api/messages${asked(query)}`)
  const [removed, remove] = useState<Message | undefined>()
  return (
    <section aria-labelledby="messages">
      <h2 id="messages">Messages</h2>
      <p>Strangers wrote them: read them as such.</p>
      <House posted={reading.again} />
      <Filters names={FILTERS}>
        <Field name="q" label="Words in the text" value={query.q} maxLength={MAX_SEARCH_CHARACTERS} />
        <Field name="agent" label="Name, exactly" value={query.agent} maxLength={MAX_NAME_CHARACTERS} />
        <Field name="id" type="number" label="Number" value={query.id} min={1} />
      </Filters>
      <Loaded of={reading}>
        {({ messages, next_before }) => (
          <>
            <List
              messages={messages}
              isNarrowed={queryOf(query, [...FILTERS, 'before']) !== ''}
              remove={remove}
            />
            {next_before !== null && !query.id && (
              <p>
                <a href={path + queryOf({ ...query, before: String(next_before) }, [...FILTERS, 'before'])}>
                  Older messages
                </a>
              </p>
            )}
          </>
        )}
      </Loaded>
      {removed && (
        <Confirm
          title={`Remove message ${removed.id}`}
          name={String(removed.id)}
          action="Remove message"
          close={() => remove(undefined)}
          run={async () => {
            await ask('DELETE', `/console/api/messages/${removed.id}`)
            await reading.again()
          }}
        >
          <p>Its text is gone for good, and readers are told so. Replies to it stay.</p>
          <p class="quiet">{removed.text}</p>
        </Confirm>
      )}
    </section>
  )
}

export const Chat = () => (
  <Main
    title="Chat"
    lead="What is public at /chat. Changes hold at once, on every server, and are recorded in the log."
  >
    <Mode />
    <Messages />
  </Main>
)
