/** The search of hermes, naively: all objects first, then each question about each of them, one by one. */

type Json = unknown
type Objects = Record<string, Json>

const isObject = (value: Json): value is Objects =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectsIn = (value: Json): Objects[] => {
  const below = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []
  return [...(isObject(value) ? [value] : []), ...below.flatMap(objectsIn)]
}

const same = (a: Json, b: Json): boolean => {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((element, i) => same(element, b[i]))
  if (isObject(a) && isObject(b))
    return (
      Object.keys(a).sort().join('\n') === Object.keys(b).sort().join('\n') &&
      Object.keys(a).every((name) => same(a[name], b[name]))
    )
  return a === b
}

const MISSING = Symbol('missing')

const read = (scope: Json, field: string): Json | typeof MISSING => {
  if (isObject(scope) && Object.keys(scope).includes(field)) return scope[field]
  const names = field.startsWith('/') ? field.slice(1).split('/') : field.split('.')
  let value: Json = scope
  for (const name of names) {
    if (Array.isArray(value) && /^\d+$/.test(name) && Number(name) < value.length) value = value[Number(name)]
    else if (isObject(value) && Object.keys(value).includes(name)) value = value[name]
    else return MISSING
  }
  return value
}

const OPERATORS: Record<string, (value: Json, operand: Json) => boolean> = {
  eq: same,
  ne: (value, operand) => !same(value, operand),
  gt: (value, operand) => typeof value === 'number' && value > Number(operand),
  gte: (value, operand) => typeof value === 'number' && value >= Number(operand),
  lt: (value, operand) => typeof value === 'number' && value < Number(operand),
  between: (value, operand) => {
    const [low, high] = operand as [number, number]
    return typeof value === 'number' && value >= low && value <= high
  },
  in: (value, operand) => (operand as Json[]).some((candidate) => same(value, candidate)),
  contains: (value, operand) =>
    Array.isArray(value)
      ? value.includes(operand)
      : typeof value === 'string' && value.includes(String(operand)) && typeof operand === 'string',
  matches: (value, operand) => typeof value === 'string' && new RegExp(String(operand), 'u').test(value),
}

const satisfies = (scope: Objects, field: string, wanted: Json): boolean => {
  const value = read(scope, field)
  if (isObject(wanted)) {
    return Object.entries(wanted).every(([op, operand]) => {
      if (op === 'exists') return (value !== MISSING) === operand
      return value !== MISSING && OPERATORS[op]?.(value, operand) === true
    })
  }
  if (value === MISSING) return false
  if (wanted === null) return value === null
  if (Array.isArray(value) && !Array.isArray(wanted)) return value.some((element) => same(element, wanted))
  return same(value, wanted)
}

/** How many objects in `document` satisfy a typed question. */
export const satisfyingScopes = (document: Json, { id, ...criteria }: Objects): number =>
  objectsIn(document).filter(
    (scope) =>
      (id === undefined ||
        ['id', '_id', 'uuid', 'key'].some(
          (name) => Object.keys(scope).includes(name) && scope[name] === id,
        )) &&
      Object.entries(criteria).every(([field, wanted]) => satisfies(scope, field, wanted)),
  ).length
