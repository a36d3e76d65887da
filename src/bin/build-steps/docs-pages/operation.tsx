/** One operation of the reference: who may call it, what it takes and answers, its errors, and a call to copy. @module */
import type { ComponentChildren } from 'preact'
import { addressOfError } from './addresses.ts'
import { curlOf } from './curl.ts'
import type { Answer, Description, Operation, Parameter } from './description.ts'
import { Anchor, Code, Line, Table, Text } from './markup.tsx'
import { MemberRow, Members } from './members.tsx'
import { trialOf } from './trial.ts'
import { isDeep, limitsOf, resolve, typeOf } from './types.ts'

const JSON_TYPE = 'application/json'
const FIRST_ERROR_STATUS = 400

interface Known {
  readonly document: Description
  readonly baseUrl: string
}

/** A heading below that of the operation, which tells it from the same one of another. */
const Part = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section class="part">
    <h3>{title}</h3>
    {children}
  </section>
)

/** Its credentials in a sentence. */
const credentials = (security: Operation['security']): string => {
  const ways = security.flatMap((way) => Object.keys(way))
  const isOptional = security.some((way) => Object.keys(way).length === 0)
  if (ways.length === 0) return 'Needs no credential.'
  if (!ways.includes('apiKey') && isOptional)
    return 'Needs `Authorization: Bearer` where the operator set a token, and nothing otherwise.'
  if (isOptional)
    return 'Works without a credential, and with an API key for the organisation that it belongs to.'
  if (ways.includes('podKey'))
    return 'Needs the key of the pod as `X-Pod-Key`, or an API key as `X-API-Key` or `Authorization: Bearer`.'
  if (!ways.includes('apiKey'))
    return 'Needs a session of the console, with its `X-CSRF-Token` to change something.'
  const orSession = ways.includes('session') ? ', or a session of the console' : ''
  return `Needs an API key as \`X-API-Key\` or \`Authorization: Bearer\`${orSession}.`
}

const Parameters = ({
  parameters,
  document,
}: {
  readonly parameters: readonly Parameter[]
  readonly document: Description
}) => (
  <ul class="members">
    {parameters.map(({ name, in: place, required, description, schema }) => (
      <MemberRow
        key={`${place} ${name}`}
        name={name}
        type={typeOf(schema, document)}
        note={required && place !== 'path' ? 'required' : undefined}
        place={`in the ${place}`}
        description={description}
        limits={limitsOf(schema, document)}
      />
    ))}
  </ul>
)

const AnswerPart = ({
  status,
  answer,
  document,
}: {
  readonly status: string
  readonly answer: Answer
  readonly document: Description
}) => {
  const media = answer.content?.[JSON_TYPE]
  const others = Object.keys(answer.content ?? {}).filter((type) => type !== JSON_TYPE)
  const described = media && resolve(media.schema, document).schema.description
  return (
    <Part title={`Answer ${status}`}>
      {others.length > 0 && (
        <p>
          <Line text={`Not JSON: ${others.map((type) => `\`${type}\``).join(' or ')}.`} />
        </p>
      )}
      {!answer.content && <p>{answer.description}</p>}
      {media && (
        <>
          {(described || !isDeep(media.schema, document)) && (
            <p>
              <Line text={described ?? `JSON: ${typeOf(media.schema, document)}.`} />
            </p>
          )}
          <Members schema={media.schema} document={document} direction="sent" around={[]} />
        </>
      )}
    </Part>
  )
}

/** What an answer's description says of each code. */
const meanings = (answers: Operation['responses']) =>
  Object.entries(answers).flatMap(([status, { description }]) =>
    [...description.matchAll(/^`(\w+)`: (.+)$/gm)].map(([, code = '', meaning = '']) => ({
      status,
      code,
      meaning,
    })),
  )

/** Codes of the errors that an operation answers. */
export const errorsOf = ({ responses }: Operation): readonly string[] =>
  meanings(responses).map(({ code }) => code)

const Errors = ({ operation }: { readonly operation: Operation }) => {
  const errors = meanings(operation.responses)
  return (
    <details class="errors">
      <summary>
        {errors.length} errors<span class="away"> of {operation.summary}</span>
      </summary>
      <Table heads={['Status', 'Code', 'When']}>
        {errors.map(({ status, code, meaning }) => (
          <tr key={code}>
            <td>{status}</td>
            <td>
              <a href={addressOfError(code)}>
                <code>{code}</code>
              </a>
            </td>
            <td>{meaning}</td>
          </tr>
        ))}
      </Table>
    </details>
  )
}

export const Endpoint = ({ method, path }: Pick<Operation, 'method' | 'path'>) => (
  <>
    <span class="method" data-method={method}>
      {method}
    </span>{' '}
    <code class="path">{path}</code>
  </>
)

const Body = ({ operation, document }: { readonly operation: Operation; readonly document: Description }) => {
  const schema = operation.requestBody?.content[JSON_TYPE]?.schema
  if (schema === undefined) return null
  const described = resolve(schema, document).schema.description
  return (
    <Part title="Body">
      {described && <Text text={described} />}
      {operation.requestBody?.required !== true && <p>It may be left out.</p>}
      <Members schema={schema} document={document} direction="taken" around={[]} />
    </Part>
  )
}

/** A call to copy, and what a server answered to it. */
const ExamplePart = ({ operation, baseUrl }: { readonly operation: Operation; readonly baseUrl: string }) => {
  const [answered] = Object.entries(operation.responses).flatMap(([status, { content }]) => {
    const example = content?.[JSON_TYPE]?.example
    return example === undefined ? [] : [{ status, text: JSON.stringify(example, null, 2) }]
  })
  return (
    <Part title="Example">
      <Code text={curlOf(operation, baseUrl)} />
      {answered && (
        <>
          <p>
            A server answered {answered.status}
            {Number(answered.status) < FIRST_ERROR_STATUS ? ':' : ', and says why:'}
          </p>
          <Code text={answered.text} />
        </>
      )}
    </Part>
  )
}

export const OperationSection = ({
  operation,
  document,
  baseUrl,
}: Known & { readonly operation: Operation }) => {
  const { operationId, summary, description, parameters = [], responses, security } = operation
  const answers = Object.entries(responses).filter(([status]) => Number(status) < FIRST_ERROR_STATUS)
  return (
    <section
      class="operation"
      // Some operations have the same summary; none have the same method and path.
      aria-labelledby={`${operationId} ${operationId}-endpoint`}
      data-operation={operationId}
      data-trial={trialOf(operation)}
    >
      <h2 id={operationId}>
        {summary} <Anchor id={operationId} of={summary} />
      </h2>
      <p class="endpoint" id={`${operationId}-endpoint`}>
        <Endpoint {...operation} />
      </p>
      <Text text={description} />
      <p class="quiet">
        <Line text={credentials(security)} /> Called <code>{operationId}</code> in the API description.
      </p>
      {parameters.length > 0 && (
        <Part title="Parameters">
          <Parameters parameters={parameters} document={document} />
        </Part>
      )}
      <Body operation={operation} document={document} />
      {answers.map(([status, answer]) => (
        <AnswerPart key={status} status={status} answer={answer} document={document} />
      ))}
      <Errors operation={operation} />
      <ExamplePart operation={operation} baseUrl={baseUrl} />
    </section>
  )
}
