/** The watch lists that are loaded, how far screening against them has come, and, for the operator, changing them. @module */
import { useEffect, useState } from 'preact/hooks'
import type { ChangeLists as Change, WatchLists } from '../../../../domain/aml/schemas-lists.ts'
import type { ScreeningProgress } from '../../../../domain/aml/schemas-subscriptions.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Loaded, useReading } from '../../parts/loaded.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { number, State, Time } from '../../parts/text.tsx'
import { ask } from '../../session.ts'
import { ChangeLists } from './change-lists.tsx'

const PATH = '/console/api/lists'
const POLL_MS = 2000

type List = WatchLists['lists'][number]

const CHECK_WORDS: Readonly<Record<List['checkTypes'][number], string>> = {
  sanctions: 'sanctions',
  pep: 'politically exposed people',
  watchlist: 'watch list',
  adverse_media: 'adverse media',
}

const SOURCES: Readonly<Record<List['source'], string>> = {
  directory: 'of the service’s directory',
  console: 'uploaded',
  sample: 'made up, to try with',
}

const typesText = (types: List['checkTypes']): string => types.map((type) => CHECK_WORDS[type]).join(', ')

/** How many people were screened against these lists; asked again until all were. */
const Progress = ({ listVersion }: { readonly listVersion: string }) => {
  const reading = useReading<ScreeningProgress>('/console/api/screening')
  const { value, again } = reading
  useEffect(() => {
    void again()
  }, [listVersion])
  useEffect(() => {
    if (value === undefined || value.behind === 0) return
    const timer = setTimeout(again, POLL_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <Loaded of={reading}>
      {({ subscriptions, behind }) => (
        <p role="status">
          {subscriptions === 0 ? (
            'Nobody is subscribed, so nobody is screened again.'
          ) : behind === 0 ? (
            <State tone="good">
              {subscriptions === 1
                ? 'The one person is screened against these lists'
                : `All ${number(subscriptions)} people are screened against these lists`}
            </State>
          ) : (
            <>
              <progress
                aria-label="People who are screened"
                max={subscriptions}
                value={subscriptions - behind}
              />{' '}
              {number(subscriptions - behind)} of {number(subscriptions)} people are screened against these
              lists.
            </>
          )}
        </p>
      )}
    </Loaded>
  )
}

/** What is wrong with the lists, as the service tells it. */
const Problems = ({ of: { problem, problems, uncovered, sample } }: { readonly of: WatchLists }) => (
  <>
    {sample && (
      <div class="notice" data-tone="warn">
        <p>
          The list of made-up people is loaded: what it finds means nothing. Real lists are named by{' '}
          <code>AML_LISTS</code>.
        </p>
      </div>
    )}
    {uncovered.length > 0 && (
      <div class="notice" data-tone="bad">
        <p>Nobody can be checked for {typesText(uncovered)}: a list for it is missing.</p>
      </div>
    )}
    {problem !== null && (
      <div class="notice" data-tone="bad">
        <p>
          Since <Time at={problem.at} /> nobody can tell which lists there should be: {problem.message}
        </p>
      </div>
    )}
    {problems.map(({ listId, message, since, earlierEntries }) => (
      <div key={listId} class="notice" data-tone={earlierEntries ? 'warn' : 'bad'}>
        <p>
          <strong>{listId}</strong> could not be loaded, since <Time at={since} />: {message}
        </p>
        <p>
          {earlierEntries
            ? 'Its entries from before stay in use.'
            : 'Nobody is found on it until it is loaded.'}
        </p>
      </div>
    ))}
  </>
)

/** To compare with what the publisher states. */
const Files = ({ of: { files } }: { readonly of: List }) => (
  <details>
    <summary>{files.length === 1 ? '1 file' : `${files.length} files`}</summary>
    {files.map(({ name, bytes, sha256 }) => (
      <small key={name}>
        {name}, {number(bytes)} bytes, SHA-256 <code class="address">{sha256}</code>
      </small>
    ))}
  </details>
)

interface TableProps {
  readonly lists: readonly List[]
  readonly changes: boolean
  remove(list: List): void
}

const ListTable = ({ lists, changes, remove }: TableProps) => (
  <Table
    caption="Watch lists"
    rows={lists}
    keyOf={({ listId }) => listId}
    empty={
      <p>
        No list is loaded, so nobody can be checked. The operator of the service loads lists:{' '}
        <a href="/docs/aml#lists">which and how</a>.
      </p>
    }
    columns={[
      {
        title: 'List',
        cell: ({ listId, format, source }) => (
          <>
            <strong>{listId}</strong>
            <small>
              {format}, {SOURCES[source]}
            </small>
          </>
        ),
      },
      { title: 'Used for', cell: ({ checkTypes }) => typesText(checkTypes) },
      {
        title: 'Entries',
        cell: ({ entries, names }) => (
          <>
            {number(entries)}
            <small>
              {number(names)} {names === 1 ? 'name' : 'names'}
            </small>
          </>
        ),
      },
      {
        title: 'As of',
        cell: ({ publishedAt, loadedAt }) =>
          publishedAt === null ? (
            <>
              <Time at={loadedAt} />
              <small>when it was loaded</small>
            </>
          ) : (
            <>
              <Time at={publishedAt} />
              <small>
                published; loaded <Time at={loadedAt} />
              </small>
            </>
          ),
      },
      { title: 'Read from', cell: (list) => <Files of={list} /> },
      {
        title: 'Actions',
        cell: (list) =>
          changes && (
            <ActButton danger name={list.listId} act={() => remove(list)}>
              Remove
            </ActButton>
          ),
      },
    ]}
  />
)

export const Lists = ({ me }: PageProps) => {
  const reading = useReading<WatchLists>(PATH)
  const [removed, remove] = useState<List | undefined>()
  const changes = mayChange(me, 'admin')
  const change = async (body: Change): Promise<void> => {
    await ask<WatchLists>('POST', PATH, { body, slow: true })
    await reading.again()
  }
  return (
    <section aria-labelledby="lists">
      <h2 id="lists">Watch lists</h2>
      <Loaded of={reading}>
        {(value) => (
          <>
            <p>
              Version <code>{value.listVersion}</code>
              {value.loadedAt !== null && (
                <>
                  , loaded <Time at={value.loadedAt} />
                </>
              )}
              .
            </p>
            <Progress listVersion={value.listVersion} />
            <Problems of={value} />
            <ListTable lists={value.lists} changes={changes} remove={remove} />
            {changes && <ChangeLists change={change} />}
          </>
        )}
      </Loaded>
      {removed && (
        <Confirm
          title={`Remove ${removed.listId}`}
          name={removed.listId}
          action="Remove list"
          close={() => remove(undefined)}
          run={() => change({ action: 'remove', listId: removed.listId })}
        >
          <p>
            No organisation finds anybody on it any more, and check types that no other list covers are
            refused. A list of the directory comes back with the next reload.
          </p>
        </Confirm>
      )}
    </section>
  )
}
