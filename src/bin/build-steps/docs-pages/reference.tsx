/** The pages of the reference: one for each tag, that of the errors and that of the events. @module */
import { ERRORS } from '../../../errors.ts'
import { addressOfOperation, addressOfPage, pageOfTag, slug } from './addresses.ts'
import type { Description, Operation } from './description.ts'
import { Anchor, Table, Text } from './markup.tsx'
import { MemberRow, Members } from './members.tsx'
import { Endpoint, errorsOf, OperationSection } from './operation.tsx'

const MAX_OPERATIONS_NAMED = 6

export const operationsOf = (document: Description, tag: string): readonly Operation[] =>
  document.operations.filter(({ tags }) => tags[0] === tag)

/** Operations in one list, each a link. */
export const OperationList = ({ operations }: { readonly operations: readonly Operation[] }) => (
  <ul class="operations">
    {operations.map((operation) => (
      <li key={operation.operationId}>
        <a href={addressOfOperation(operation)}>{operation.summary}</a>
        <span class="endpoint">
          <Endpoint {...operation} />
        </span>
      </li>
    ))}
  </ul>
)

interface Known {
  readonly document: Description
  readonly baseUrl: string
}

export const TagPage = ({ tag, document, baseUrl }: Known & { readonly tag: string }) => {
  const operations = operationsOf(document, tag)
  return (
    <article>
      <p class="kind">Reference</p>
      <h1>{tag}</h1>
      <Text text={document.tags.find(({ name }) => name === tag)?.description} />
      <OperationList operations={operations} />
      {operations.map((operation) => (
        <OperationSection
          key={operation.operationId}
          operation={operation}
          document={document}
          baseUrl={baseUrl}
        />
      ))}
    </article>
  )
}

const Where = ({ operations, of }: { readonly operations: readonly Operation[]; readonly of: number }) => {
  if (operations.length === 0) return <>Inside of answers, or of streams</>
  if (operations.length > MAX_OPERATIONS_NAMED)
    return (
      <>
        {operations.length} of {of} operations
      </>
    )
  return (
    <ul class="where">
      {operations.map((operation) => (
        <li key={operation.operationId}>
          <a href={addressOfOperation(operation)}>{operation.summary}</a>
        </li>
      ))}
    </ul>
  )
}

export const ErrorsPage = ({ document }: { readonly document: Description }) => {
  const codes = Object.entries(ERRORS)
  const statuses = [...new Set(codes.map(([, [status]]) => status))].sort((a, b) => a - b)
  return (
    <article>
      <p class="kind">Reference</p>
      <h1>Errors</h1>
      <p>
        Every error has the same body: <code>error</code> is the code, which never changes;{' '}
        <code>message</code> says it in words; <code>details</code> names the place (a JSON Pointer into the
        body, or <code>query/…</code>, <code>params/…</code>, <code>header/…</code>); <code>reason</code> is
        an upper-case word where there is one to tell; <code>retry_after</code> is in seconds;{' '}
        <code>request_id</code> is what the operator finds it by.
      </p>
      {statuses.map((status) => (
        <section key={status}>
          <h2 id={`status-${status}`}>Status {status}</h2>
          <Table heads={['Code', 'When', 'Where']}>
            {codes
              .filter(([, [of]]) => of === status)
              .map(([code, [, meaning]]) => (
                <tr key={code} id={code}>
                  <td>
                    <code>{code}</code>
                  </td>
                  <td>{meaning}</td>
                  <td>
                    <Where
                      operations={document.operations.filter((one) => errorsOf(one).includes(code))}
                      of={document.operations.length}
                    />
                  </td>
                </tr>
              ))}
          </Table>
        </section>
      ))}
    </article>
  )
}

export const EventsPage = ({ document }: { readonly document: Description }) => (
  <article>
    <p class="kind">Reference</p>
    <h1>Webhook events</h1>
    <p>
      What the service sends to your endpoints. <a href={addressOfPage(pageOfTag('Webhooks'))}>Webhooks</a>{' '}
      has the operations that register them, <a href={addressOfPage('webhooks')}>the guide</a> how to check a
      signature.
    </p>
    {Object.entries(document.webhooks).map(
      ([event, { summary, description, parameters = [], requestBody }]) => {
        const schema = requestBody?.content['application/json']?.schema
        return (
          <section class="operation" key={event} aria-labelledby={slug(event)} data-event={event}>
            <h2 id={slug(event)}>
              <code>{event}</code> <Anchor id={slug(event)} of={event} />
            </h2>
            <p>{summary}.</p>
            <Text text={description} />
            <h3>Headers</h3>
            <ul class="members">
              {parameters.map(({ name, description: text = '' }) => (
                <MemberRow key={name} name={name} type="string" description={text} limits="" />
              ))}
            </ul>
            <h3>Body</h3>
            {schema && <Members schema={schema} document={document} direction="sent" around={[]} />}
          </section>
        )
      },
    )}
  </article>
)
