/**
 * Writes what follows from the list of variables: README's table of settings, and .env.example. A test compares both.
 * Usage: npm run docs:settings
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type VariableSchema, variables } from '../../config/environment.ts'

const ROOT = join(import.meta.dirname, '../../..')
export const ENV_EXAMPLE = join(ROOT, '.env.example')
const README = join(ROOT, 'README.md')
const HEAD = '| Variable | Default | Meaning |\n|---|---|---|\n'
const MAX_COLUMNS = 100

/** What holds where a variable is not set. */
const unset = (schema: VariableSchema): string => {
  const { default: usual } = schema
  if (schema.unset !== undefined) return schema.unset
  if (Array.isArray(usual)) return usual.join() || schema.noneIs || 'unset'
  return typeof usual === 'boolean' ? (usual ? 'on' : 'off') : String(usual ?? 'unset')
}

/** Rows of README's table. */
const settingsTable = (): string =>
  variables
    .map(([variable, schema]) => `| \`${variable}\` | ${unset(schema)} | ${schema.description} |\n`)
    .join('')

/** @returns README.md with the table as it should be @throws Error where there is none */
export const withSettings = (readme: string): string => {
  const [before, after] = readme.split(HEAD)
  if (before === undefined || after === undefined) throw new Error('README.md has lost its table of settings')
  return `${before}${HEAD}${settingsTable()}${after.slice(after.indexOf('\n\n') + 1)}`
}

/** A text in lines of comments. */
const comment = (text: string): string => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + word.length >= MAX_COLUMNS) lines.push(`# ${word}`)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}

/** Links of Markdown are no use in a file of settings, nor are its quotes. */
const plain = (text: string): string => text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '')

/** Whether a default is a value as the variable takes it, so that it can be shown as one. */
const shownValue = (schema: VariableSchema): string => {
  const { default: usual, unset: words, type } = schema
  if (usual === undefined || words !== undefined || type === 'object') return ''
  return unset(schema) === 'unset' ? '' : unset(schema)
}

/** The text of .env.example: every variable, none of them set. */
export const envExample = (): string => {
  const entries = variables.map(([variable, schema]) => {
    const value = shownValue(schema)
    const otherwise = value === '' ? ` Default: ${plain(unset(schema))}.` : ''
    return `${comment(`${plain(schema.description)}.${otherwise}`)}\n#${variable}=${value}\n`
  })
  return `# Settings of Assay, all optional: copy this file to .env and take the # before what you set.
# Written by npm run docs:settings from src/config/variables.ts. npm start does not read it; containers do
# (docker run --env-file, compose.yaml but for what it says itself), as does node --env-file.

${entries.join('\n')}`
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(README, withSettings(readFileSync(README, 'utf8')))
  writeFileSync(ENV_EXAMPLE, envExample())
}
