/**
 * Values that may have one of several forms, each an object: which one a value was meant to have, where it fits none.
 * @module
 */
import type { ErrorObject } from 'ajv'
import { type ErrorDetail, pointerToken } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { JsonSchema } from './schema.ts'

/** @returns undefined for a union of other things than objects */
const formsOf = ({ keyword, parentSchema }: ErrorObject): readonly JsonSchema[] | undefined => {
  if (keyword !== 'anyOf') return undefined
  const forms = (parentSchema as JsonSchema).anyOf
  return forms?.every(({ properties, required = [] }) => properties && required.length > 0)
    ? forms
    : undefined
}

/** A member that has another constant in each form. */
const tagOf = (forms: readonly JsonSchema[]): string | undefined =>
  forms[0]?.required?.find((name) => {
    const constants = new Set(forms.map(({ properties }) => properties?.[name]?.const))
    return constants.size === forms.length && !constants.has(undefined)
  })

/** What a form needs and not all of them do. */
const ownMembers = (form: JsonSchema, forms: readonly JsonSchema[]): readonly string[] =>
  (form.required ?? []).filter((name) => !forms.every(({ required }) => required?.includes(name)))

/**
 * @param error the summary of a failed union
 * @returns the number of the form that the value was meant to have, or why it has none; undefined if it is no union of forms
 */
export const readForms = (error: ErrorObject): { form: number } | { detail: ErrorDetail } | undefined => {
  const { instancePath: path, data } = error
  const forms = formsOf(error)
  if (forms === undefined || !isObject(data)) return undefined
  const tag = tagOf(forms)
  if (tag !== undefined) {
    const constants = forms.map(({ properties }) => properties?.[tag]?.const)
    const form = constants.indexOf(data[tag])
    if (form >= 0) return { form }
    const place = `${path}/${pointerToken(tag)}`
    const message = Object.hasOwn(data, tag)
      ? `must be one of ${constants.map((constant) => JSON.stringify(constant)).join(', ')}`
      : 'is required'
    return { detail: { path: place, code: Object.hasOwn(data, tag) ? 'enum' : 'required', message } }
  }
  const own = forms.map((form) => ownMembers(form, forms))
  const choice = [...new Set(own.map((names) => names.join(' with ')))].join(', or ')
  const begun = own.flatMap((names, i) => (names.some((name) => Object.hasOwn(data, name)) ? [i] : []))
  const [form] = begun
  // A form that needs nothing of its own is meant where no other is begun.
  const plain = own.findIndex((names) => names.length === 0)
  if (form === undefined && plain >= 0) return { form: plain }
  if (form === undefined) return { detail: { path, code: 'required', message: `must have ${choice}` } }
  if (begun.length === 1) return { form }
  const fitting = begun.find((i) => Object.keys(data).every((name) => forms[i]?.properties?.[name]))
  return fitting === undefined
    ? { detail: { path, code: 'ambiguous', message: `must have only one of ${choice}` } }
    : { form: fitting }
}
