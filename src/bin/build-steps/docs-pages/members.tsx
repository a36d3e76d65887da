/** The members of a body as rows, what they are made of folded below each. @module */
import type { ComponentChildren } from 'preact'
import type { JsonSchema } from '../../../http/input/schema.ts'
import type { Description } from './description.ts'
import { Line } from './markup.tsx'
import { formsOf, isDeep, limitsOf, resolve, typeOf } from './types.ts'

/** A body that we take, or one that we send: of the first one asks what is required, of the second what may be missing. */
export type Direction = 'taken' | 'sent'

interface Context {
  readonly document: Description
  readonly direction: Direction
  /** Names of the schemas around this one. */
  readonly around: readonly string[]
}

interface Inside extends Context {
  readonly schema: JsonSchema
}

const sentence = (text: string): string => (text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`)

/** A member, or a parameter: its name, type, limits and description, and what it is made of. */
export const MemberRow = (row: {
  readonly name: string
  /** Markdown in one line, as the next ones. */
  readonly type: string
  /** Whether it has to be there. */
  readonly note?: 'required' | 'may be missing'
  readonly place?: string
  readonly description?: string
  readonly limits: string
  readonly children?: ComponentChildren
}) => (
  <li>
    <p class="member">
      <code>{row.name}</code>{' '}
      <span class="type">
        <Line text={row.type} />
        {row.place && `, ${row.place}`}
      </span>{' '}
      {row.note === 'required' && <strong class="required">required</strong>}
      {row.note === 'may be missing' && <span class="quiet">may be missing</span>}
    </p>
    {(row.description || row.limits) && (
      <p>
        {row.description && <Line text={row.description} />}{' '}
        {row.limits && (
          <span class="limits">
            <Line text={sentence(row.limits)} />
          </span>
        )}
      </p>
    )}
    {row.children}
  </li>
)

const noteOf = (direction: Direction, isRequired: boolean) => {
  if (direction === 'taken') return isRequired ? 'required' : undefined
  return isRequired ? undefined : 'may be missing'
}

const Member = ({
  name,
  isRequired,
  schema,
  ...context
}: Inside & { readonly name: string; readonly isRequired: boolean }) => (
  <MemberRow
    name={name}
    type={typeOf(schema, context.document)}
    note={noteOf(context.direction, isRequired)}
    description={resolve(schema, context.document).schema.description}
    limits={limitsOf(schema, context.document)}
  >
    {isDeep(schema, context.document) && <Folded {...context} schema={schema} of={name} />}
  </MemberRow>
)

const Folded = ({ of, schema, ...context }: Inside & { readonly of: string }) => {
  const { name } = resolve(schema, context.document)
  if (name !== undefined && context.around.includes(name))
    return <p class="quiet">As {name} above, which this is inside of.</p>
  return (
    <details>
      <summary>
        What <code>{of}</code> is made of
      </summary>
      <Members {...context} schema={schema} />
    </details>
  )
}

/** What a schema is made of: members, forms, or what its items are. */
export const Members = ({ schema: given, ...context }: Inside) => {
  const { schema, name } = resolve(given, context.document)
  const inside = { ...context, around: name === undefined ? context.around : [...context.around, name] }
  const forms = formsOf(schema)
  const { properties, required = [], items, prefixItems, additionalProperties } = schema
  const rows = Object.entries(properties ?? {})
  return (
    <>
      {rows.length > 0 && (
        <ul class="members">
          {rows.map(([member, part]) => (
            <Member
              key={member}
              {...inside}
              name={member}
              schema={part}
              isRequired={required.includes(member)}
            />
          ))}
        </ul>
      )}
      {forms.length === 1 && forms[0] && <Members {...inside} schema={forms[0]} />}
      {forms.length > 1 && <Forms {...inside} forms={forms} />}
      {items && isDeep(items, context.document) && <Part {...inside} schema={items} />}
      {prefixItems?.map((part, index) => (
        <Part key={index} {...inside} schema={part} />
      ))}
      {typeof additionalProperties === 'object' && isDeep(additionalProperties, context.document) && (
        <Part {...inside} schema={additionalProperties} />
      )}
    </>
  )
}

/** An item, or a value of a map. */
const Part = ({ schema, ...context }: Inside) => {
  const { name } = resolve(schema, context.document)
  return name !== undefined && context.around.includes(name) ? (
    <p class="quiet">Again {name}, as above.</p>
  ) : (
    <Members {...context} schema={schema} />
  )
}

/** What tells a form from the others: its name, or the members that it requires. */
const titleOf = (form: JsonSchema, document: Description): string => {
  const { schema, name } = resolve(form, document)
  if (name !== undefined) return name
  const { properties = {}, required = [] } = schema
  const words = required.map((member) => {
    const value = properties[member]?.const
    return value === undefined ? `\`${member}\`` : `\`${member}: ${JSON.stringify(value)}\``
  })
  return words.length > 0 ? `with ${words.join(', ')}` : typeOf(form, document)
}

const Forms = ({ forms, ...context }: Context & { readonly forms: readonly JsonSchema[] }) => (
  <>
    <p>One of {forms.length} forms:</p>
    <ul class="forms">
      {forms.map((form, index) => (
        <li key={index}>
          {isDeep(form, context.document) ? (
            <details>
              <summary>
                <Line text={titleOf(form, context.document)} />
              </summary>
              <Part {...context} schema={form} />
            </details>
          ) : (
            <p>
              <Line
                text={[typeOf(form, context.document), limitsOf(form, context.document)]
                  .filter(Boolean)
                  .join('; ')}
              />
            </p>
          )}
        </li>
      ))}
    </ul>
  </>
)
