/** A badge as an image: SVG of shapes and text alone. @module */
import type { Badge } from './schemas-badge.ts'

const HEIGHT = 20
const PADDING = 8
/** No font is as wide on average, so that text ends before its field does; longer ones are squeezed by the viewer. */
const CHARACTER_WIDTH = 7
const MAX_NAME_CHARACTERS = 32
const MAX_DOMAIN_CHARACTERS = 40

/** Dark enough for white text (WCAG 2.2 AA, 4.5:1). */
const COLOURS: Readonly<Record<Badge['status'], string>> = {
  active: '#1a7f37',
  pending: '#805d00',
  suspended: '#805d00',
  revoked: '#b3261e',
  expired: '#59636e',
}
const LABEL_COLOUR = '#333333'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as XML takes it. Controls, and what makes text run backwards, would make one name look like another. */
const escapeXml = (text: string): string =>
  text.replaceAll(/\p{C}/gu, '').replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

const shortened = (name: string): string => {
  const characters = [...name]
  return characters.length > MAX_NAME_CHARACTERS
    ? `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join('')}…`
    : name
}

/** Of a long one the beginning goes: its owner chose that, and it may look like somebody else's. */
const shortenedDomain = (domain: string): string =>
  domain.length > MAX_DOMAIN_CHARACTERS ? `…${domain.slice(1 - MAX_DOMAIN_CHARACTERS)}` : domain

const field = (x: number, width: number, colour: string, text: string): string =>
  `<rect x="${x}" width="${width}" height="${HEIGHT}" fill="${colour}"/>` +
  `<text x="${x + width / 2}" y="14" text-anchor="middle" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`

const widthOf = (text: string): number => [...text].length * CHARACTER_WIDTH + 2 * PADDING

/** The image of a badge: name, status, and trust while the agent is active. Holds no script, style, link or foreign content. */
export const badgeImage = ({
  name,
  status,
  trust_level,
  domain,
}: Pick<Badge, 'name' | 'status' | 'trust_level' | 'domain'>) => {
  const label = shortened(name)
  const trust = trust_level.replaceAll('_', ' ')
  const saying = (host: string | null): string => {
    if (status !== 'active') return status
    return host === null ? trust : `${trust}: ${host}`
  }
  const said = saying(domain && shortenedDomain(domain))
  const [left, right] = [widthOf(label), widthOf(said)]
  const title = escapeXml(`${name}: ${saying(domain)}`)
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${title}">` +
    `<title>${title}</title><g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">` +
    `${field(0, left, LABEL_COLOUR, label)}${field(left, right, COLOURS[status], said)}</g></svg>`
  )
}
