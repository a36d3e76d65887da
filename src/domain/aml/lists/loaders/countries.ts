/**
 * Names of countries as watch lists write them → ISO 3166-1 alpha-2: the English names of Unicode CLDR that the platform
 * has, and official names that are worded differently.
 * @module
 */

/** Code: official names, and former ones that lists still use. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  BA: 'Bosnia and Herzegovina',
  BN: 'Brunei Darussalam',
  BO: 'Plurinational State of Bolivia',
  CD: 'Democratic Republic of the Congo;Congo (Kinshasa);Zaire',
  CG: 'Republic of the Congo;Congo;Congo (Brazzaville)',
  CI: 'Ivory Coast;Cote d Ivoire',
  CV: 'Cabo Verde',
  CZ: 'Czech Republic',
  FM: 'Federated States of Micronesia',
  GB: 'United Kingdom of Great Britain and Northern Ireland;Great Britain;England;Scotland;Wales;Northern Ireland',
  HK: 'Hong Kong;Hong Kong SAR',
  IR: 'Islamic Republic of Iran',
  KP: "Democratic People's Republic of Korea;DPRK",
  KR: 'Republic of Korea;Korea',
  LA: "Lao People's Democratic Republic",
  LY: 'Libyan Arab Jamahiriya;State of Libya',
  MD: 'Republic of Moldova',
  MK: 'Macedonia;The former Yugoslav Republic of Macedonia',
  MM: 'Burma;Myanmar',
  MO: 'Macao;Macau',
  NL: 'Kingdom of the Netherlands',
  PS: 'Palestine;State of Palestine;Palestinian;Palestinian Territory;West Bank;Gaza;Gaza Strip',
  RU: 'Russian Federation',
  ST: 'Sao Tome and Principe',
  SY: 'Syrian Arab Republic',
  SZ: 'Swaziland',
  TL: 'East Timor',
  TR: 'Turkey',
  TW: 'Taiwan, Province of China',
  TZ: 'United Republic of Tanzania',
  US: 'United States of America;USA',
  VA: 'Holy See',
  VE: 'Bolivarian Republic of Venezuela',
  VN: 'Viet Nam',
}

/** Not countries, though CLDR has names for them. */
const NO_COUNTRIES = new Set(['EU', 'EZ', 'UN', 'XA', 'XB', 'ZZ', 'QO'])

/** The words in alphabetical order, so that `Korea, North` is `North Korea`. */
const comparable = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/['’.]/g, '')
    .split(/[^a-z]+/)
    .filter((word) => word !== '' && word !== 'the' && word !== 'of' && word !== 'and' && word !== 'st')
    .sort()
    .join(' ')

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']

const readNames = (): ReadonlyMap<string, string> => {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
  const found = new Map<string, string>()
  for (const code of LETTERS.flatMap((first) => LETTERS.map((second) => first + second))) {
    // Former codes stand for the present ones.
    const isCurrent = Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`
    const name = NO_COUNTRIES.has(code) ? undefined : names.of(code)
    if (name !== undefined && isCurrent && !found.has(comparable(name))) found.set(comparable(name), code)
  }
  for (const [code, others] of Object.entries(OTHER_NAMES))
    for (const name of others.split(';')) found.set(comparable(name), code)
  return found
}

let known: ReadonlyMap<string, string> | undefined

/** @param name in English, or a code of two letters @returns upper case, undefined for what is no country */
export const countryCode = (name: string): string | undefined => {
  known ??= readNames()
  const text = name.trim()
  if (/^[A-Za-z]{2}$/.test(text)) return text.toUpperCase()
  return known.get(comparable(text))
}
