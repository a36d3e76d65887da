/** An operation's example as a command for a shell. @module */
import type { Operation, Parameter } from './description.ts'

const JSON_TYPE = 'application/json'

/** As the name of a variable, for values that are the reader's own: `proofId` → `PROOF_ID`. */
const variable = (name: string): string =>
  `$${name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()}`

/** @returns the headers that carry the credential, none where it takes none */
const credential = ({ security, method }: Operation): readonly string[] => {
  const ways = security.flatMap((way) => Object.keys(way))
  const isOptional = security.length === 0 || security.some((way) => Object.keys(way).length === 0)
  if (isOptional) return []
  if (ways.includes('podKey')) return ['X-Pod-Key: $POD_KEY']
  if (ways.includes('apiKey')) return ['X-API-Key: $KEY']
  return ['Cookie: assay_session=$SESSION', ...(method === 'GET' ? [] : ['X-CSRF-Token: $CSRF_TOKEN'])]
}

/** @returns path and query of the example, with variables for values that are the reader's own */
const target = ({ path, parameters = [] }: Operation): string => {
  const valueFor = ({ name, example }: Parameter) =>
    example === undefined ? variable(name) : encodeURIComponent(String(example))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name)
    return parameter ? valueFor(parameter) : variable(name)
  })
  const query = parameters
    .filter((one) => one.in === 'query' && (one.example !== undefined || one.required))
    .map((one) => `${one.name}=${valueFor(one)}`)
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

/** The example of the body; undefined where the operation takes none. */
export const bodyOf = ({ requestBody }: Operation): unknown => requestBody?.content[JSON_TYPE]?.example

/** In single quotes, which a shell leaves alone. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** @param baseUrl where the service is */
export const curlOf = (operation: Operation, baseUrl: string): string => {
  const body = bodyOf(operation)
  const parts = [
    `curl -s ${operation.method === 'GET' ? '' : `-X ${operation.method} `}"${baseUrl}${target(operation)}"`,
    ...credential(operation).map((header) => `-H "${header}"`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${quoted(JSON.stringify(body, null, 2))}`]),
  ]
  return parts.join(' \\\n  ')
}
